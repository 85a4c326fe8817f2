"""Disks that misbehave: one that loses power, one that is full or cannot be written."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


def _plain(name: Any) -> str:
    return str(name.filename() if isinstance(name, apsw.URIFilename) else name)


@dataclass(slots=True)
class _Disk:
    """One file: what a sync made durable, and what was written since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def image(self, mode: str, chance: random.Random) -> bytes:
        """What a power cut leaves: nothing, all, or any part in any order of what was not synced."""
        image, pending = bytearray(self.durable), list(self.pending)
        if mode == "drop":
            pending = []
        elif mode == "random":
            pending = [_torn(write, chance) for write in pending if chance.random() < 0.5]
            chance.shuffle(pending)
        for offset, data in pending:
            if data is None:
                del image[offset:]
            else:
                image.extend(bytes(max(0, offset - len(image))))
                image[offset : offset + len(data)] = data
        return bytes(image)


def _torn(write: tuple[int, bytes | None], chance: random.Random) -> tuple[int, bytes | None]:
    offset, data = write
    if data is None or len(data) <= SECTOR or chance.random() < 0.5:
        return write
    return offset, data[: SECTOR * chance.randrange(1, len(data) // SECTOR + 1)]


class PowerCut(apsw.VFS):
    """A file system that notes what is not yet synced, so that a cut can be made at any input or output.

    Args:
        name: Of the VFS.
        before_io: Called at each write, truncation and sync, before it is done.
    """

    def __init__(self, name: str, before_io: Callable[[], None]) -> None:
        self.vfs_name = name
        self.disks: dict[str, _Disk] = {}
        self.before_io = before_io
        self.lock = threading.RLock()
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the driver's name
        """Open a file whose writes are noted."""
        if not flags[0] & (apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL):
            return apsw.VFSFile("", name, flags)
        return _NotedFile(self, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802 - the driver's signature
        """Forget a file."""
        self.disks.pop(name, None)
        super().xDelete(name, sync)

    def cut(self, to: Path, *, mode: str, seed: int) -> None:
        """Write what survives a cut now into a folder."""
        to.mkdir()
        chance = random.Random(seed)
        for name, disk in list(self.disks.items()):
            (to / Path(name).name).write_bytes(disk.image(mode, chance))


class _NotedFile(apsw.VFSFile):
    def __init__(self, vfs: PowerCut, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._vfs, self._path = vfs, Path(_plain(name))
        vfs.disks.setdefault(str(self._path), _Disk())

    @contextmanager
    def _noted(self) -> Iterator[_Disk]:
        # One lock for all files: a cut happens to all of them at one moment.
        with self._vfs.lock:
            self._vfs.before_io()
            yield self._vfs.disks.setdefault(str(self._path), _Disk())

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - the driver's name
        with self._noted() as disk:
            super().xWrite(data, offset)
            disk.pending.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802 - the driver's name
        with self._noted() as disk:
            super().xTruncate(size)
            disk.pending.append((size, None))

    def xSync(self, flags: int) -> None:  # noqa: N802 - the driver's name
        with self._noted() as disk:
            disk.durable, disk.pending = bytearray(disk.image("all", random.Random(0))), []


class Limited(apsw.VFS):
    """A file system that holds no more than ``quota`` bytes a file, or that opens files for reading only."""

    def __init__(self, name: str, *, quota: int | None = None, read_only: bool = False) -> None:
        self.vfs_name, self.quota, self.read_only = name, quota, read_only
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the driver's name
        """Open a file, for reading only if that is all the disk can."""
        if self.read_only and flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            flags[0] = flags[0] & ~(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) | apsw.SQLITE_OPEN_READONLY
            file = apsw.VFSFile("", name, flags)
            flags[1] |= apsw.SQLITE_OPEN_READONLY
            return file
        return _LimitedFile(self, name, flags)


class _LimitedFile(apsw.VFSFile):
    def __init__(self, vfs: Limited, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._vfs = vfs

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - the driver's name
        if self._vfs.quota is not None and offset + len(data) > self._vfs.quota:
            raise apsw.FullError("the disk is full")
        super().xWrite(data, offset)


def unregistered(vfs: apsw.VFS) -> None:
    """Take a VFS away after its test."""
    with suppress(apsw.Error):
        vfs.unregister()

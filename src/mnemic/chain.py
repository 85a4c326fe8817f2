"""How are parts joined and hashed so that two different things never meet?"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["GENESIS", "canonical", "enc", "h", "link", "lp"]

GENESIS = "0" * 64
"""What stands as the previous hash in the first row of a chain."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def lp(*parts: str) -> bytes:
    """Join texts injectively: each as 4 bytes of big-endian UTF-8 length, then its UTF-8 bytes."""
    encoded = (part.encode() for part in parts)
    return b"".join(len(raw).to_bytes(4, "big") + raw for raw in encoded)


def h(label: str, *parts: str) -> str:
    """Hash labelled parts to 32 characters of lower-case base32 of SHA-256 (160 bits)."""
    return base64.b32encode(hashlib.sha256(lp(label, *parts)).digest()[:20]).decode().lower()


def enc(id_: str) -> str:
    """Encode an id as a file name: injective, also where case is ignored; long or reserved ones become a hash."""
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in id_.encode())
    return f"~{h('id', id_)}" if len(name) > 96 or name in _RESERVED else name


def canonical(value: Mapping[str, Any]) -> bytes:
    """Give the one JSON form of a mapping: sorted names, UTF-8, no spaces, finite numbers only."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def link(row: Mapping[str, Any], prev_hash: str) -> str:
    """Hash one row of an append-only log behind its predecessor (AUD-002).

    Args:
        row: Every field of the row but its own hash.
        prev_hash: Hash of the row before, or ``GENESIS``.

    Returns:
        64 hexadecimal characters of SHA-256.
    """
    return hashlib.sha256(canonical({**row, "prev_hash": prev_hash})).hexdigest()

"""The packaged all-MiniLM-L6-v2 on ONNX Runtime."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from mnemic.embedders.lanes import Lanes
from mnemic.embedders.wordpiece import packaged_tokenizer
from mnemic.errors import ConfigurationError, EmbedderError
from mnemic.models import CHECKSUMS, FOLDER, read_verified
from mnemic.ports import Embedder, Encoded, ModelInput
from mnemic.types import Vector

__all__ = ["MiniLM", "sessions_loaded"]

_NAME: Final = "all-MiniLM-L6-v2"
_CLS, _SEP = 101, 102
_SEEN_BEFORE, _LONGEST_BEFORE, _LONGEST_BEHIND = 60, 100, 180  # tokens: behind what, and what, a text is read
_PADDED_TOKENS: Final = 2048  # of one batch, padding included: what one run may cost, about half a second
_PROVIDERS: Final = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_ORT_ERRORS: Final = tuple(
    error for error in vars(ort_errors).values() if isinstance(error, type) and issubclass(error, Exception)
)
_Row = TypeVar("_Row")
_Out = TypeVar("_Out")


class _Frame(NamedTuple):
    """The ids of one input, and where the text's own begin and end in it."""

    ids: Sequence[int]
    start: int
    stop: int
    behind: bool


class _Model:
    """One session with its tokenizer and its two threads."""

    def __init__(self, folder: Path, device: str) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        content = read_verified(f"{_NAME}/model.onnx", folder=folder)
        self.tokenizer = packaged_tokenizer(_NAME, folder)
        self.session = ort.InferenceSession(content, options, providers=[_PROVIDERS[device]])
        basis = np.frombuffer(read_verified(f"{_NAME}/token_basis.f32", folder=folder), dtype="<f4")
        self.basis: Vector = basis.reshape(MiniLM.dim, -1)
        self.users = 0
        self.lanes = Lanes("minilm")

    def vectors(self, batch: Sequence[Sequence[int]]) -> Vector:
        found: Vector = self.session.run(["sentence_embedding"], _padded(batch))[0]
        return found

    def encoded(self, batch: Sequence[_Frame]) -> list[Encoded]:
        outputs = ["token_embeddings", "sentence_embedding"]
        states, pooled = self.session.run(outputs, _padded([frame.ids for frame in batch]))
        return [self._encoded(frame, states[row], pooled[row]) for row, frame in enumerate(batch)]

    def _encoded(self, frame: _Frame, states: Vector, pooled: Vector) -> Encoded:
        own = states[frame.start : frame.stop]
        vector = _unit(own.mean(axis=0)) if frame.behind else pooled
        return Encoded(vector, _unit(own) @ self.basis)


class _Shared:
    """The sessions of this process: loaded once for each folder and device, freed with their last user."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[Path, str], _Model] = {}
        self.loads = 0

    def acquire(self, key: tuple[Path, str]) -> _Model:
        with self._lock:
            model = self._models.get(key)
            if model is None:
                model = self._models[key] = _Model(*key)
                self.loads += 1
            model.users += 1
            return model

    def release(self, key: tuple[Path, str]) -> None:
        with self._lock:
            model = self._models[key]
            model.users -= 1
            if model.users:
                return
            del self._models[key]
        model.lanes.close()

    def __len__(self) -> int:
        return len(self._models)


_shared = _Shared()


def sessions_loaded() -> tuple[int, int]:
    """Return how many sessions this process holds now, and how many it has ever loaded."""
    return len(_shared), _shared.loads


class MiniLM(Embedder):
    """The default embedder: 384 dimensions, English, exact to the original model within 0.001 of cosine.

    Text beyond 256 tokens is not seen. A text without any token has a row of zeros. All instances of a process share
    one session, which is loaded at the first use and freed when the last of them is closed.

    Args:
        batch_size: Texts in one run of the model, at most; batches are also cut by padded tokens.
        device: ``cpu`` or ``cuda``.
        folder: Where the model folders lie.

    Raises:
        ConfigurationError: ONNX Runtime has no such device here.
    """

    model_id = ":".join(
        (
            _NAME,
            CHECKSUMS[f"{_NAME}/model.onnx"][:12],
            "mean:256",
            CHECKSUMS[f"{_NAME}/token_basis.f32"][:8],
            f"{_SEEN_BEFORE}-{_LONGEST_BEFORE}-{_LONGEST_BEHIND}",
        )
    )
    dim = 384
    token_dim = 64
    sees_before = True
    max_tokens = 256
    precision = "float32"
    batch_invariant = True

    def __init__(self, *, batch_size: int = 32, device: str = "cpu", folder: Path = FOLDER) -> None:
        if batch_size < 1:
            raise ConfigurationError(f"embedding.batch_size is {batch_size}, must be at least 1")
        if _PROVIDERS.get(device) not in ort.get_available_providers():
            known = " or ".join(_PROVIDERS)
            raise ConfigurationError(f"embedding.device is {device!r}; ONNX Runtime has none here, use {known}")
        self._batch_size = batch_size
        self._key = (folder, device)
        self._model: _Model | None = None
        self._lock = threading.Lock()

    async def open(self) -> None:
        """Load the model unless this process has it already.

        Raises:
            ModelIntegrityError: A model file differs from its recorded hash.
        """
        await self._opened()

    async def close(self) -> None:
        """Give the session back; with its last user it is freed."""
        await asyncio.to_thread(self._release)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed texts, each as if it were alone.

        Args:
            texts: Any texts, in any number.
            urgent: A query: it does not wait for the batches of other calls.

        Returns:
            One row for each text, in order: of length 1, or zeros where the model sees no token.

        Raises:
            EmbedderError: The model failed on one text; the message names its index.
        """
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        model = await self._opened()
        tokens = await model.lanes.run(partial(self._frames, model, list(texts)), urgent=urgent)
        for batch in _batches([len(ids) for ids in tokens], self._batch_size):
            rows = [tokens[index] for index in batch]
            vectors[batch] = await model.lanes.run(partial(_embed, model, rows, batch), urgent=urgent)
        return vectors

    async def encode(self, inputs: Sequence[ModelInput], *, urgent: bool = False) -> list[Encoded]:
        """Embed texts behind what stands before them, with the vectors of their own tokens.

        A text of at most 180 tokens is read behind the last 60 of a text of at most 100; then its vector is the mean of
        its own tokens. Any other is read alone. Token vectors are the model's, at length 1, on the packaged basis.

        Raises:
            EmbedderError: The model failed on one text; the message names its index.
        """
        model = await self._opened()
        frames = await model.lanes.run(partial(self._framed, model, list(inputs)), urgent=urgent)
        found = [Encoded(np.zeros(self.dim, dtype=np.float32))] * len(inputs)
        for batch in _batches([len(frame.ids) for frame in frames], self._batch_size):
            rows = [frames[index] for index in batch]
            made = await model.lanes.run(partial(_encode, model, rows, batch), urgent=urgent)
            for index, encoded in zip(batch, made, strict=True):
                found[index] = encoded
        return found

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; with the frame of two around them, the first `max_tokens` are seen."""
        return len(packaged_tokenizer(_NAME, self._key[0]).ids(text))

    def _frames(self, model: _Model, texts: Sequence[str]) -> list[list[int]]:
        found = (model.tokenizer.ids(text, limit=self.max_tokens - 2) for text in texts)
        return [[_CLS, *ids, _SEP] if ids else [] for ids in found]

    def _framed(self, model: _Model, inputs: Sequence[ModelInput]) -> list[_Frame]:
        return [self._frame(model, item) for item in inputs]

    def _frame(self, model: _Model, item: ModelInput) -> _Frame:
        own = model.tokenizer.ids(item.text, limit=self.max_tokens - 2)
        before = model.tokenizer.ids(item.before, limit=_LONGEST_BEFORE + 1) if item.before else []
        if not own or len(own) > _LONGEST_BEHIND or len(before) > _LONGEST_BEFORE:
            before = []
        before = before[-_SEEN_BEFORE:]
        ids = [_CLS, *before, *own, _SEP] if own else []
        start = 1 + len(before)
        return _Frame(ids, start, start + len(own), behind=bool(before))

    async def _opened(self) -> _Model:
        model = self._model
        return model if model is not None else await asyncio.to_thread(self._acquire)

    def _acquire(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _shared.acquire(self._key)
            return self._model

    def _release(self) -> None:
        with self._lock:
            if self._model is not None:
                self._model = None
                _shared.release(self._key)


def _batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Yield the indexes of texts of like length, so that little is spent on padding; a length of 0 is left out."""
    longest_first = sorted((index for index, length in enumerate(lengths) if length), key=lambda index: -lengths[index])
    start = 0
    while start < len(longest_first):
        fitting = max(1, _PADDED_TOKENS // lengths[longest_first[start]])
        end = start + min(fitting, batch_size)
        yield longest_first[start:end]
        start = end


def _padded(batch: Sequence[Sequence[int]]) -> dict[str, npt.NDArray[np.int64]]:
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def _unit(rows: Vector) -> Vector:
    scaled: Vector = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return scaled


def _embed(model: _Model, rows: Sequence[Sequence[int]], indexes: Sequence[int]) -> Vector:
    return np.stack(_halved(lambda part: list(model.vectors(part)), rows, indexes))


def _encode(model: _Model, rows: Sequence[_Frame], indexes: Sequence[int]) -> list[Encoded]:
    return _halved(model.encoded, rows, indexes)


def _halved(run: Callable[[Sequence[_Row]], list[_Out]], rows: Sequence[_Row], indexes: Sequence[int]) -> list[_Out]:
    """Run one batch; one that fails is halved until the text that it fails on is alone."""
    try:
        return run(rows)
    except _ORT_ERRORS as error:
        if len(rows) == 1:
            reason = type(error).__name__
            raise EmbedderError(f"the model failed on text {indexes[0]} of this call ({reason})") from error
    half = len(rows) // 2
    parts = [_halved(run, rows[a:b], indexes[a:b]) for a, b in pairwise((0, half, len(rows)))]
    return [*parts[0], *parts[1]]

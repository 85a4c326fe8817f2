"""The packaged static model: a text is the mean of its tokens' rows, with numpy alone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mnemic.embedders.wordpiece import packaged_tokenizer
from mnemic.models import CHECKSUMS, FOLDER, read_verified
from mnemic.ports import Embedder
from mnemic.types import Vector

__all__ = ["Static"]

_NAME: Final = "static-minilm-256"
_WEIGHTS: Final = f"{_NAME}/model.safetensors"
_FIRST_KNOWN_ID: Final = 2  # below it are padding and the unknown token, whose rows carry no meaning
_load_lock = threading.Lock()


class Static(Embedder):
    """The fast embedder: 256 dimensions, about 0.1 ms a text, for bulk and for machines without ONNX Runtime.

    A text without any known token has a row of zeros.

    Args:
        folder: Where the model folders lie.
    """

    model_id = f"{_NAME}:{CHECKSUMS[_WEIGHTS][:12]}:mean:512"
    dim = 256
    max_tokens = 512
    precision = "float32"
    batch_invariant = True

    def __init__(self, *, folder: Path = FOLDER) -> None:
        self._folder = folder

    async def open(self) -> None:
        """Load the table of rows unless this process has it already.

        Raises:
            ModelIntegrityError: A model file differs from its recorded hash.
        """
        await asyncio.to_thread(self._table)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Return one row for each text, in order: of length 1, or zeros where the model knows no token."""
        return await asyncio.to_thread(self._embed, list(texts))

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; the first `max_tokens` of them are seen."""
        return len(packaged_tokenizer(_NAME, self._folder).ids(text))

    def _embed(self, texts: Sequence[str]) -> Vector:
        table, tokenizer = self._table(), packaged_tokenizer(_NAME, self._folder)
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = [token for token in tokenizer.ids(text, limit=self.max_tokens) if token >= _FIRST_KNOWN_ID]
            if ids:
                total = table[ids].sum(axis=0)
                vectors[row] = total / np.sqrt(total @ total)
        return vectors

    def _table(self) -> Vector:
        with _load_lock:
            return _table(self._folder)


@cache
def _table(folder: Path) -> Vector:
    parts = _tensors(read_verified(_WEIGHTS, folder=folder))
    table: Vector = parts["embeddings"] * parts["scale"]
    return table


def _tensors(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Read the safetensors format: the header's length, a JSON header, the numbers of each tensor in a row."""
    types: dict[str, npt.DTypeLike] = {"F32": "<f4", "I8": "i1"}
    start = 8 + int.from_bytes(content[:8], "little")
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name, about in json.loads(content[8:start]).items():
        first, last = about["data_offsets"]
        numbers: npt.NDArray[Any] = np.frombuffer(content[start + first : start + last], types[about["dtype"]])
        tensors[name] = numbers.reshape(about["shape"])
    return tensors

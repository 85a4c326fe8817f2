"""Any model of the sentence-transformers library."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from functools import partial

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import get_device_name

from mnemic.embedders.checked import checked
from mnemic.embedders.lanes import Lanes
from mnemic.errors import ConfigurationError, DimensionError, EmbedderError
from mnemic.ports import Embedder
from mnemic.types import Vector

__all__ = ["SentenceTransformers"]


class SentenceTransformers(Embedder):
    """A model by name or folder; its id, dimension and limit are known once it is open.

    Args:
        model: A name that the library finds in its own cache or downloads, or a folder.
        device: ``cpu`` or ``cuda``.
        batch_size: Texts in one run of the model, at most.
        dim: The dimension that the configuration expects; None takes the model's.

    Raises:
        ConfigurationError: torch has no such device here.
    """

    model_id = ""
    dim = 0
    max_tokens = 0
    precision = "float32"
    batch_invariant = True

    def __init__(self, model: str, *, device: str = "cpu", batch_size: int = 32, dim: int | None = None) -> None:
        if device != "cpu" and not device == get_device_name() == "cuda":
            raise ConfigurationError(f"embedding.device is {device!r}; torch has none here, use cpu or cuda")
        self._name = model
        self._device = device
        self._batch_size = batch_size
        self._expected_dim = dim
        self._running: tuple[SentenceTransformer, Lanes] | None = None
        self._lock = threading.Lock()

    async def open(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: No such model can be loaded.
            DimensionError: The model's vectors have another dimension than the configured one.
        """
        await asyncio.to_thread(self._load)

    async def close(self) -> None:
        """Free the model."""
        running, self._running = self._running, None
        if running is not None:
            await asyncio.to_thread(running[1].close)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed texts in batches; a blank text has a row of zeros.

        Raises:
            EmbedderError: The model failed.
        """
        model, lanes = await asyncio.to_thread(self._load)
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        seen = sorted((index for index, text in enumerate(texts) if text.strip()), key=lambda index: -len(texts[index]))
        for start in range(0, len(seen), self._batch_size):
            batch = seen[start : start + self._batch_size]
            job = partial(self._encode, model, [texts[index] for index in batch])
            vectors[batch] = await lanes.run(job, urgent=urgent)
        return vectors

    def count_tokens(self, text: str) -> int:
        """Count by the model's tokenizer, special tokens left out."""
        return len(self._load()[0].tokenizer.tokenize(text))

    def _load(self) -> tuple[SentenceTransformer, Lanes]:
        with self._lock:
            if self._running is None:
                self._running = self._loaded(), Lanes("sentence-transformers")
            return self._running

    def _loaded(self) -> SentenceTransformer:
        try:
            model = SentenceTransformer(self._name, device=self._device)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"embedding.model {self._name!r} cannot be loaded: {error}") from error
        dim = int(model.encode(["a text"], convert_to_numpy=True, show_progress_bar=False).shape[1])
        if self._expected_dim not in {None, dim}:
            raise DimensionError(f"embedding.dimension is {self._expected_dim}, model {self._name!r} has {dim}")
        self.dim, self.max_tokens = dim, int(model.max_seq_length or 512)
        self.model_id = f"sentence-transformers:{self._name}:{_fingerprint(model)}:{self.max_tokens}"
        return model

    def _encode(self, model: SentenceTransformer, texts: list[str]) -> Vector:
        try:
            found = model.encode(
                texts, batch_size=len(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        except RuntimeError as error:  # torch has one class for all that goes wrong, memory included
            raise EmbedderError(f"model {self._name!r} failed on a batch of {len(texts)} texts") from error
        return checked(found, len(texts), self.dim)


def _fingerprint(model: SentenceTransformer) -> str:
    digest = hashlib.sha256()
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.cpu().float().numpy().tobytes())
    return digest.hexdigest()[:12]

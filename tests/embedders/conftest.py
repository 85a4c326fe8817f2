"""What the tests of embedders share."""

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.embedders.minilm import MiniLM
from mnemic.types import Vector
from tests.embedders import http_service

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def loaded_minilm() -> Iterator[None]:
    """Hold the session, so that the embedder of each test finds it loaded."""
    holder = MiniLM()
    asyncio.run(holder.open())
    yield
    asyncio.run(holder.close())


@pytest.fixture
def service() -> Iterator[http_service.Service]:
    with http_service.running() as service:
        yield service


@pytest.fixture(scope="session")
def reference_texts() -> list[str]:
    texts: list[str] = json.loads((DATA / "reference_texts.json").read_text("utf-8"))
    return texts


@pytest.fixture(scope="session")
def reference_ids() -> list[list[int]]:
    """Ids of the reference texts by the original tokenizer, not truncated."""
    return [row["ids"] for row in json.loads((DATA / "reference_vectors.json").read_text("utf-8"))]


@pytest.fixture(scope="session")
def reference_vectors() -> Vector:
    """Vectors of the reference texts by the original model, each text alone."""
    coded = [row["vector"] for row in json.loads((DATA / "reference_vectors.json").read_text("utf-8"))]
    vectors: Vector = np.array([np.frombuffer(base64.b64decode(row), "<f2") for row in coded], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors

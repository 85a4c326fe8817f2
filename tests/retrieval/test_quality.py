"""On the labelled set of this project each way of asking is as good as its parts."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest_asyncio

from mnemic.embedders.minilm import MiniLM
from mnemic.ports import MemoryFilter
from mnemic.providers.sqlite import SqliteProvider
from mnemic.retrieval import Retriever, SearchRequest
from mnemic.testing import ManualClock, requirement
from mnemic.testing.strategies import place
from mnemic.types import MemoryEntry, MemoryScope, SearchMode, Vector
from mnemic.words import index_text

_FOLDER = Path(__file__).parent.parent / "data" / "labelled"
_TENANT = MemoryScope(tenant_id="labelled")


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


class _Labelled:
    """The set in a store, with the vectors of its questions."""

    def __init__(self) -> None:
        self.memories, self.queries = _rows("memories"), _rows("queries")
        self.labels = {row["id"]: row["meta"]["label"] for row in self.memories}
        self.vectors, self.asked = np.zeros((0, 384), np.float32), np.zeros((0, 384), np.float32)
        self.store = SqliteProvider(":memory:", clock=ManualClock())
        self.retriever = Retriever(self.store)

    async def fill(self) -> None:
        model = MiniLM()
        entries = [_entry(row, model.model_id) for row in self.memories]
        self.vectors = await model.embed([index_text(entry) for entry in entries])
        self.asked = await model.embed([row["text"] for row in self.queries])
        for entry, vector in zip(entries, self.vectors, strict=True):
            await self.store.store_with_embedding(place("labelled"), entry.key, entry, vector)
        await self.retriever.prepare(model)
        await model.close()

    async def precision(self, mode: SearchMode) -> float:
        """The mean share of right ones among the first ten."""
        shares = []
        for row, vector in zip(self.queries, self.asked, strict=True):
            hits = await self.retriever.search(_request(row, vector, mode))
            shares.append(self._share(row, [hit.key for hit in hits]))
        return float(np.mean(shares))

    def nearest(self) -> float:
        """The same for exact cosine."""
        keys = list(self.labels)
        order = np.argsort(-self.asked @ self.vectors.T, axis=1, kind="stable")[:, :10]
        pairs = zip(self.queries, order, strict=True)
        return float(np.mean([self._share(row, [keys[place] for place in best]) for row, best in pairs]))

    def _share(self, row: dict[str, Any], keys: list[str]) -> float:
        return [self.labels[key] for key in keys].count(row["relevant_label"]) / 10


def _entry(row: dict[str, Any], model_id: str) -> MemoryEntry:
    moment = datetime.fromisoformat(row["ts"])
    return MemoryEntry(
        key=row["id"],
        content=row["text"],
        tenant_id="labelled",
        volk_id="ada",
        created_at=moment,
        occurred_at=moment,
        session_id=row["session"],
        speaker=row["speaker"],
        role=row["role"],
        embedding_model=model_id,
    )


def _request(row: dict[str, Any], vector: Vector, mode: SearchMode) -> SearchRequest:
    return SearchRequest(
        query=row["text"],
        vector=vector,
        model_id=MiniLM.model_id,
        scope=_TENANT,
        where=MemoryFilter(),
        now=datetime.fromisoformat(row["ts"]),
        mode=mode,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def labelled() -> AsyncIterator[_Labelled]:
    filled = _Labelled()
    await filled.fill()
    yield filled
    await filled.store.close()


@requirement("REQ-010-015", "REQ-010-016", "US-004", "US-004.3")
async def test_hybrid_search_is_at_least_as_precise_as_the_better_single_mode(labelled: _Labelled) -> None:
    hybrid, semantic, keyword = [
        await labelled.precision(mode) for mode in (SearchMode.HYBRID, SearchMode.SEMANTIC, SearchMode.KEYWORD)
    ]

    assert hybrid > 0.8
    assert hybrid >= max(semantic, keyword)
    assert semantic >= labelled.nearest()

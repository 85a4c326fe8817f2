"""One session for each model in a process, freed when nobody needs it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mnemic.embedders.minilm import MiniLM, sessions_loaded
from mnemic.errors import NotRunningError
from mnemic.testing import requirement
from mnemic.types import Vector

pytestmark = pytest.mark.embedding


@requirement("D48")
def test_fifty_embedders_and_eight_threads_at_once_load_one_session_and_free_it() -> None:
    before, loads = sessions_loaded()
    embedders = [MiniLM() for _ in range(50)]

    def use(number: int) -> Vector:
        return asyncio.run(embedders[number].embed([f"text {number % 8}"]))

    with ThreadPoolExecutor(8) as threads:
        vectors = list(threads.map(use, range(50)))
    assert before == 0
    assert sessions_loaded() == (1, loads + 1)
    np.testing.assert_allclose(vectors[0], vectors[8], atol=1e-6)
    for embedder in embedders[:-1]:
        asyncio.run(embedder.close())
    assert sessions_loaded() == (1, loads + 1)
    asyncio.run(embedders[-1].close())
    assert sessions_loaded() == (0, loads + 1)


@requirement("FR-009")
async def test_closing_the_last_one_while_it_works_is_a_typed_error() -> None:
    embedder = MiniLM()
    await embedder.open()
    writes = asyncio.create_task(embedder.embed(["a rather long text about nothing in particular " * 25] * 60))
    await asyncio.sleep(0.05)
    await embedder.close()
    with pytest.raises(NotRunningError, match="open it again"):
        await writes

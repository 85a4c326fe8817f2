"""The packaged MiniLM is the original model, is verified, is loaded once, and lets queries pass."""

import asyncio
import resource
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from mnemic.embedders.minilm import MiniLM
from mnemic.errors import ConfigurationError, EmbedderError, ModelIntegrityError
from mnemic.models import CHECKSUMS, FOLDER
from mnemic.ports import Encoded, ModelInput
from mnemic.testing import requirement
from mnemic.types import Vector

pytestmark = [pytest.mark.embedding, pytest.mark.usefixtures("loaded_minilm")]


@pytest.fixture
async def minilm() -> AsyncIterator[MiniLM]:
    embedder = MiniLM()
    await embedder.open()
    yield embedder
    await embedder.close()


@requirement("REQ-010-036")
async def test_each_vector_is_the_original_models_within_a_thousandth(
    minilm: MiniLM, reference_texts: list[str], reference_vectors: Vector
) -> None:
    alone = np.concatenate([await minilm.embed([text]) for text in reference_texts])
    cosines = (alone * reference_vectors).sum(axis=1)
    assert cosines.min() >= 0.999
    assert cosines.mean() >= 0.9997
    # The control: texts that were shuffled are far from each other's vectors.
    assert (np.roll(alone, 1, axis=0) * reference_vectors).sum(axis=1).max() < 0.9


@requirement("REQ-010-036")
def test_its_space_is_384_numbers_named_after_its_file() -> None:
    assert (MiniLM.dim, MiniLM.max_tokens) == (384, 256)
    assert MiniLM.model_id.startswith("all-MiniLM-L6-v2:")
    assert CHECKSUMS["all-MiniLM-L6-v2/model.onnx"][:12] in MiniLM.model_id
    assert CHECKSUMS["all-MiniLM-L6-v2/token_basis.f32"][:8] in MiniLM.model_id


async def _encode(minilm: MiniLM, text: str, before: str = "") -> Encoded:
    return (await minilm.encode([ModelInput(text, before)]))[0]


async def test_a_text_encoded_alone_has_the_vector_that_it_is_embedded_to(
    minilm: MiniLM, reference_texts: list[str]
) -> None:
    encoded = await minilm.encode([ModelInput(text) for text in reference_texts])
    np.testing.assert_allclose([one.vector for one in encoded], await minilm.embed(reference_texts), atol=1e-6)


async def test_each_own_token_has_a_vector_of_64_numbers_and_length_1_at_most(minilm: MiniLM) -> None:
    texts = ["tea", "the red kettle sings in the morning", "tea " * 400]
    for text, before in ((text, before) for text in texts for before in ("", "who made the coffee?")):
        tokens = (await _encode(minilm, text, before)).tokens
        assert tokens is not None
        assert tokens.shape == (min(minilm.count_tokens(text), minilm.max_tokens - 2), minilm.token_dim)
        lengths = np.linalg.norm(tokens, axis=1)
        assert lengths.max() <= 1.0001
        assert lengths.mean() > 0.4  # the basis keeps most of what tells tokens apart


async def test_a_text_behind_another_has_the_mean_of_its_own_tokens_in_that_light(minilm: MiniLM) -> None:
    text, question = "Yes, twice a week.", "Do you still go swimming?"
    alone, behind = await _encode(minilm, text), await _encode(minilm, text, question)
    assert 0.3 < alone.vector @ behind.vector < 0.95
    assert behind.vector @ (await minilm.embed([question]))[0] > alone.vector @ (await minilm.embed([question]))[0]
    np.testing.assert_allclose(np.linalg.norm(behind.vector), 1, atol=1e-6)
    assert alone.tokens is not None
    assert behind.tokens is not None
    assert np.abs(alone.tokens - behind.tokens).max() > 0.05


async def test_of_what_stands_before_the_last_60_tokens_are_read(minilm: MiniLM) -> None:
    short = await _encode(minilm, "yes", "tea " * 60)
    for before, same in (("coffee " * 30 + "tea " * 60, True), ("tea " * 30 + "coffee " + "tea " * 59, False)):
        assert np.allclose((await _encode(minilm, "yes", before)).vector, short.vector, atol=1e-6) is same


@pytest.mark.parametrize(("own", "before"), [(181, 10), (10, 101), (400, 400)])
async def test_a_long_text_or_one_behind_a_long_one_is_read_alone(minilm: MiniLM, own: int, before: int) -> None:
    behind = await _encode(minilm, "tea " * own, "milk " * before)
    np.testing.assert_allclose(behind.vector, (await _encode(minilm, "tea " * own)).vector, atol=1e-6)
    at_the_limit = await _encode(minilm, "tea " * min(own, 180), "milk " * min(before, 100))
    assert np.abs(at_the_limit.vector - (await _encode(minilm, "tea " * min(own, 180))).vector).max() > 1e-3


@requirement("D04")
async def test_a_text_without_a_token_has_neither_vector_nor_token_vectors(minilm: MiniLM) -> None:
    empty, tea, blank = await minilm.encode([ModelInput(""), ModelInput("tea", "   "), ModelInput(" ", "tea?")])
    assert [(bool(one.vector.any()), one.tokens) for one in (empty, blank)] == [(False, None)] * 2
    np.testing.assert_allclose(tea.vector, (await minilm.embed(["tea"]))[0], atol=1e-6)
    assert await minilm.encode([]) == []


@requirement("REQ-010-036")
async def test_inputs_of_a_batch_move_no_other_and_keep_their_order(minilm: MiniLM, reference_texts: list[str]) -> None:
    inputs = [ModelInput(text, reference_texts[place - 1]) for place, text in enumerate(reference_texts[:20])]
    batch = await minilm.encode(inputs)
    alone = [(await minilm.encode([item], urgent=True))[0] for item in inputs]
    for one, other in zip(batch, alone, strict=True):
        np.testing.assert_allclose(one.vector, other.vector, atol=1e-6)
        assert one.tokens is not None
        assert other.tokens is not None
        np.testing.assert_allclose(one.tokens, other.tokens, atol=1e-5)


@requirement("REQ-010-036")
async def test_text_behind_256_tokens_is_not_seen_and_text_before_is(minilm: MiniLM) -> None:
    seen, unseen = "tea " * 254, "tea " * 254 + "submarine"
    assert minilm.count_tokens(unseen) > minilm.max_tokens - 2
    vectors = await minilm.embed([seen, unseen, "tea " * 253 + "submarine"])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-3


@requirement("FR-009")
async def test_a_text_on_which_the_model_fails_is_named_by_its_index_alone(minilm: MiniLM) -> None:
    minilm.max_tokens = 600  # the model has 512 positions, so a longer text fails inside its graph
    texts = ["fine"] * 5 + ["secret " * 600] + ["fine"] * 3
    with pytest.raises(EmbedderError, match="text 5 of this call") as failure:
        await minilm.embed(texts)
    assert "secret" not in str(failure.value)
    assert (await minilm.embed(["fine"])).any()


@requirement("FR-009")
async def test_a_query_passes_a_long_batch_of_writes(minilm: MiniLM) -> None:
    writes = asyncio.create_task(minilm.embed(["a rather long text about nothing in particular " * 25] * 400))
    await asyncio.sleep(0.05)
    query = await minilm.embed(["a query"], urgent=True)
    assert query.any()
    assert not writes.done()
    writes.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writes


@requirement("FR-009")
@pytest.mark.parametrize("device", ["cuda", "abacus"])
def test_an_absent_device_is_a_configuration_error(device: str) -> None:
    with pytest.raises(ConfigurationError, match=device):
        MiniLM(device=device)


@requirement("FR-009")
def test_a_batch_holds_at_least_one_text() -> None:
    with pytest.raises(ConfigurationError, match="batch_size is 0"):
        MiniLM(batch_size=0)


@requirement("FR-009")
async def test_the_size_of_a_batch_moves_no_vector(reference_texts: list[str]) -> None:
    one, many = MiniLM(batch_size=1), MiniLM(batch_size=64)
    np.testing.assert_allclose(await one.embed(reference_texts[:20]), await many.embed(reference_texts[:20]), atol=1e-6)
    await one.close()
    await many.close()


@pytest.fixture
def copied_models(tmp_path: Path) -> Path:
    for name in CHECKSUMS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(FOLDER / name, tmp_path / name)
    return tmp_path


@requirement("REQ-010-036")
@pytest.mark.parametrize("name", [name for name in CHECKSUMS if "all-MiniLM" in name])
async def test_a_changed_model_file_is_refused_by_name_and_hash(copied_models: Path, name: str) -> None:
    path = copied_models / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelIntegrityError, match=CHECKSUMS[name]) as failure:
        await MiniLM(folder=copied_models).embed(["a text"])
    assert str(path) in str(failure.value)


async def test_a_missing_model_file_is_refused_by_name(copied_models: Path) -> None:
    (copied_models / "all-MiniLM-L6-v2" / "model.onnx").unlink()
    with pytest.raises(ModelIntegrityError, match=r"model\.onnx cannot be read"):
        await MiniLM(folder=copied_models).open()


@requirement("D48")
async def test_memory_stays_flat_once_it_is_warm(minilm: MiniLM) -> None:
    texts = [f"memory number {number} " + "and so on " * (number % 12) for number in range(300)]
    await minilm.embed([*texts, "long " * 300] * 2)
    warm = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2):
        await minilm.embed(texts)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1.05 * warm


@requirement("REQ-010-036")
def test_embedding_opens_no_socket_and_reads_no_torch() -> None:
    code = (
        "import asyncio, sys\n"
        "def watch(event, _):\n"
        "    assert event not in {'socket.connect', 'socket.bind', 'socket.getaddrinfo'}, event\n"
        "sys.addaudithook(watch)\n"
        "from mnemic.embedders.minilm import MiniLM\n"
        "from mnemic.embedders.static import Static\n"
        "for embedder in (MiniLM(), Static()):\n"
        "    print(asyncio.run(embedder.embed(['no network is needed'])).shape)\n"
        "    asyncio.run(embedder.close())\n"
        "print({'torch', 'transformers', 'huggingface_hub', 'tokenizers', 'httpx'} & set(sys.modules))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:3] == ["(1, 384)", "(1, 256)", "set()"]

"""The packaged static model: a mean of rows, nothing for nothing."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from mnemic.embedders.static import Static
from mnemic.errors import ModelIntegrityError
from mnemic.models import CHECKSUMS, FOLDER
from mnemic.testing import requirement

pytestmark = pytest.mark.embedding


@requirement("D04")
async def test_a_text_without_a_known_token_has_no_vector() -> None:
    assert not (await Static().embed(["\u2603 \U0001f9ff", "😀", ""])).any()


async def test_an_unknown_token_moves_no_vector() -> None:
    with_unknown, without = await Static().embed(["tea \u2603 time", "tea time"])
    np.testing.assert_allclose(with_unknown, without, atol=1e-6)


async def test_texts_of_one_subject_are_nearer_than_texts_of_two() -> None:
    cat, kitten, invoice = await Static().embed(["a cat on the sofa", "the kitten sleeps", "an unpaid invoice"])
    assert cat @ kitten > cat @ invoice + 0.2


async def test_only_the_first_512_tokens_are_seen() -> None:
    seen, unseen = await Static().embed(["tea " * 512, "tea " * 512 + "submarine"])
    np.testing.assert_array_equal(seen, unseen)


async def test_a_changed_model_file_is_refused_by_name_and_hash(tmp_path: Path) -> None:
    name = "static-minilm-256/model.safetensors"
    shutil.copytree(FOLDER / "static-minilm-256", tmp_path / "static-minilm-256")
    with (tmp_path / name).open("ab") as file:
        file.write(b"more")
    with pytest.raises(ModelIntegrityError, match=CHECKSUMS[name]):
        await Static(folder=tmp_path).open()

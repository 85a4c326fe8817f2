"""Which model files ship with mnemic, and are they unaltered?"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from mnemic.errors import ModelIntegrityError

__all__ = ["CHECKSUMS", "FOLDER", "read_verified"]

FOLDER: Final = Path(__file__).parent

CHECKSUMS: Final = {
    "all-MiniLM-L6-v2/model.onnx": "c935f8ca91b8deec55e34042ff17e140277deeacf5d9d349f320acd6f311c997",
    "all-MiniLM-L6-v2/token_basis.f32": "4e44d370cf5ed17a25304c717dc1cac7d54ab1095616c87a3c38b2b28d0041ed",
    "all-MiniLM-L6-v2/tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "static-minilm-256/model.safetensors": "69b31deb93e5b9679f2d217fc6b6bd902a7666f369b870958885a11861cb92a4",
    "static-minilm-256/tokenizer.json": "dd33465341c98889c3338356b6200c8b232b89af5f1b7aa8e6ee1d4d7a699631",
}


def read_verified(name: str, *, folder: Path = FOLDER) -> bytes:
    """Read a packaged file and compare it with its recorded hash.

    Args:
        name: A key of `CHECKSUMS`.
        folder: Where the model folders lie.

    Returns:
        The bytes that were hashed, so that nothing can change between the check and the use.

    Raises:
        ModelIntegrityError: The file is missing, or its SHA-256 differs.
    """
    path, expected = folder / name, CHECKSUMS[name]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelIntegrityError(f"model file {path} cannot be read ({error.strerror}); reinstall mnemic") from error
    seen = hashlib.sha256(content).hexdigest()
    if seen != expected:
        raise ModelIntegrityError(f"model file {path} has SHA-256 {seen}, expected {expected}; reinstall mnemic")
    return content

"""Rebuild src/mnemic/models/static-minilm-256 by distilling the original all-MiniLM-L6-v2.

    python tools/build_static.py ORIGINAL_FOLDER TARGET_FOLDER

ORIGINAL_FOLDER as for tools/build_minilm.py. Needs `model2vec[distill]` 0.10 and torch, in an environment of their own;
takes about 95 seconds. Record the new checksums in mnemic.models.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from model2vec.distill import distill
from safetensors.numpy import load_file, save_file

DIMENSIONS = 256


def by_row(table: np.ndarray) -> dict[str, np.ndarray]:
    """Store each row as int8 with one scale."""
    scale = np.abs(table).max(axis=1, keepdims=True).astype(np.float32) / 127
    scale[scale == 0] = 1
    return {"embeddings": np.rint(table / scale).clip(-127, 127).astype(np.int8), "scale": scale}


def main(original: Path, target: Path) -> None:
    """Build both files and print their checksums."""
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        distill(model_name=str(original), pca_dims=DIMENSIONS, device="cpu").save_pretrained(folder)
        table = load_file(Path(folder) / "model.safetensors")["embeddings"].astype(np.float32)
        shutil.copy(Path(folder) / "tokenizer.json", target)
    save_file(by_row(table), target / "model.safetensors")
    for name in ("model.safetensors", "tokenizer.json"):
        print(name, hashlib.sha256((target / name).read_bytes()).hexdigest())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

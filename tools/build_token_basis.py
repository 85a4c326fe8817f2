"""Build the basis on which token vectors of the packaged model are stored: 64 directions of 384.

    python -m tools.build_token_basis

Reads texts of the project's own (the demo conversation and the labelled set), takes the model's token
vectors at length 1, and keeps the 64 directions in which they differ most from zero. Prints the new SHA-256, which
belongs into `mnemic.models.CHECKSUMS`: another basis is another model id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime as ort

from mnemic.embedders.wordpiece import packaged_tokenizer
from mnemic.models import FOLDER, read_verified

ROOT = Path(__file__).parents[1]
NAME = "all-MiniLM-L6-v2"
KEPT = 64
CLS, SEP = 101, 102


def main() -> None:
    """Write the basis beside the model."""
    session = ort.InferenceSession(read_verified(f"{NAME}/model.onnx"))
    tokenizer = packaged_tokenizer(NAME)
    moments = np.zeros((384, 384))
    for text in _texts():
        ids = np.array([[CLS, *tokenizer.ids(text, limit=254), SEP]], dtype=np.int64)
        states = session.run(["token_embeddings"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0, 1:-1]
        unit = states / np.linalg.norm(states, axis=1, keepdims=True)
        moments += unit.T @ unit
    values, directions = np.linalg.eigh(moments)
    basis = np.ascontiguousarray(directions[:, ::-1][:, :KEPT], dtype="<f4")
    path = FOLDER / NAME / "token_basis.f32"
    path.write_bytes(basis.tobytes())
    print(f"{path.name}: {values[::-1][:KEPT].sum() / values.sum():.3f} of the energy is kept")
    print(hashlib.sha256(path.read_bytes()).hexdigest())


def _texts() -> Iterator[str]:
    for path in (ROOT / "src/mnemic/data/demo/conversation.jsonl", ROOT / "tests/data/labelled/memories.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield f"{row['speaker']}: {row['text']}" if row.get("speaker") else row["text"]


if __name__ == "__main__":
    main()

"""Write tests/data/reference_vectors.json: vectors of the reference texts, made by the original model.

    python tools/reference_vectors.py ORIGINAL_FOLDER tests/data/reference_texts.json tests/data/reference_vectors.json

ORIGINAL_FOLDER as for tools/build_minilm.py. Needs sentence-transformers, in an environment of its own.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer


def main(original: str, texts: Path, target: Path) -> None:
    """Embed each text alone and store its vector as base64 of float16."""
    model = SentenceTransformer(original, device="cpu")
    vectors = [model.encode(text, normalize_embeddings=True) for text in json.loads(texts.read_text("utf-8"))]
    coded = [base64.b64encode(vector.astype("<f2").tobytes()).decode() for vector in np.array(vectors)]
    target.write_text(json.dumps(coded, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))

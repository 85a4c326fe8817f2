"""Write tests/data/reference_vectors.json: ids and vectors of the reference texts, made by the original.

    python tools/reference_vectors.py ORIGINAL_FOLDER tests/data/reference_texts.json tests/data/reference_vectors.json

ORIGINAL_FOLDER as for tools/build_minilm.py. Needs sentence-transformers, in an environment of its own.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

from sentence_transformers import SentenceTransformer


def main(original: str, texts: Path, target: Path) -> None:
    """Write for each text all ids of its tokens, and the vector of the text alone as base64 of float16."""
    model = SentenceTransformer(original, device="cpu")
    rows = []
    for text in json.loads(texts.read_text("utf-8")):
        vector = model.encode(text, normalize_embeddings=True).astype("<f2")
        ids = model.tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"]
        rows.append({"ids": ids, "vector": base64.b64encode(vector.tobytes()).decode()})
    target.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))

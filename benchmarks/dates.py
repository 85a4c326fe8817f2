"""Resolve the time expressions of a labelled set and write the run file for its scorer.

    python benchmarks/dates.py DATA_DIR --out RUN.jsonl

The longest expression of each text is taken, resolved against the moment that the set gives.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from mnemic.retrieval.dates import Mention, mentions


def answer(mention: Mention) -> dict[str, str]:
    """Return one reading in the set's form: a day or a moment as a value, all else as start and end."""
    start, end = mention.interval.start, mention.interval.end
    if start and mention.grain == "day":
        return {"value": f"{start:%Y-%m-%d}"}
    if start and mention.grain in {"instant", "minute", "hour"}:
        return {"value": f"{start:%Y-%m-%d %H:%M:%S}"}
    sides = {"start": start, "end": end}
    return {name: f"{side:%Y-%m-%d %H:%M:%S}" for name, side in sides.items() if side}


def run(folder: Path) -> list[dict[str, str]]:
    """Resolve every text of a set."""
    rows = []
    for line in (folder / "temporal.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        found = mentions(case["text"], now=datetime.fromisoformat(case["ref"][:26]).replace(tzinfo=UTC))
        best = max(found, key=lambda mention: len(mention.text), default=None)
        rows.append({"id": case["id"], **(answer(best) if best else {})})
    return rows


def main() -> None:
    """Read the folder and write the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows = run(arguments.folder)
    arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows)} texts, {sum(len(row) > 1 for row in rows)} answered")


if __name__ == "__main__":
    main()

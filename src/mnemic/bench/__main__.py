"""Does another scorer give the same figures? ``python -m mnemic.bench compare SCORE_PY DATA_DIR RUN``."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from mnemic.bench import kit, scorer

_TOLERANCE = 1e-9


def main(arguments: list[str]) -> int:
    """Score a run here and by a script that prints JSON with ``overall: {figure: [value, ...]}``; 0 if they agree."""
    if len(arguments) != 4 or arguments[0] != "compare":
        print(__doc__, file=sys.stderr)
        return 2
    script, folder, run = map(Path, arguments[1:])
    ours = scorer.score(kit.labels(folder), scorer.read_run(run)).overall
    command = [sys.executable, str(script), str(folder), str(run), "--json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - the caller's own script
    theirs = {name: value[0] for name, value in json.loads(printed.stdout)["overall"].items()}
    wrong = [name for name in sorted(ours.keys() | theirs.keys()) if not _equal(ours.get(name), theirs.get(name))]
    for name in wrong:
        print(f"{name}: here {ours.get(name)}, there {theirs.get(name)}")
    print(f"{len(ours)} figures here, {len(theirs)} there, {len(wrong)} differ")
    return 1 if wrong else 0


def _equal(ours: float | None, theirs: float | None) -> bool:
    if ours is None or math.isnan(ours):
        return theirs is None
    return theirs is not None and math.isclose(ours, theirs, abs_tol=_TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

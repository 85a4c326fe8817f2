"""What do the runs of one go say beside each other? A table with intervals, and curves against the budget."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mnemic.bench import scorer
from mnemic.bench.kit import Labels
from mnemic.bench.scorer import Answer, Figures

__all__ = ["COLUMNS", "CURVE_BUDGETS", "Arm", "Gain", "Measured", "arm", "curves", "gain", "headline", "table"]

CURVE_BUDGETS = (256, 512, 1024, 2048, 4096)
_ROUNDS, _SEED = 1000, 7
_FEWEST_GROUPS = 5
_MANY = 10  # where more memories than that are right, precision is the figure
COLUMNS = ("recall@1", "recall@10", "p@10", "ndcg@10", "mrr@10", "current_first", "answer@10", "abstention_auroc")
_FLOOR = ("recency", "random")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way of answering a set: its figures overall and of each question, and the evidence kept by budget."""

    name: str
    overall: Figures
    rows: tuple[Figures, ...]
    kept: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What the engine adds to the better of BM25 and dense, with its 95 % interval over paired questions."""

    figure: str
    better: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A set, the engine's run on it as the first arm, and the plain methods."""

    name: str
    checksum: str
    course: Mapping[str, float]
    leaks: int
    over_budget: float | None
    arms: tuple[Arm, ...]
    gain: Gain | None


def arm(
    name: str, labels: Labels, run: Mapping[str, Answer], contexts: Mapping[int, Mapping[str, Answer]] | None = None
) -> Arm:
    """Score one way of answering; without contexts of its own, its ranking is cut to each budget in plain text."""
    overall, rows = scorer.score(labels, run).overall, tuple(scorer.by_question(labels, run))
    if contexts is None:
        kept = {budget: overall.get(f"evidence@{budget}t") for budget in CURVE_BUDGETS}
    else:
        kept = {b: scorer.score(labels, run).overall.get("context_evidence") for b, run in contexts.items()}
    return Arm(name=name, overall=overall, rows=rows, kept={b: v for b, v in kept.items() if v is not None})


def headline(labels: Labels) -> str:
    """The figure of a set: precision where a question has many right memories, else recall."""
    sizes = [len(label.relevant) for label in labels.questions if label.relevant]
    return "p@10" if sizes and sum(sizes) / len(sizes) > _MANY else "recall@10"


def gain(labels: Labels, ours: Arm, others: Sequence[Arm]) -> Gain | None:
    """Compare with the better plain arm, drawing whole tenants, or single questions where there are few of them."""
    figure = headline(labels)
    plain = [other for other in others if other.name in {"bm25", "dense"} and figure in other.overall]
    if not plain or figure not in ours.overall:
        return None
    better = max(plain, key=lambda other: other.overall[figure])
    pairs = zip(labels.questions, ours.rows, better.rows, strict=True)
    differences = [(q.tenant, a[figure] - b[figure]) for q, a, b in pairs if figure in a and figure in b]
    groups: dict[Any, list[float]] = defaultdict(list)
    few = len({tenant for tenant, _ in differences}) < _FEWEST_GROUPS
    for number, (tenant, difference) in enumerate(differences):
        groups[number if few else tenant].append(difference)
    sums = np.array([[sum(group), len(group)] for group in groups.values()])
    chance = np.random.default_rng(_SEED)
    drawn = sums[chance.integers(0, len(sums), (_ROUNDS, len(sums)))].sum(axis=1)
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    value = sums[:, 0].sum() / sums[:, 1].sum()
    return Gain(figure=figure, better=better.name, value=float(value), low=float(low), high=float(high))


def table(sets: Sequence[Measured], *, model_id: str, label: str = "") -> str:
    """Write the page: what was measured and how, figures of every arm, gains, and how the runs went."""
    budgets = sorted({budget for measured in sets for budget in measured.arms[0].kept})
    columns = [c for c in COLUMNS if any(c in each.overall for m in sets for each in m.arms)]
    rows = [
        [
            measured.name,
            each.name,
            *(_number(each.overall.get(column)) for column in columns),
            *(_number(each.kept.get(budget)) for budget in budgets),
        ]
        for measured in sets
        for each in measured.arms
    ]
    gains = [
        [m.name, m.gain.figure, m.gain.better, f"{m.gain.value:+.3f}", f"{m.gain.low:+.3f} to {m.gain.high:+.3f}"]
        for m in sets
        if m.gain
    ]
    parts = [
        "# Quality of retrieval",
        _preface(model_id, label),
        _grid(["set", "system", *columns, *(f"kept {budget}" for budget in budgets)], rows),
        "## Gain over the better of BM25 and dense",
        _grid(["set", "figure", "better arm", "gain", "95 %"], gains),
        "## The runs",
        _grid(_RUN_COLUMNS, [_run(measured) for measured in sets]),
    ]
    return "\n\n".join(parts) + "\n"


_RUN_COLUMNS = (
    "set",
    "data",
    "memories",
    "set aside",
    "questions",
    "refused",
    "leaks",
    "over budget",
    "median ms",
    "P95 ms",
)


def _run(measured: Measured) -> list[str]:
    course = measured.course
    return [
        measured.name,
        measured.checksum,
        f"{course['memories']:,}",
        f"{course['set_aside']:,}",
        f"{course['questions']:,}",
        f"{course['refused_questions']:,}",
        str(measured.leaks),
        _number(measured.over_budget),
        f"{course['search_ms_median']:g}",
        f"{course['search_ms_p95']:g}",
    ]


def _preface(model_id: str, label: str) -> str:
    version = f" Version: {label}." if label else ""
    return (
        f"Written by `mnemic bench quality --table`. Model: `{model_id}`.{version} The unit is one memory, never a "
        "session; k is 10 where a figure does not say otherwise. A token is a quarter of a character, rounded up. "
        "`kept N` is the share of the evidence in a context of N tokens: of mnemic with fence, headings and references "
        "inside the budget, of the others the texts alone in the order of the ranking, skipping what does not fit. "
        "BM25 (k1 1.2, b 0.75) is stemmed and without stop words, dense is the cosine of the same model, rrf their "
        "reciprocal rank fusion with 60. Intervals draw whole conversations or users, or single questions where a set "
        "has fewer than five; rows whose tenant or user has a name that no identity may have are set aside and counted."
    )


def _grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


_WIDTH, _HEIGHT, _MARGIN = 300, 210, 34
_COLOURS = {"mnemic": "#c2185b", "bm25": "#546e7a", "dense": "#1e88e5", "rrf": "#f9a825"}


def curves(sets: Sequence[Measured]) -> str:
    """Draw the evidence kept against tokens, a panel for each set that has evidence, as SVG."""
    shown = [measured for measured in sets if any(each.kept for each in measured.arms)]
    columns = min(3, max(1, len(shown)))
    height = -(-len(shown) // columns) * _HEIGHT + 24
    panels = [
        f'<g transform="translate({n % columns * _WIDTH},{n // columns * _HEIGHT})">{_panel(measured)}</g>'
        for n, measured in enumerate(shown)
    ]
    legend = "".join(
        f'<text x="{_MARGIN + 70 * n}" y="{height - 8}" fill="{colour}">{name}</text>'
        for n, (name, colour) in enumerate(_COLOURS.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * _WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="11" role="img">'
        "<title>Share of the evidence in a context, against its tokens</title>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(panels)}{legend}</svg>\n'
    )


def _panel(measured: Measured) -> str:
    grid = "".join(
        f'<text x="4" y="{_y(share) + 4:.0f}">{share:g}</text>'
        f'<path d="M{_MARGIN} {_y(share):.1f}H{_WIDTH - 10}" stroke="#ddd"/>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    marks = "".join(f'<text x="{_x(b) - 10:.0f}" y="{_y(0) + 16:.0f}">{b}</text>' for b in CURVE_BUDGETS)
    lines = "".join(_curve(each) for each in measured.arms if each.name not in _FLOOR)
    return f'<text x="{_MARGIN}" y="14" font-weight="bold">{html.escape(measured.name)}</text>{grid}{marks}{lines}'


def _curve(each: Arm) -> str:
    kept = {budget: share for budget, share in sorted(each.kept.items()) if budget in CURVE_BUDGETS}
    points = " ".join(f"{_x(budget):.1f},{_y(share):.1f}" for budget, share in kept.items())
    told = ", ".join(f"{budget}: {share:.3f}" for budget, share in kept.items())
    colour = _COLOURS.get(each.name, "#000")
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
        f"<title>{html.escape(each.name)} {told}</title></polyline>"
    )


def _x(budget: int) -> float:
    return _MARGIN + (_WIDTH - _MARGIN - 24) * CURVE_BUDGETS.index(budget) / (len(CURVE_BUDGETS) - 1)


def _y(share: float) -> float:
    return 24 + (_HEIGHT - 60) * (1 - share)

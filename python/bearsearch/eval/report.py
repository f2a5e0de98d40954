"""What was measured, as a JSON document and as a table for people.

The JSON's keys are a promise: they are added to and never renamed. Nothing here searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bearsearch.eval.datasets import Query
from bearsearch.eval.measure import Measured, Score
from bearsearch.eval.metrics import mean, paired_p_value, percentile

__all__ = ["Evaluated", "as_json", "as_text"]

METRICS = ("ndcg@10", "recall@10", "recall@100", "mrr@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Everything that was measured on one dataset."""

    name: str
    documents: int
    queries: tuple[Query, ...]
    runs: tuple[Measured, ...]
    missing: dict[str, str]
    """Why a system did not run, by its name."""
    baseline: str | None
    """Name of the system that the others are compared with; None compares with none."""


def _figures(scores: Sequence[Score]) -> dict[str, float]:
    return {
        "ndcg@10": mean([score.ndcg_at_10 for score in scores]),
        "recall@10": mean([score.recall_at_10 for score in scores]),
        "recall@100": mean([score.recall_at_100 for score in scores]),
        "mrr@10": mean([score.mrr_at_10 for score in scores]),
    }


def _modes(evaluated: Evaluated, chosen: Sequence[int]) -> dict[str, dict[str, float]]:
    timed = {run.system.name: percentile(run.times_ms, 0.5) for run in evaluated.runs}
    return {
        run.system.name: {**_figures([run.scores[place] for place in chosen]), "p50_ms": timed[run.system.name]}
        for run in evaluated.runs
    }


def _kinds(evaluated: Evaluated) -> dict[str, list[int]]:
    """Places of the queries of each kind, in the order in which the kinds first come."""
    kinds: dict[str, list[int]] = {}
    for place, query in enumerate(evaluated.queries):
        if query.kind is not None:
            kinds.setdefault(query.kind, []).append(place)
    return kinds


def _significance(evaluated: Evaluated) -> dict[str, dict[str, float]]:
    """Against the baseline by system: the difference of nDCG@10 and how likely chance makes one as large."""
    base = next((run for run in evaluated.runs if run.system.name == evaluated.baseline), None)
    if base is None:
        return {}
    theirs = [score.ndcg_at_10 for score in base.scores]
    compared: dict[str, dict[str, float]] = {}
    for run in evaluated.runs:
        if run is not base:
            ours = [score.ndcg_at_10 for score in run.scores]
            compared[run.system.name] = {
                "difference": mean(ours) - mean(theirs),
                "p_value": paired_p_value(ours, theirs),
            }
    return compared


def _grounded(run: Measured) -> float | None:
    known = [score.grounded for score in run.scores if score.grounded is not None]
    return mean(known) if known else None


def _rounded(value: Any, digits: int = 4) -> Any:
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {key: _rounded(item, digits) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def as_json(evaluated: Sequence[Evaluated]) -> dict[str, Any]:
    """The document of `bearsearch eval --json`."""
    return {"datasets": [_rounded(_dataset(one)) for one in evaluated]}


def _dataset(evaluated: Evaluated) -> dict[str, Any]:
    return {
        "name": evaluated.name,
        "documents": evaluated.documents,
        "queries": len(evaluated.queries),
        "modes": _modes(evaluated, range(len(evaluated.queries))),
        "kinds": {kind: _modes(evaluated, places) for kind, places in _kinds(evaluated).items()},
        "baseline": evaluated.baseline,
        "significance": _significance(evaluated),
        "groundedness": {run.system.name: _grounded(run) for run in evaluated.runs},
        "legs_p50_ms": {
            run.system.name: {part: percentile(times, 0.5) for part, times in run.parts_ms.items()}
            for run in evaluated.runs
        },
        "p95_ms": {run.system.name: percentile(run.times_ms, 0.95) for run in evaluated.runs},
        "missing": evaluated.missing,
    }


def as_text(evaluated: Evaluated) -> str:
    """One dataset as a table: a row for each system, then one block for each kind of query."""
    everything = range(len(evaluated.queries))
    compared = _significance(evaluated)
    lines = [f"{evaluated.name}: {_count(evaluated.documents, 'document')}, {_count(len(everything), 'query')}"]
    lines += _table(
        _modes(evaluated, everything), indent=2, beside={name: _versus(value) for name, value in compared.items()}
    )
    if compared:
        lines.append(f"  (difference of nDCG@10 to {evaluated.baseline}; p from a paired permutation test)")
    grounded = [(run.system.name, _grounded(run)) for run in evaluated.runs]
    if any(value is not None for _, value in grounded):
        shown = ", ".join(f"{name} {value:.2f}" for name, value in grounded if value is not None)
        lines.append(f"  rare words of a query that the first ten passages hold: {shown}")
    for run in evaluated.runs:
        parts = ", ".join(f"{part} {percentile(times, 0.5):.2f}" for part, times in run.parts_ms.items())
        if parts:
            lines.append(f"  {run.system.name}, median ms: {parts}")
    for kind, places in _kinds(evaluated).items():
        lines.append(f"  {kind}: {_count(len(places), 'query')}")
        lines += _table(_modes(evaluated, places), indent=4, beside={})
    lines += [f"  {name} did not run: {reason}" for name, reason in evaluated.missing.items()]
    return "\n".join(lines) + "\n"


def _versus(compared: dict[str, float]) -> str:
    p = compared["p_value"]
    return f"{compared['difference']:+.3f} ({'p < 0.001' if p < 0.001 else f'p = {p:.3f}'})"


def _table(modes: dict[str, dict[str, float]], *, indent: int, beside: dict[str, str]) -> list[str]:
    columns = (*METRICS, "p50_ms")
    width = max((len(name) for name in modes), default=0)
    lines = [" " * indent + " " * width + "".join(f"{column:>12}" for column in columns)]
    for name, figures in modes.items():
        cells = "".join(f"{figures[column]:>12.{2 if column == 'p50_ms' else 3}f}" for column in columns)
        lines.append((" " * indent + name.ljust(width) + cells + "  " + beside.get(name, "")).rstrip())
    return lines


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"

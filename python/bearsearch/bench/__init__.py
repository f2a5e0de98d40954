"""The benchmark: sections that measure one thing each, and print and keep rows of one shape.

`run` is what the command line calls, `measure` what a program may. A section is a function from a plan to
rows, named in ``SECTIONS``; to add one, write it beside ``vector`` and name it there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from bearsearch.bench.figures import Figure, figure_table
from bearsearch.bench.machine import describe
from bearsearch.bench.plan import Plan, parse
from bearsearch.bench.rows import Row, table, write_json

__all__ = ["SECTIONS", "Figure", "Plan", "Row", "measure", "run"]

Measured: TypeAlias = Row | Figure


def _vector(plan: Plan) -> Iterator[Measured]:
    from bearsearch.bench.vector import section  # numpy and the peers cost a second: only when asked for

    return section.measure(plan)


def _engine(name: str) -> Callable[[Plan], Iterator[Measured]]:
    def measured(plan: Plan) -> Iterator[Measured]:
        from bearsearch.bench import engine

        return getattr(engine, name)(plan)

    return measured


def _text(plan: Plan) -> Iterator[Measured]:
    from bearsearch.bench.text import text

    return text(plan)


def _embedding(name: str) -> Callable[[Plan], Iterator[Measured]]:
    def measured(plan: Plan) -> Iterator[Measured]:
        from bearsearch.bench import embedding

        return getattr(embedding, name)(plan)

    return measured


def _vaults(plan: Plan) -> Iterator[Measured]:
    from bearsearch.bench import vaults

    return vaults.vaults(plan)


SECTIONS: dict[str, Callable[[Plan], Iterator[Measured]]] = {
    "index": _engine("index"),
    "freshness": _engine("freshness"),
    "search": _engine("search"),
    "startup": _engine("startup"),
    "background": _embedding("background"),
    "memory": _embedding("memory"),
    "text": _text,
    "vaults": _vaults,
    "vector": _vector,
}


def measure(
    sections: Sequence[str] = (),
    *,
    quick: bool = True,
    json_path: Path | None = None,
    work_dir: Path | None = None,
    embeddings: Path | None = None,
    queries: Path | None = None,
) -> list[Measured]:
    """Measure ``sections`` (all of them when empty) and return what was found; parameters as in `Plan`."""
    plan = Plan(tuple(sections) or tuple(SECTIONS), quick, json_path, work_dir, embeddings, queries)
    found = [one for name in plan.sections for one in SECTIONS[name](plan)]
    if plan.json_path is not None:
        write_json(found, plan.json_path)
    return found


def run(arguments: Sequence[str]) -> int:
    """Measure what command-line arguments ask for; tables go to stdout, progress to stderr. Return an exit code."""
    plan = parse(arguments, known_sections=tuple(SECTIONS))
    everything: list[Measured] = []
    print(describe())
    for name in plan.sections:
        found: list[Measured] = []
        for one in SECTIONS[name](plan):
            found.append(one)
            print(f"  {_on_one_line(one)}", file=sys.stderr, flush=True)
        rows = [one for one in found if isinstance(one, Row)]
        figures = [one for one in found if isinstance(one, Figure)]
        print(f"\n{table(rows) if rows else figure_table(figures)}", flush=True)
        everything += found
    if plan.json_path is not None:
        write_json(everything, plan.json_path)
    return 0


def _on_one_line(one: Measured) -> str:
    if isinstance(one, Figure):
        return f"{one.section}, {one.name}: {one.value:.4g} {one.unit}"
    outcome = f"missing: {one.missing}" if one.missing else f"recall {one.recall:.4f}, p50 {one.p50_ms:.3f} ms"
    return f"{one.data} {one.peer} {one.setting}: {outcome}"

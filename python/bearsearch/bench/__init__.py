"""The benchmark: sections that measure one thing each, and print and keep rows of one shape.

`run` is what the command line calls, `measure` what a program may. A section is a function from a plan to
rows, named in ``SECTIONS``; to add one, write it beside ``vector`` and name it there.
"""

from __future__ import annotations

import importlib
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


def _section(module: str, name: str) -> Callable[[Plan], Iterator[Measured]]:
    """A section by its place; imported when it is measured, because numpy and the peers cost a second."""

    def measured(plan: Plan) -> Iterator[Measured]:
        return getattr(importlib.import_module(f"bearsearch.bench.{module}"), name)(plan)

    return measured


SECTIONS: dict[str, Callable[[Plan], Iterator[Measured]]] = {
    "index": _section("engine", "index"),
    "freshness": _section("engine", "freshness"),
    "search": _section("engine", "search"),
    "startup": _section("engine", "startup"),
    "background": _section("embedding", "background"),
    "memory": _section("embedding", "memory"),
    "text": _section("text", "text"),
    "vaults": _section("vaults", "vaults"),
    "vector": _section("vector.section", "measure"),
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

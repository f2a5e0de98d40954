"""The benchmark: sections that measure one thing each, and print and keep rows of one shape.

`run` is what the command line calls, `measure` what a program may. A section is a function from a plan to
rows, named in ``SECTIONS``; to add one, write it beside ``vector`` and name it there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bearsearch.bench.machine import describe
from bearsearch.bench.plan import Plan, parse
from bearsearch.bench.rows import Row, table, write_json

__all__ = ["SECTIONS", "Plan", "Row", "measure", "run"]


def _vector(plan: Plan) -> Iterator[Row]:
    from bearsearch.bench.vector import section  # numpy and the peers cost a second: only when asked for

    return section.measure(plan)


SECTIONS: dict[str, Callable[[Plan], Iterator[Row]]] = {"vector": _vector}


def measure(
    sections: Sequence[str] = (),
    *,
    quick: bool = True,
    json_path: Path | None = None,
    work_dir: Path | None = None,
    embeddings: Path | None = None,
    queries: Path | None = None,
) -> list[Row]:
    """Measure ``sections`` (all of them when empty) and return their rows; parameters as in `Plan`."""
    plan = Plan(tuple(sections) or tuple(SECTIONS), quick, json_path, work_dir, embeddings, queries)
    rows = [row for name in plan.sections for row in SECTIONS[name](plan)]
    if plan.json_path is not None:
        write_json(rows, plan.json_path)
    return rows


def run(arguments: Sequence[str]) -> int:
    """Measure what command-line arguments ask for; tables go to stdout, progress to stderr. Return an exit code."""
    plan = parse(arguments, known_sections=tuple(SECTIONS))
    rows: list[Row] = []
    print(describe())
    for name in plan.sections:
        found: list[Row] = []
        for row in SECTIONS[name](plan):
            found.append(row)
            outcome = f"missing: {row.missing}" if row.missing else f"recall {row.recall:.4f}, p50 {row.p50_ms:.3f} ms"
            print(f"  {row.data} {row.peer} {row.setting}: {outcome}", file=sys.stderr, flush=True)
        print(f"\n{table(found)}", flush=True)
        rows += found
    if plan.json_path is not None:
        write_json(rows, plan.json_path)
    return 0

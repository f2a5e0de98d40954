"""Measurements that are one number each, such as a time or a size, beside the number to reach.

Lives here: the type, its table, its JSON. Not here: measuring. Settings of vector scans have rows of their
own (`rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Figure", "figure_table"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number.

    Attributes:
        section: What was measured: index, freshness, search, startup.
        name: Of what exactly, with the size of the library.
        value: The number.
        unit: Its unit.
        goal: The number to stay under, or None where there is none.
    """

    section: str
    name: str
    value: float
    unit: str
    goal: float | None = None


def figure_table(figures: Sequence[Figure]) -> str:
    """Lay figures out as text, a heading for each section.

    >>> print(figure_table([Figure(section="index", name="first, 10 notes", value=12.34, unit="ms", goal=20)]))
    index
      first, 10 notes   12.3 ms   (goal: under 20 ms)
    """
    width = max((len(figure.name) for figure in figures), default=0)
    blocks: list[str] = []
    for section in dict.fromkeys(figure.section for figure in figures):
        lines = [section]
        for figure in figures:
            if figure.section == section:
                goal = f"   (goal: under {figure.goal:g} {figure.unit})" if figure.goal is not None else ""
                lines.append(f"  {figure.name:<{width}}  {_number(figure.value):>5} {figure.unit}{goal}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

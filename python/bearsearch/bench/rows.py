"""What a measurement is, and how measurements are shown and kept.

Lives here: the row type, its table, its JSON file. Not here: measuring.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bearsearch.bench.figures import Figure

__all__ = ["Row", "missing", "table", "write_json"]


@dataclass(frozen=True)
class Row:
    """One measured setting of one peer. ``None`` means not measured, and ``missing`` says why.

    Attributes:
        peer: Name of the program or library; ours is ``bearsearch``.
        setting: How it was set up, in its own words.
        n: Vectors in the collection.
        dim: Elements of a vector.
        k: Hits asked for.
        threads: Threads that a query may use.
        recall: Mean share of the exact nearest ``k`` that was found, in [0, 1].
        p50_ms: Median time of one query, in milliseconds.
        p95_ms: 95th percentile of the same.
        build_s: Seconds from vectors at hand (in memory, or in an ordinary table) to being searchable.
        disk_bytes: Size of the files.
        rss_bytes: Anonymous memory that building (in-memory peers) or opening and querying took.
        data: The collection's name.
        bandwidth_ratio: Time of a plain read of the same codes by time of the coarse scan, medians of
            pairs measured in turn; 1 is the memory's limit. Only in our rows.
        scan_ms: Median time of the coarse stage of a query. Only in our rows.
        rescore_ms: Median time of the exact stage.
        rescored: Mean number of rows in the exact stage.
        missing: Why there is no measurement.
    """

    peer: str
    setting: str
    n: int
    dim: int
    k: int
    threads: int
    data: str
    recall: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    build_s: float | None = None
    disk_bytes: int | None = None
    rss_bytes: int | None = None
    bandwidth_ratio: float | None = None
    scan_ms: float | None = None
    rescore_ms: float | None = None
    rescored: float | None = None
    missing: str | None = None


def missing(peer: str, setting: str, reason: str, *, n: int, dim: int, k: int, threads: int, data: str) -> Row:
    """Return the row of a peer that could not be measured."""
    return Row(peer, setting, n, dim, k, threads, data, missing=reason)


# Heading, attribute, format of a value.
_COLUMNS = (
    ("threads", "threads", "{}"),
    ("recall", "recall", "{:.4f}"),
    ("p50 ms", "p50_ms", "{:.3f}"),
    ("p95 ms", "p95_ms", "{:.3f}"),
    ("build s", "build_s", "{:.2f}"),
    ("disk MB", "disk_bytes", "{:.1f}"),
    ("memory MB", "rss_bytes", "{:.1f}"),
    ("scan ms", "scan_ms", "{:.3f}"),
    ("rescore ms", "rescore_ms", "{:.3f}"),
    ("rescored", "rescored", "{:.0f}"),
    ("of read speed", "bandwidth_ratio", "{:.2f}"),
)


def table(rows: Sequence[Row]) -> str:
    """Lay rows out as text, a heading and a block for each collection, in the order they come.

    Columns that no row of a block fills are left out.

    >>> print(table([Row("us", "default", 5, 2, 1, 1, "tiny", recall=1.0), missing("them", "fast", "not installed",
    ...     n=5, dim=2, k=1, threads=1, data="tiny")]))
    tiny: 5 vectors of 2 dimensions, k = 1
      peer  setting  threads  recall
      us    default        1  1.0000
      them  fast     missing: not installed
    """
    blocks: list[str] = []
    for key in dict.fromkeys((row.data, row.n, row.dim, row.k) for row in rows):
        block = [row for row in rows if (row.data, row.n, row.dim, row.k) == key]
        data, n, dim, k = key
        heading = f"{data}: {n:,} vectors of {dim} dimensions, k = {k}"
        columns = [c for c in _COLUMNS if any(getattr(row, c[1]) is not None for row in block)]
        heads = ["peer", "setting", *(name for name, _, _ in columns)]
        full = [heads] + [
            [row.peer, row.setting, *(_cell(row, attribute, form) for _, attribute, form in columns)]
            for row in block
            if row.missing is None
        ]
        words = [[row.peer, row.setting] for row in block] + [heads[:2]]
        widths = [max(len(line[i]) for line in words) for i in (0, 1)]
        widths += [max(len(line[i]) for line in full) for i in range(2, len(heads))]
        measured = iter(full[1:])
        lines = [heads]
        for row in block:
            reason = [row.peer, row.setting, f"missing: {row.missing}"]
            lines.append(reason if row.missing is not None else next(measured))
        blocks.append("\n".join([heading, *("  " + _line(line, widths) for line in lines)]))
    return "\n\n".join(blocks)


def _cell(row: Row, attribute: str, form: str) -> str:
    value = getattr(row, attribute)
    if value is None:
        return "-"
    return form.format(value / 1e6 if attribute.endswith("_bytes") else value)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Pad words to the right and numbers to the left."""
    words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    if len(cells) > 2 and cells[2].startswith("missing"):
        return "  ".join([*words, cells[2]])
    return "  ".join([*words, *(cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True))])


def write_json(rows: Sequence[Row | Figure], path: Path) -> None:
    """Write what was measured as a JSON list of objects; what only our rows have is left out of the others."""
    ours_only = ("bandwidth_ratio", "scan_ms", "rescore_ms", "rescored", "missing")
    objects = [{k: v for k, v in asdict(row).items() if k not in ours_only or v is not None} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(objects, indent=1) + "\n", encoding="utf-8")

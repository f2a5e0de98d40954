"""What to measure and how thoroughly: the parsed arguments of the benchmark.

Lives here: arguments, their defaults and help. Not here: what a section does with them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bearsearch.errors import UsageError

__all__ = ["Plan", "parse"]


@dataclass(frozen=True)
class Plan:
    """One run of the benchmark.

    Attributes:
        sections: Names of what is measured, in order.
        quick: Small collections, under a minute in all; otherwise the full ones (minutes, gigabytes).
        json_path: Where rows are written as well, or None.
        work_dir: Folder for collections and databases, kept and used again; None: a temporary one.
        embeddings: A .npy file of real embeddings, float32 of shape (n, dim), or None.
        queries: A .npy file of query embeddings for them; None: rows of ``embeddings`` are held out.
        notes: Folders of Markdown for the section vaults, in place of the generated one.
        vectors: Sizes of the clustered collections; none takes 100,000, and 1,000,000 as well unless ``quick``.
    """

    sections: tuple[str, ...]
    quick: bool = True
    json_path: Path | None = None
    work_dir: Path | None = None
    embeddings: Path | None = None
    queries: Path | None = None
    vectors: tuple[int, ...] = ()
    notes: tuple[Path, ...] = ()


class _Parser(argparse.ArgumentParser):
    """One sentence for a call without meaning, as every command has it."""

    def error(self, message: str) -> NoReturn:
        """Refuse the call."""
        raise UsageError(f"{message}. See `bearsearch bench --help`.")


def parse(arguments: Sequence[str], *, known_sections: Sequence[str]) -> Plan:
    """Turn command-line arguments into a plan.

    The environment variable ``JSON`` stands in for ``--json``, so that ``JSON=path make bench-vector`` works.

    Raises:
        UsageError: They have no meaning.
    """
    parser = _Parser(prog="bearsearch bench", description="Measure speed on this machine, beside peers.")
    parser.add_argument("section", nargs="*", help=f"what to measure: {', '.join(known_sections)} (default: all)")
    parser.add_argument(
        "--section", dest="more", action="append", default=[], metavar="NAME", help="the same, as an option"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small collections, under a minute (the default)")
    size.add_argument(
        "--full", action="store_true", help="100,000 and 1,000,000 vectors: minutes, about 6 GB of disk and memory"
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write the rows to this file as well (default: $JSON)"
    )
    parser.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="keep collections and databases here and use them again"
    )
    parser.add_argument(
        "--embeddings", type=Path, metavar="NPY", help="real embeddings to measure too: float32, (n, dim)"
    )
    parser.add_argument(
        "--queries", type=Path, metavar="NPY", help="query embeddings for them (default: hold rows out)"
    )
    parser.add_argument(
        "--vectors", type=int, action="append", default=[], metavar="N", help="sizes of the collections of vectors"
    )
    parser.add_argument(
        "--notes", type=Path, action="append", default=[], metavar="DIR", help="folders of Markdown for section vaults"
    )
    given = parser.parse_args(list(arguments))
    sections = tuple(dict.fromkeys([*given.section, *given.more])) or tuple(known_sections)
    for name in sections:
        if name not in known_sections:
            parser.error(f"there is no section '{name}'; known are: {', '.join(known_sections)}")
    json_path = given.json or (Path(os.environ["JSON"]) if os.environ.get("JSON") else None)
    if any(count < 1 for count in given.vectors):
        parser.error("--vectors is a number of 1 or more")
    for folder in given.notes:
        if not folder.is_dir():
            parser.error(f"there is no folder '{folder}'")
    return Plan(
        sections=sections,
        quick=not given.full,
        json_path=json_path,
        work_dir=given.work_dir,
        embeddings=given.embeddings,
        queries=given.queries,
        vectors=tuple(given.vectors),
        notes=tuple(given.notes),
    )

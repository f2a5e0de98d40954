"""Connections with the vector extension loaded: ours, built here, and the published one.

Holds what several `test_vector_*.py` files need; no tests. `apsw` is used because Python's own
`sqlite3` is often built without loadable extensions.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

ROOT = Path(__file__).resolve().parents[2]


@cache
def our_extension() -> Path:
    """Build the loadable extension (incrementally, by its own Makefile) and return its path."""
    makefile = ROOT / "vendor" / "sqlite-vector"
    subprocess.run(["make", "-s", "-C", str(makefile), "vector.so"], check=True, timeout=300)
    return makefile / "build" / "vector.so"


def published_extension() -> Path | None:
    """Return the path of the binary that PyPI's `sqliteai-vector` installs, or None without it."""
    spec = find_spec("sqlite_vector")
    if spec is None or spec.origin is None:
        return None
    binaries = sorted((Path(spec.origin).parent / "binaries").glob("vector.*"))
    return binaries[0] if binaries else None


def connect(
    path: str | Path = ":memory:", *, extension: Path | None = None, flags: int | None = None
) -> apsw.Connection:
    """Open a database and load `extension` (default: ours) on that connection alone."""
    opening = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if flags is None else flags
    connection = apsw.Connection(os.fspath(path), flags=opening)
    connection.enable_load_extension(True)
    connection.load_extension(os.fspath(extension or our_extension()), "sqlite3_vector_init")
    return connection


@dataclass(frozen=True)
class Outcome:
    """What one statement gave: its rows, or the primary SQLite code of its error."""

    rows: list[tuple[Any, ...]] | None
    error: int | None
    message: str = ""


def run(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> Outcome:
    """Execute one statement and keep its error instead of raising it."""
    try:
        return Outcome(list(connection.execute(sql, arguments)), None)
    except apsw.Error as error:
        return Outcome(None, error.result, str(error))

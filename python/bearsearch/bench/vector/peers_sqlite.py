"""Engines inside SQLite: ours, sqliteai-vector, sqlite-vec.

All through `apsw`, with the same settings of the same SQLite. `build` makes the database file, `open` a new
connection for queries. The only SQL of the package is here, because SQL is what is measured.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

__all__ = ["Ours", "OursPreloaded", "PublishedFull", "PublishedInt8", "SqliteVecBit", "SqliteVecFloat"]

Floats = npt.NDArray[np.float32]


def _connect(path: Path) -> Any:
    """Open a database with WAL and enough mapped memory that pages are not copied."""
    apsw: Any = importlib.import_module("apsw")
    connection = apsw.Connection(os.fspath(path))
    connection.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 8000000000"
    ).fetchall()
    connection.enable_load_extension(True)
    return connection


def _fill(connection: Any, sql: str, vectors: Floats) -> None:
    rows: Iterable[tuple[int, bytes]] = ((i, vectors[i].tobytes()) for i in range(len(vectors)))
    with connection:
        connection.executemany(sql, rows)


class SqlitePeer:
    """What the engines inside SQLite share: a file with the rows numbered from 0."""

    name: ClassVar[str]
    setting: ClassVar[str]
    on_disk: ClassVar[bool] = True
    threads: ClassVar[int] = 1

    def prepare(self, path: Path, vectors: Floats) -> None:
        """Put the vectors into an ordinary table; not part of the build time."""
        connection = _connect(path)
        connection.execute("CREATE TABLE vectors(id INTEGER PRIMARY KEY, embedding BLOB)")
        _fill(connection, "INSERT INTO vectors VALUES (?, ?)", vectors)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()

    def build(self, path: Path, vectors: Floats) -> None:
        """Make the file ready to be searched."""
        raise NotImplementedError

    def open(self, path: Path, dim: int) -> None:
        """Open a connection for queries."""
        raise NotImplementedError

    def search(self, query: Floats, k: int) -> list[int]:
        """Return row numbers, nearest first."""
        raise NotImplementedError

    def stats(self) -> dict[str, float] | None:
        """Return what the last search did, where the engine tells."""
        return None


class _VectorFunctions(SqlitePeer):
    """The SQL interface that sqliteai-vector and our extension have in common."""

    options: ClassVar[str] = ""
    scan: ClassVar[str] = "vector_quantize_scan"
    preload: ClassVar[str | None] = None

    def _extension(self) -> Path:
        raise NotImplementedError

    def _ready(self, path: Path, dim: int) -> Any:
        connection = _connect(path)
        connection.load_extension(os.fspath(self._extension()), "sqlite3_vector_init")
        declare = "SELECT vector_init('vectors', 'embedding', ?)"
        connection.execute(declare, (f"type=FLOAT32,dimension={dim},distance=COSINE",)).fetchall()
        return connection

    def build(self, path: Path, vectors: Floats) -> None:
        """Quantize, if the setting does."""
        connection = self._ready(path, vectors.shape[1])
        if self.options:
            connection.execute("SELECT vector_quantize('vectors', 'embedding', ?)", (self.options,)).fetchall()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()

    def open(self, path: Path, dim: int) -> None:
        """Declare the column and load what the setting loads."""
        self._connection = self._ready(path, dim)
        if self.preload is not None:
            self._connection.execute(f"SELECT vector_quantize_preload('vectors', 'embedding'{self.preload})").fetchall()

    def search(self, query: Floats, k: int) -> list[int]:
        """Scan."""
        sql = f"SELECT id FROM {self.scan}('vectors', 'embedding', ?, ?)"
        return [row[0] for row in self._connection.execute(sql, (query.tobytes(), k))]


class Ours(_VectorFunctions):
    """Our default: 1-bit codes, exact rescoring from the table."""

    name = "bearsearch"
    setting = "RABITQ, rows in the table"
    options = "qtype=RABITQ"

    def _extension(self) -> Path:
        return our_extension()

    def stats(self) -> dict[str, float] | None:
        """Return the times of the last search and of a plain read of the same codes."""
        sql = "SELECT vector_quantize_stats('vectors', 'embedding')"
        return json.loads(self._connection.execute(sql).fetchall()[0][0])


class OursPreloaded(Ours):
    """The same with the vectors in memory."""

    setting = "RABITQ, rows preloaded"
    preload = ", 'rows=1'"


class OursTwoThreads(Ours):
    """The default with its helper thread, which scans of 16 MB and more wake."""

    setting = "RABITQ, rows in the table, helper thread"
    threads = 2


class OursFourBit(Ours):
    """Four bits per dimension."""

    setting = "RABITQ4, rows in the table"
    options = "qtype=RABITQ4"


class OursInt8(Ours):
    """The published INT8 quantizer on our kernels."""

    setting = "INT8 preloaded"
    options = "qtype=INT8,track=0"
    preload = ""

    def stats(self) -> dict[str, float] | None:
        """Return nothing: there is one stage only."""
        return None


class OursFifty(Ours):
    """A fixed number of candidates, 5 * k."""

    setting = "RABITQ, 12 code bytes, 50 candidates"
    options = "qtype=RABITQ,rescore=5"


class OursExact(Ours):
    """The scan of the table itself."""

    setting = "full scan, exact float32"
    options = ""
    scan = "vector_full_scan"

    def stats(self) -> dict[str, float] | None:
        """Return nothing: there is one stage only."""
        return None


class PublishedInt8(_VectorFunctions):
    """sqliteai-vector's INT8, preloaded."""

    name = "sqliteai-vector"
    setting = "INT8 preloaded"
    options = "qtype=INT8"
    preload = ""

    def _extension(self) -> Path:
        package = importlib.import_module("sqlite_vector")
        return next((Path(str(package.__file__)).parent / "binaries").glob("vector.*"))


class PublishedBit(PublishedInt8):
    """Its 1-bit codes, preloaded."""

    setting = "1BIT preloaded"
    options = "qtype=1BIT"


class PublishedFull(PublishedInt8):
    """Its scan of the table itself."""

    setting = "full scan, exact float32"
    options = ""
    scan = "vector_full_scan"
    preload = None


class SqliteVecFloat(SqlitePeer):
    """sqlite-vec's virtual table of float32; filling it is the build."""

    name = "sqlite-vec"
    setting = "float32"
    columns: ClassVar[str] = "embedding float[{dim}] distance_metric=cosine"

    def _ready(self, path: Path) -> Any:
        package: Any = importlib.import_module("sqlite_vec")
        connection = _connect(path)
        connection.load_extension(package.loadable_path(), "sqlite3_vec_init")
        return connection

    def prepare(self, path: Path, vectors: Floats) -> None:
        """Nothing: the virtual table is the only copy."""

    def build(self, path: Path, vectors: Floats) -> None:
        """Create and fill the virtual table."""
        connection = self._ready(path)
        columns = self.columns.format(dim=vectors.shape[1])
        connection.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(id INTEGER PRIMARY KEY, {columns})")
        self._fill(connection, vectors)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()

    def _fill(self, connection: Any, vectors: Floats) -> None:
        _fill(connection, "INSERT INTO vectors(id, embedding) VALUES (?, ?)", vectors)

    def open(self, path: Path, dim: int) -> None:
        """Open."""
        self._connection = self._ready(path)

    def search(self, query: Floats, k: int) -> list[int]:
        """Ask for the nearest."""
        sql = "SELECT id FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self._connection.execute(sql, (query.tobytes(), k))]


class SqliteVecBit(SqliteVecFloat):
    """Its binary codes; 50 * k candidates are measured exactly in SQL."""

    setting = "binary, rescore x50"
    columns = "coded bit[{dim}], +embedding blob"

    def _fill(self, connection: Any, vectors: Floats) -> None:
        rows = ((i, vectors[i].tobytes(), vectors[i].tobytes()) for i in range(len(vectors)))
        with connection:
            connection.executemany(
                "INSERT INTO vectors(id, coded, embedding) VALUES (?, vec_quantize_binary(?), ?)", rows
            )

    def search(self, query: Floats, k: int) -> list[int]:
        """Ask for candidates and order them."""
        sql = (
            "WITH near AS MATERIALIZED"
            " (SELECT id, embedding FROM vectors WHERE coded MATCH vec_quantize_binary(?1) AND k = ?2)"
            " SELECT id FROM near ORDER BY vec_distance_cosine(embedding, ?1) LIMIT ?3"
        )
        return [row[0] for row in self._connection.execute(sql, (query.tobytes(), 50 * k, k))]


def our_extension() -> Path:
    """Return our loadable extension, built from the sources around when it is not there.

    The wheel has the extension linked in and no loadable one; ``BEARSEARCH_VECTOR_EXTENSION`` names another.

    Raises:
        ModuleNotFoundError: no extension is named, and there are no sources or no compiler.
    """
    named = os.environ.get("BEARSEARCH_VECTOR_EXTENSION")
    if named:
        return Path(named)
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        folder = root / "vendor" / "sqlite-vector"
        if (folder / "Makefile").exists() and shutil.which("make"):
            subprocess.run(["make", "--silent", "--directory", os.fspath(folder), "vector.so"], check=True)
            return folder / "build" / "vector.so"
    raise ModuleNotFoundError(
        "no loadable build of the extension: run in a checkout, or set BEARSEARCH_VECTOR_EXTENSION"
    )

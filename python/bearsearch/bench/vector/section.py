"""Which engines are measured on which collections, and the processes that do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bearsearch.bench.plan import Plan
from bearsearch.bench.rows import Row, missing
from bearsearch.bench.vector import data, peers_memory, peers_sqlite
from bearsearch.bench.vector.data import Collection

__all__ = ["measure"]

# Classes of peers_sqlite and peers_memory by name. The quick run leaves out what takes long or shows little.
_QUICK = (
    "Ours", "OursPreloaded", "OursFourBit", "PublishedInt8", "SqliteVecFloat", "FaissRabitq", "FaissRabitqWide",
    "Turbovec", "Numpy",
)  # fmt: skip
_FULL = (
    "Ours", "OursPreloaded", "OursTwoThreads", "OursFourBit", "OursInt8", "OursExact",
    "PublishedInt8", "PublishedBit", "PublishedFull",
    "SqliteVecFloat", "SqliteVecBit", "FaissRabitq", "FaissRabitqWide", "FaissBinary", "FaissScalar", "FaissFlat",
    "UsearchInt8", "Turbovec", "Numpy",
)  # fmt: skip
_SEED = ("OursFifty", "Ours", "Turbovec", "Numpy")

# Engines that share a table of vectors, and so a database file.
_SHARED_TABLE = ("Ours", "Published")

# The number of threads, for every library that has its own idea. OPENBLAS_CORETYPE is taken out: a core type chosen
# for another machine makes peers many times slower.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "BSV_THREADS")

_TIMEOUT_S = 1800


def measure(plan: Plan) -> Iterator[Row]:
    """Yield a row for each engine on each collection, as soon as it is measured."""
    if plan.work_dir is not None:
        plan.work_dir.mkdir(parents=True, exist_ok=True)
        yield from _measure_in(plan, plan.work_dir)
        return
    with tempfile.TemporaryDirectory(prefix="bearsearch-bench-") as folder:
        yield from _measure_in(plan, Path(folder))


def _measure_in(plan: Plan, folder: Path) -> Iterator[Row]:
    _build_ours()
    names = _QUICK if plan.quick else _FULL
    budget_s = 2.0 if plan.quick else 15.0
    yield from _measure_collection(data.seed_protocol(folder), _SEED, folder, budget_s=1.0)
    if plan.embeddings is not None:
        yield from _measure_collection(
            data.from_files(folder, plan.embeddings, plan.queries), names, folder, budget_s=budget_s
        )
    for n in plan.vectors or ((100_000,) if plan.quick else (100_000, 1_000_000)):
        collection = data.clustered(folder, n, queries=100 if plan.quick else 200)
        yield from _measure_collection(collection, names, folder, budget_s=budget_s)


def _build_ours() -> None:
    """Compile our extension now, if it has to be, and not in anybody's build time."""
    try:
        os.environ["BEARSEARCH_VECTOR_EXTENSION"] = os.fspath(peers_sqlite.our_extension())
    except (ModuleNotFoundError, subprocess.CalledProcessError):
        return  # each of our rows will say that it is missing


def _measure_collection(
    collection: Collection, names: tuple[str, ...], folder: Path, *, budget_s: float
) -> Iterator[Row]:
    shared = folder / f"{collection.name}.db"
    for name in names:
        own = folder / f"{collection.name}-{name}.db"
        database = shared if name.startswith(_SHARED_TABLE) else own
        yield _measure_peer(collection, name, database, budget_s)
        _remove_database(own)
    _remove_database(shared)


def _remove_database(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def _measure_peer(collection: Collection, name: str, database: Path, budget_s: float) -> Row:
    peer: Any = getattr(peers_sqlite, name, None) or getattr(peers_memory, name)
    fixed: dict[str, Any] = {
        "n": collection.n,
        "dim": collection.dim,
        "k": collection.k,
        "threads": peer.threads,
        "data": collection.name,
    }
    values: dict[str, Any] = {}
    for phase in ("build", "query") if peer.on_disk else ("all",):
        task = {"peer": name, "folder": str(collection.folder), "k": collection.k, "database": str(database)}
        outcome = _run_worker({**task, "phase": phase, "budget_s": budget_s}, threads=peer.threads)
        if isinstance(outcome, str):
            return missing(peer.name, peer.setting, outcome, **fixed)
        values |= outcome
    return Row(peer.name, peer.setting, **fixed, **values)


def _run_worker(task: dict[str, Any], *, threads: int) -> dict[str, Any] | str:
    """Return what the worker measured, or why it did not."""
    command = [sys.executable, "-m", "bearsearch.bench.vector.worker", json.dumps(task)]
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    environment |= dict.fromkeys(_THREAD_VARIABLES, str(threads))
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=_TIMEOUT_S, encoding="utf-8", check=False
        )
    except subprocess.TimeoutExpired:
        return f"took more than {_TIMEOUT_S} s"
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = done.stderr.strip().splitlines()[-1:] or [f"ended with code {done.returncode}"]
    name, _, text = last[0].partition(": ")
    return f"not installed ({text})" if name == "ModuleNotFoundError" else last[0]

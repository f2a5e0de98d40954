"""Measures one engine on one collection, in a process of its own, and prints the row's values as JSON.

A process of its own because two SQLite libraries in one are asking for trouble, because memory can be told
apart only so, and because a crash then costs one row.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bearsearch.bench.vector import peers_memory, peers_sqlite
from bearsearch.bench.vector.peers_memory import MemoryPeer
from bearsearch.bench.vector.peers_sqlite import SqlitePeer

__all__ = ["main"]


def _anonymous_bytes() -> int:
    """Return memory of this process that belongs to no file: what an engine really holds."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _measure_queries(
    peer: MemoryPeer | SqlitePeer,
    queries: npt.NDArray[np.float32],
    truth: npt.NDArray[np.int64],
    k: int,
    budget_s: float,
) -> dict[str, Any]:
    """Time queries, every one at least once and several times within the budget; a slow engine gets fewer."""
    peer.search(queries[0], k)  # what is loaded on first use is not a query's time
    times: list[float] = []
    found = asked = 0
    deadline = time.perf_counter() + budget_s
    for turn in range(20):
        for query, nearest in zip(queries, truth, strict=True):
            start = time.perf_counter()
            rows = peer.search(query, k)
            end = time.perf_counter()
            times.append((end - start) * 1e3)
            if turn == 0:
                found += len(set(rows) & set(nearest.tolist()))
                asked += k
            if end > deadline and len(times) >= 10:
                break
        else:
            continue
        break
    return {
        "recall": found / asked,
        "p50_ms": float(np.percentile(times, 50)),
        "p95_ms": float(np.percentile(times, 95)),
    }


def _measure_stages(peer: SqlitePeer, queries: npt.NDArray[np.float32], k: int) -> dict[str, Any]:
    """Ask each query again for what its stages took; the plain read is timed in turn with the scans."""
    stats: list[dict[str, float]] = []
    for query in queries:
        peer.search(query, k)
        told = peer.stats()
        if told is None or not told["scan_us"]:
            return {}
        stats.append(told)
    scan, read = (statistics.median(s[key] for s in stats) for key in ("scan_us", "read_us"))
    return {
        "scan_ms": scan / 1e3,
        "rescore_ms": statistics.median(s["rescore_us"] for s in stats) / 1e3,
        "rescored": statistics.mean(s["rescored"] for s in stats),
        "bandwidth_ratio": read / scan,
    }


def _file_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def main(arguments: list[str]) -> int:
    """Run with JSON ``{"peer", "folder", "k", "database", "phase", "budget_s"}``; print a JSON object.

    Engines inside SQLite are called twice: with the phase ``build``, and with ``query`` in a fresh process.
    """
    task = json.loads(arguments[0])
    folder = Path(task["folder"])
    vectors: npt.NDArray[np.float32] = np.load(folder / "vectors.npy", mmap_mode="r")
    queries, truth = np.load(folder / "queries.npy"), np.load(folder / "truth.npy")
    peer: Any = getattr(peers_sqlite, task["peer"], None) or getattr(peers_memory, task["peer"])
    peer = peer()
    values: dict[str, Any] = {}
    if isinstance(peer, SqlitePeer):
        path = Path(task["database"])
        if task["phase"] == "build":
            if not path.exists():
                peer.prepare(path, vectors)
            start = time.perf_counter()
            peer.build(path, vectors)
            values["build_s"] = time.perf_counter() - start
            values["disk_bytes"] = _file_bytes(path)
        else:
            before = _anonymous_bytes()
            peer.open(path, vectors.shape[1])
            values |= _measure_queries(peer, queries, truth, task["k"], task["budget_s"])
            values["rss_bytes"] = max(0, _anonymous_bytes() - before)
            values |= _measure_stages(peer, queries, task["k"])
    else:
        before = _anonymous_bytes()
        start = time.perf_counter()
        peer.build(vectors)
        values["build_s"] = time.perf_counter() - start
        values |= _measure_queries(peer, queries, truth, task["k"], task["budget_s"])
        values["rss_bytes"] = max(0, _anonymous_bytes() - before)
    print(json.dumps(values))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

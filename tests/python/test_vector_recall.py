"""How much of the truth the default choice of candidates finds, and at what price.

Clustered vectors with fixed seeds; recall@10 against exact float32. The floors are what is promised
(0.99), not what is usually reached.
"""

from __future__ import annotations

import json

import apsw
import numpy as np
import numpy.typing as npt
import pytest

from vector_support import connect

K = 10
Floats = npt.NDArray[np.float32]


def clustered(
    rows: int, dim: int, clusters: int, noise: float, *, seed: int, queries: int = 50
) -> tuple[Floats, Floats]:
    """Rows and queries of unit length around common centres, off the origin as embeddings are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dim)) + 0.5 * rng.standard_normal(dim)
    points = centres[rng.integers(0, clusters, rows + queries)] + noise * rng.standard_normal((rows + queries, dim))
    unit = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit[:rows], unit[rows:]


def table_of(vectors: Floats, options: str, *, metric: str = "COSINE") -> apsw.Connection:
    connection = connect()
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, row.tobytes()) for i, row in enumerate(vectors)])
    connection.execute(
        "SELECT vector_init('t', 'v', ?)", (f"dimension={vectors.shape[1]},distance={metric}",)
    ).fetchall()
    connection.execute("SELECT vector_quantize('t', 'v', ?)", (options,)).fetchall()
    return connection


def recall_and_rescored(connection: apsw.Connection, vectors: Floats, queries: Floats) -> tuple[float, float]:
    """Mean recall@10, and the mean number of rows whose exact distance was computed."""
    found, rescored = 0, 0
    for query in queries:
        truth = set(np.argsort(-(vectors @ query))[:K].tolist())
        got = connection.execute("SELECT id FROM vector_quantize_scan('t', 'v', ?, ?)", (query.tobytes(), K))
        found += len(truth & {row[0] for row in got})
        stats = connection.execute("SELECT vector_quantize_stats('t', 'v')").fetchall()[0][0]
        rescored += json.loads(stats)["rescored"]
    return found / (K * len(queries)), rescored / len(queries)


@pytest.mark.parametrize("metric", ["COSINE", "L2"])
@pytest.mark.parametrize(("clusters", "noise"), [(10, 0.3), (40, 0.5), (200, 1.0), (2000, 1.0)])
@pytest.mark.parametrize("dim", [64, 384])
def test_default_candidates_reach_the_promised_recall(dim: int, clusters: int, noise: float, metric: str) -> None:
    vectors, queries = clustered(6000, dim, clusters, noise, seed=dim + clusters)
    for quantizer, most in (("RABITQ", 0.25), ("RABITQ4", 0.06)):
        connection = table_of(vectors, f"qtype={quantizer}", metric=metric)
        recall, rescored = recall_and_rescored(connection, vectors, queries)
        assert recall >= 0.99
        assert rescored <= most * len(vectors)


def test_codes_are_made_around_the_mean_of_the_rows() -> None:
    vectors, _ = clustered(1000, 48, 10, 0.5, seed=1)
    connection = table_of(vectors, "qtype=RABITQ")
    stored = connection.execute("SELECT value FROM _sqliteai_vector WHERE key = 'mean'").fetchall()[0][0]
    assert np.frombuffer(stored, np.float32) == pytest.approx(vectors.mean(axis=0), abs=1e-6)


def test_twelve_bytes_a_vector_and_fifty_candidates_suffice_for_1500_clustered_documents() -> None:
    vectors, queries = clustered(1500, 64, 50, 0.3, seed=42)
    connection = table_of(vectors, "qtype=RABITQ,rescore=5")
    total = connection.execute("SELECT total(length(data)), total(counter) FROM vector1_t_v").fetchall()[0]
    assert total == (1500 * (8 + 12), 1500)  # a rowid and 12 bytes of code each
    recall, rescored = recall_and_rescored(connection, vectors, queries)
    assert recall >= 0.99
    assert rescored == 50

"""Quantized scans find what an exact scan finds: while rows change, filtered, from any connection.

The tables here are small and the quantizers are told to rescore every candidate (`rescore=1000`), so
that answers must equal the exact ones; how good the default's choice of candidates is, is a matter of
the benchmark and of `test_vector_recall.py`.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from vector_support import connect, run

DIM = 24
OWN = ["RABITQ", "RABITQ4"]
PUBLISHED = ["INT8", "UINT8", "1BIT"]


def vector(rng: random.Random, dim: int = DIM) -> bytes:
    return struct.pack(f"<{dim}f", *(rng.gauss(0.2, 1) for _ in range(dim)))


def open_table(path: str | Path = ":memory:", *, metric: str = "COSINE") -> apsw.Connection:
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v BLOB)")
    init(connection, metric)
    return connection


def init(connection: apsw.Connection, metric: str = "COSINE") -> None:
    connection.execute("SELECT vector_init('t', 'v', ?)", (f"dimension={DIM},distance={metric}",)).fetchall()


def insert(connection: apsw.Connection, rng: random.Random, ids: Iterable[int]) -> None:
    with connection:
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, vector(rng)) for i in ids])


def quantize(connection: apsw.Connection, options: str) -> int:
    return connection.execute("SELECT vector_quantize('t', 'v', ?)", (options,)).fetchall()[0][0]


def pack(ids: Iterable[int]) -> bytes:
    return b"".join(struct.pack("<q", i) for i in ids)


def hits(connection: apsw.Connection, scan: str, query: bytes, k: int, ids: bytes | None = None) -> list[Any]:
    return list(connection.execute(f"SELECT id, distance FROM {scan}('t', 'v', ?, ?, ?)", (query, k, ids)))


def assert_same(connection: apsw.Connection, query: bytes, k: int, ids: bytes | None = None) -> None:
    """The quantized scan gives exactly what the exact scan gives on the same connection."""
    got = hits(connection, "vector_quantize_scan", query, k, ids)
    want = hits(connection, "vector_full_scan", query, k, ids)
    assert got == want


@pytest.mark.parametrize("metric", ["L2", "SQUARED_L2", "COSINE", "DOT"])
@pytest.mark.parametrize("quantizer", OWN)
def test_two_stages_find_the_exact_neighbours(quantizer: str, metric: str) -> None:
    rng = random.Random(11)
    connection = open_table(metric=metric)
    insert(connection, rng, range(1, 1500))
    assert quantize(connection, f"qtype={quantizer},rescore=1000") == 1499
    for k in (1, 3, 50, 1499, 10**15):
        assert_same(connection, vector(rng), k)


@pytest.mark.parametrize("quantizer", OWN)
@pytest.mark.parametrize("kind", ["FLOAT16", "FLOATB16", "INT8", "UINT8"])
def test_own_quantizers_serve_every_element_type(quantizer: str, kind: str) -> None:
    rng = random.Random(12)
    connection = connect()
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
    size = {"FLOAT16": 2, "FLOATB16": 2, "INT8": 1, "UINT8": 1}[kind] * DIM
    for i in range(700):
        numbers = [rng.gauss(0, 1) for _ in range(DIM)]
        blob = np.array(numbers, np.float16).tobytes() if kind == "FLOAT16" else None
        if kind == "FLOATB16":
            blob = b"".join(struct.pack("<f", x)[2:] for x in numbers)
        connection.execute("INSERT INTO t VALUES (?, ?)", (i, blob or rng.randbytes(size)))
    connection.execute("SELECT vector_init('t', 'v', ?)", (f"dimension={DIM},type={kind},distance=L2",))
    quantize(connection, f"qtype={quantizer},rescore=1000")
    query = connection.execute("SELECT v FROM t WHERE id = 77").fetchall()[0][0]
    assert_same(connection, query, 9)
    assert hits(connection, "vector_quantize_scan", query, 1)[0] == (77, 0.0)


@pytest.mark.parametrize("quantizer", OWN + PUBLISHED)
def test_rows_are_found_and_forgotten_the_moment_they_change(quantizer: str) -> None:
    """Random inserts, updates, deletes and id changes, with a re-quantization now and then."""
    rng = random.Random(13)
    connection = open_table(metric="L2")
    insert(connection, rng, range(1000))
    options = f"qtype={quantizer},rescore=1000"
    quantize(connection, options)
    present = set(range(1000))
    for step in range(120):
        action = rng.choice(["insert", "gap", "delete", "update", "move", "null", "range", "replace"])
        if action == "insert":
            insert(connection, rng, range(max(present) + 1, max(present) + 1 + rng.randint(1, 40)))
        elif action == "gap":
            spare = [i for i in range(-50, max(present)) if i not in present]
            insert(connection, rng, rng.sample(spare, min(5, len(spare))))
        elif action == "delete":
            connection.execute("DELETE FROM t WHERE id = ?", (rng.choice(sorted(present)),))
        elif action == "update":
            connection.execute("UPDATE t SET v = ? WHERE id % 97 = ?", (vector(rng), rng.randint(0, 96)))
        elif action == "move":
            connection.execute("UPDATE OR IGNORE t SET id = id + 1 WHERE id = ?", (rng.choice(sorted(present)),))
        elif action == "null":
            connection.execute("UPDATE t SET v = NULL WHERE id = ?", (rng.choice(sorted(present)),))
        elif action == "replace":
            connection.execute("INSERT OR REPLACE INTO t VALUES (?, ?)", (rng.choice(sorted(present)), vector(rng)))
        else:
            low = rng.choice(sorted(present))
            connection.execute("DELETE FROM t WHERE id BETWEEN ? AND ?", (low, low + rng.randint(0, 30)))
        present = {row[0] for row in connection.execute("SELECT id FROM t")}
        if step % 10 == 9:
            count = connection.execute("SELECT count(v) FROM t").fetchall()[0][0]
            assert quantize(connection, options) == count
            assert list(connection.execute("SELECT count(*) FROM vectorlog_t_v")) == [(0,)]
        assert_same(connection, vector(rng), rng.choice([1, 7, 40]))


@pytest.mark.parametrize("quantizer", OWN + PUBLISHED)
def test_incremental_codes_equal_those_of_a_full_quantization(quantizer: str) -> None:
    rng = random.Random(14)
    connection = open_table()
    insert(connection, rng, range(0, 3000, 3))
    quantize(connection, f"qtype={quantizer}")
    shadow = "vector1_t_v" if quantizer in OWN else "vector0_t_v"
    parameters = dict(
        connection.execute("SELECT key, value FROM _sqliteai_vector WHERE key NOT IN ('stamp', 'generation')")
    )
    for ids in (range(1, 300, 3), range(4000, 4400), range(-10, 0)):
        with connection:  # copies of what is there: the 8-bit range stays the same
            connection.executemany(
                "INSERT INTO t SELECT ?, v FROM t WHERE id = ?", [(i, 3 * (abs(i) % 900)) for i in ids]
            )
        connection.execute("DELETE FROM t WHERE id % 41 = 0")
        quantize(connection, "")
    after = dict(connection.execute("SELECT key, value FROM _sqliteai_vector WHERE key NOT IN ('stamp', 'generation')"))
    assert {k: v for k, v in after.items() if k != "count"} == {k: v for k, v in parameters.items() if k != "count"}

    def records() -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for first, last, counter, data in connection.execute(
            f"SELECT rowid1, rowid2, counter, data FROM {shadow} ORDER BY rowid1"
        ):
            size = len(data) // counter
            ids = [struct.unpack_from("<q", data, size * i)[0] for i in range(counter)]
            assert ids == sorted(ids)
            assert ids[0] == first
            assert ids[-1] == last
            found.update((i, data[size * n + 8 : size * (n + 1)]) for n, i in enumerate(ids))
        return found

    merged = records()
    assert sorted(merged) == [row[0] for row in connection.execute("SELECT id FROM t ORDER BY id")]
    if quantizer in PUBLISHED:
        quantize(connection, "full=1")
        assert records() == merged
    else:  # a full quantization takes another mean; each code depends on its row and the mean alone
        rows: dict[bytes, bytes] = {}
        for i, blob in connection.execute("SELECT id, v FROM t"):
            assert rows.setdefault(blob, merged[i]) == merged[i]


def test_a_small_change_is_a_small_write(tmp_path: Path) -> None:
    rng = random.Random(15)
    connection = open_table(tmp_path / "index.db")
    insert(connection, rng, range(20000))
    quantize(connection, "qtype=RABITQ")
    before = dict(connection.execute("SELECT rowid1, version FROM vector1_t_v"))
    insert(connection, rng, [50000])
    connection.execute("DELETE FROM t WHERE id = 77")
    quantize(connection, "")
    after = dict(connection.execute("SELECT rowid1, version FROM vector1_t_v"))
    assert len(before) == 79
    assert sum(after.get(first) != version for first, version in before.items()) == 2


def test_nothing_to_do_writes_nothing(tmp_path: Path) -> None:
    rng = random.Random(16)
    path = tmp_path / "index.db"
    connection = open_table(path)
    insert(connection, rng, range(500))
    quantize(connection, "qtype=RABITQ")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert quantize(connection, "") == 500
    assert Path(f"{path}-wal").stat().st_size == 0


@pytest.mark.parametrize("quantizer", OWN + PUBLISHED)
def test_other_connections_see_changes_with_their_own_snapshot(tmp_path: Path, quantizer: str) -> None:
    rng = random.Random(17)
    path = tmp_path / "index.db"
    writer = open_table(path)
    insert(writer, rng, range(2000))
    quantize(writer, f"qtype={quantizer},rescore=1000")
    reader = connect(path, flags=apsw.SQLITE_OPEN_READONLY)
    init(reader)
    query = vector(rng)
    assert_same(reader, query, 10)

    reader.execute("BEGIN")
    old = hits(reader, "vector_quantize_scan", query, 10)
    with writer:
        writer.execute("INSERT INTO t VALUES (5000, ?)", (query,))
        writer.execute("DELETE FROM t WHERE id = ?", (old[0][0],))
    assert hits(writer, "vector_quantize_scan", query, 1)[0][0] == 5000
    assert hits(reader, "vector_quantize_scan", query, 10) == old
    quantize(writer, "")
    assert hits(reader, "vector_quantize_scan", query, 10) == old
    reader.execute("COMMIT")
    new = hits(reader, "vector_quantize_scan", query, 10)
    assert new[0][0] == 5000
    assert old[0][0] not in [i for i, _ in new]
    assert_same(reader, query, 10)


def test_a_program_without_the_extension_keeps_the_log(tmp_path: Path) -> None:
    rng = random.Random(18)
    path = tmp_path / "index.db"
    connection = open_table(path)
    insert(connection, rng, range(600))
    quantize(connection, "qtype=RABITQ,rescore=1000")
    plain = apsw.Connection(str(path))
    query = vector(rng)
    plain.execute("INSERT OR FAIL INTO t VALUES (9000, ?)", (query,))
    plain.execute("INSERT OR REPLACE INTO t VALUES (9000, ?)", (query,))
    plain.execute("UPDATE OR FAIL t SET v = v WHERE id < 100")
    plain.execute("DELETE FROM t WHERE id BETWEEN 200 AND 300")
    assert hits(connection, "vector_quantize_scan", query, 1)[0][0] == 9000
    assert_same(connection, query, 500)


def test_a_lost_log_leads_to_an_exact_scan(tmp_path: Path) -> None:
    rng = random.Random(19)
    path = tmp_path / "index.db"
    connection = open_table(path)
    insert(connection, rng, range(600))
    quantize(connection, "qtype=RABITQ")
    plain = apsw.Connection(str(path))
    plain.execute("DROP TRIGGER vectorlog_t_v_insert")
    query = vector(rng)
    plain.execute("INSERT INTO t VALUES (9000, ?)", (query,))
    assert hits(connection, "vector_quantize_scan", query, 1)[0][0] == 9000
    quantize(connection, "")
    assert list(connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")) == [(3,)]
    assert hits(connection, "vector_quantize_scan", query, 1)[0][0] == 9000
    connection.execute("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
    insert(connection, rng, range(5))
    assert_same(connection, query, 10)


def test_a_rolled_back_quantization_leaves_the_former_codes(tmp_path: Path) -> None:
    rng = random.Random(20)
    connection = open_table(tmp_path / "index.db")
    insert(connection, rng, range(800))
    quantize(connection, "qtype=RABITQ,rescore=1000")
    query = vector(rng)
    connection.execute("BEGIN")
    insert(connection, rng, range(800, 900))
    quantize(connection, "")
    assert_same(connection, query, 20)
    connection.execute("ROLLBACK")
    assert_same(connection, query, 20)
    insert(connection, rng, range(800, 810))
    quantize(connection, "")
    assert_same(connection, query, 20)


@pytest.mark.parametrize("scan", ["vector_full_scan", "vector_quantize_scan"])
@pytest.mark.parametrize("quantizer", OWN + PUBLISHED)
def test_a_filter_is_applied_before_the_nearest_are_chosen(quantizer: str, scan: str) -> None:
    rng = random.Random(21)
    connection = open_table(metric="L2")
    insert(connection, rng, range(0, 4000, 2))
    quantize(connection, f"qtype={quantizer},rescore=1000")
    insert(connection, rng, range(1, 200, 2))
    connection.execute("DELETE FROM t WHERE id BETWEEN 100 AND 120")
    rows = dict(connection.execute("SELECT id, v FROM t"))
    for n in (0, 1, 5, 100, 700, 1500):
        ids = [rng.randint(-100, 4100) for _ in range(n)] + [2**63 - 1, -(2**63)]
        query = vector(rng)
        q = np.frombuffer(query, np.float32).astype(np.float64)
        exact = sorted(
            (float(np.sqrt(((np.frombuffer(rows[i], np.float32) - q) ** 2).sum())), i) for i in set(ids) if i in rows
        )
        for k in (1, 8, 3000):
            got = hits(connection, scan, query, k, pack(ids))
            assert [i for i, _ in got] == [i for _, i in exact[:k]]
            assert [d for _, d in got] == pytest.approx([d for d, _ in exact[:k]], rel=1e-5)


@pytest.mark.parametrize("quantizer", OWN + PUBLISHED)
def test_streaming_gives_every_live_row_once_in_rowid_order(quantizer: str) -> None:
    rng = random.Random(22)
    connection = open_table()
    insert(connection, rng, range(0, 900, 2))
    quantize(connection, f"qtype={quantizer}")
    insert(connection, rng, [-5, 7, 901])
    connection.execute("DELETE FROM t WHERE id = 8")
    connection.execute("UPDATE t SET v = v || x'00' WHERE id = 10")
    live = [row[0] for row in connection.execute("SELECT id FROM t ORDER BY id")]
    sql = "SELECT id FROM vector_quantize_scan('t', 'v', ?)"
    assert [row[0] for row in connection.execute(sql, (vector(rng),))] == live
    some = live[::7]
    filtered = f"{sql} WHERE filter = ?"
    assert [row[0] for row in connection.execute(filtered, (vector(rng), pack(some)))] == some


@pytest.mark.parametrize("quantizer", OWN)
def test_estimates_are_returned_when_rescoring_is_off(quantizer: str) -> None:
    rng = random.Random(23)
    connection = open_table(metric="L2")
    insert(connection, rng, range(2000))
    quantize(connection, f"qtype={quantizer},rescore=0")
    query = vector(rng)
    estimated = dict(hits(connection, "vector_quantize_scan", query, 2000))
    exact = dict(hits(connection, "vector_full_scan", query, 2000))
    assert estimated.keys() == exact.keys()
    errors = np.array([estimated[i] - exact[i] for i in exact])
    assert 0 < np.abs(errors).mean() < (1.2 if quantizer == "RABITQ" else 0.2)


@pytest.mark.parametrize("rows", [0, 1])
def test_preloading_changes_no_answer(tmp_path: Path, rows: int) -> None:
    rng = random.Random(24)
    path = tmp_path / "index.db"
    connection = open_table(path)
    insert(connection, rng, range(1500))
    quantize(connection, "qtype=RABITQ,rescore=1000")
    connection.execute("UPDATE t SET v = ? WHERE id = 3", (vector(rng),))
    connection.execute("SELECT vector_quantize_preload('t', 'v', ?)", (f"rows={rows}",)).fetchall()
    for _ in range(5):
        query = vector(rng)
        assert_same(connection, query, 12)
        connection.execute("UPDATE t SET v = ? WHERE id = ?", (query, rng.randint(0, 1499)))
        connection.execute("DELETE FROM t WHERE id = ?", (rng.randint(0, 1499),))
        assert_same(connection, query, 12)
        quantize(connection, "")
        assert_same(connection, query, 12)


def test_tracking_can_be_left_out() -> None:
    rng = random.Random(25)
    connection = open_table()
    insert(connection, rng, range(700))
    quantize(connection, "qtype=RABITQ,track=0,rescore=1000")
    query = vector(rng)
    assert_same(connection, query, 10)
    before = hits(connection, "vector_quantize_scan", query, 10)
    connection.execute("INSERT INTO t VALUES (9000, ?)", (query,))
    assert hits(connection, "vector_quantize_scan", query, 10) == before
    assert list(connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")) == [(0,)]
    quantize(connection, "")
    assert hits(connection, "vector_quantize_scan", query, 1)[0][0] == 9000


def test_changing_the_quantizer_leaves_no_codes_of_the_other() -> None:
    rng = random.Random(26)
    connection = open_table()
    insert(connection, rng, range(400))
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'vector[01]*'"
    quantize(connection, "qtype=RABITQ")
    assert list(connection.execute(names)) == [("vector1_t_v",)]
    quantize(connection, "qtype=INT8")
    assert list(connection.execute(names)) == [("vector0_t_v",)]
    quantize(connection, "qtype=RABITQ4")
    assert list(connection.execute(names)) == [("vector1_t_v",)]
    connection.execute("SELECT vector_quantize_cleanup('t', 'v')").fetchall()
    assert list(connection.execute("SELECT name FROM sqlite_schema WHERE name NOT IN ('t', '_sqliteai_vector')"
                                   " AND name NOT GLOB 'sqlite*'")) == []  # fmt: skip
    assert run(connection, "SELECT * FROM vector_quantize_scan('t', 'v', ?, 1)", (vector(rng),)).error is not None


def test_distances_that_a_quantizer_cannot_serve_are_refused() -> None:
    rng = random.Random(27)
    connection = open_table(metric="L1")
    insert(connection, rng, range(10))
    outcome = run(connection, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ')")
    assert outcome.error == apsw.SQLITE_MISUSE
    assert "L1" in outcome.message


def test_codes_made_for_another_distance_are_refused(tmp_path: Path) -> None:
    rng = random.Random(28)
    path = tmp_path / "index.db"
    connection = open_table(path, metric="COSINE")
    insert(connection, rng, range(300))
    quantize(connection, "qtype=RABITQ")
    other = connect(path)
    init(other, "L2")
    outcome = run(other, "SELECT * FROM vector_quantize_scan('t', 'v', ?, 1)", (vector(rng),))
    assert outcome.error is not None
    assert "another distance" in outcome.message


@pytest.mark.parametrize("blob", [b"1234567", "text", 5, b"123456789"])
def test_a_filter_that_is_no_list_of_rowids_is_refused(blob: Any) -> None:
    rng = random.Random(29)
    connection = open_table()
    insert(connection, rng, range(3))
    outcome = run(connection, "SELECT * FROM vector_full_scan('t', 'v', ?, 1, ?)", (vector(rng), blob))
    assert outcome.error == apsw.SQLITE_ERROR
    assert "filter" in outcome.message


def test_infinite_and_nan_rows_are_treated_as_by_the_exact_scan() -> None:
    for metric in ("L2", "DOT", "COSINE"):
        rng = random.Random(30)
        connection = open_table(metric=metric)
        insert(connection, rng, range(900))
        for i, odd in enumerate([float("inf"), float("-inf"), float("nan"), 3e38, -3e38, 1e-40]):
            numbers = [0.5] * DIM
            numbers[i] = odd
            connection.execute("UPDATE t SET v = ? WHERE id = ?", (struct.pack(f"<{DIM}f", *numbers), 100 * i))
        quantize(connection, "qtype=RABITQ,rescore=1000")
        for query in (
            vector(rng),
            struct.pack(f"<{DIM}f", *([0.0] * DIM)),
            struct.pack(f"<{DIM}f", float("inf"), *([1.0] * (DIM - 1))),
        ):
            assert_same(connection, query, 20)


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 9, 15, 64, 65, 100, 384, 4096])
def test_any_dimension_can_be_quantized(dim: int) -> None:
    rng = random.Random(dim)
    connection = connect()
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, vector(rng, dim)) for i in range(300)])
    connection.execute("SELECT vector_init('t', 'v', ?)", (f"dimension={dim}",)).fetchall()
    for quantizer in OWN:
        quantize(connection, f"qtype={quantizer},rescore=1000")
        for _ in range(3):
            assert_same(connection, vector(rng, dim), 10)


def test_scalar_distances_equal_those_of_the_scans() -> None:
    rng = random.Random(31)
    for metric, function in [("L2", "l2"), ("L1", "l1"), ("COSINE", "cosine"), ("DOT", "dot")]:
        connection = open_table(metric=metric)
        insert(connection, rng, range(50))
        query = vector(rng)
        scanned = hits(connection, "vector_full_scan", query, 50)
        plain = f"SELECT id, vector_distance_{function}(v, ?) AS d FROM t ORDER BY d, id"
        assert list(connection.execute(plain, (query,))) == scanned
        of_pairs = f"SELECT vector_distance_{function}(a.v, b.v), vector_distance_{function}(b.v, a.v) FROM t a, t b"
        assert all(a == pytest.approx(b, abs=1e-6) for a, b in connection.execute(of_pairs))


@pytest.mark.parametrize(("sql", "word"), [
    ("vector_distance_l2('[1,2]', '[1]')", "different sizes"),
    ("vector_distance_l2(7, '[1]')", "argument 1"),
    ("vector_distance_l2('[1]', 7)", "argument 2"),
    ("vector_distance_l2('[1]', '[a]')", "expected a number"),
    ("vector_distance_l2('[1]', x'0102')", "no vector"),
    ("vector_distance_cosine('[1]', '[1]', 'NOPE')", "unknown vector type"),
])  # fmt: skip
def test_scalar_distances_refuse_what_is_no_pair_of_vectors(sql: str, word: str) -> None:
    outcome = run(connect(), f"SELECT {sql}")
    assert outcome.error == apsw.SQLITE_ERROR
    assert word in outcome.message


def test_scalar_distances_take_types_and_null() -> None:
    connection = connect()
    assert list(connection.execute("SELECT vector_distance_l2(NULL, '[1]'), vector_distance_l2('[1]', NULL)")) == [
        (None, None)
    ]
    assert list(connection.execute("SELECT vector_distance_l2(x'0305', '[0,1]', 'INT8')")) == [(5.0,)]
    assert list(connection.execute("SELECT vector_distance_l1('[1,1,0]', '[0,1,1]', 'BIT')")) == [(2.0,)]

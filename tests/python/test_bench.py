"""The benchmark measures what it says it measures, and names what it could not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bearsearch import UsageError
from bearsearch.bench import SECTIONS, Plan, run
from bearsearch.bench.plan import parse
from bearsearch.bench.rows import Row, missing, table, write_json
from bearsearch.bench.vaults import vaults
from bearsearch.bench.vector import data, section

KEYS = {
    "peer",
    "setting",
    "n",
    "dim",
    "k",
    "threads",
    "recall",
    "p50_ms",
    "p95_ms",
    "build_s",
    "disk_bytes",
    "rss_bytes",
    "data",
}


def rows_of(folder: Path, names: tuple[str, ...]) -> list[Row]:
    collection = data.seed_protocol(folder)
    return list(section._measure_collection(collection, names, folder, budget_s=0.1))  # pyright: ignore[reportPrivateUsage]


def test_ours_and_a_peer_are_measured_against_the_same_truth(tmp_path: Path) -> None:
    ours, published, numpy = rows_of(tmp_path, ("OursFifty", "PublishedInt8", "Numpy"))
    assert [row.missing for row in (ours, published, numpy)] == [None, None, None]
    assert numpy.recall == 1.0
    assert ours.peer == "bearsearch"
    assert ours.recall is not None
    assert ours.recall >= 0.99
    assert ours.rescored == 50
    assert ours.bandwidth_ratio is not None
    assert published.peer == "sqliteai-vector"
    assert published.bandwidth_ratio is None
    assert published.recall is not None
    assert 0.8 < published.recall <= 1.0


def test_an_engine_that_is_not_installed_is_named_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modules").mkdir()
    stub = "raise ModuleNotFoundError(\"No module named 'turbovec'\")"
    (tmp_path / "modules" / "turbovec.py").write_text(stub, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"), prepend=":")
    (row,) = rows_of(tmp_path, ("Turbovec",))
    assert row.missing == "not installed (No module named 'turbovec')"
    assert "turbovec" in table([row])


def test_json_has_the_promised_keys_and_ours_has_more(tmp_path: Path) -> None:
    ours = Row("bearsearch", "s", 1, 2, 3, 1, "d", recall=1.0, p50_ms=1.0, bandwidth_ratio=0.9)
    peer = missing("x", "s", "not installed", n=1, dim=2, k=3, threads=1, data="d")
    write_json([ours, peer], tmp_path / "deep" / "rows.json")
    first, second = json.loads((tmp_path / "deep" / "rows.json").read_text(encoding="utf-8"))
    assert first.keys() == KEYS | {"bandwidth_ratio"}
    assert second.keys() == KEYS | {"missing"}


def test_the_json_path_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JSON", raising=False)
    assert parse([], known_sections=["vector"]) == Plan(("vector",))
    monkeypatch.setenv("JSON", str(tmp_path / "rows.json"))
    assert parse(["--full"], known_sections=["vector"]) == Plan(
        ("vector",), quick=False, json_path=tmp_path / "rows.json"
    )


def test_sections_may_be_named_either_way_and_unknown_ones_are_refused() -> None:
    assert parse(["vector", "--section", "vector"], known_sections=["vector", "text"]).sections == ("vector",)
    assert parse([], known_sections=["vector", "text"]).sections == ("vector", "text")
    with pytest.raises(UsageError) as refused:
        run(["nonsense"])
    assert all(name in str(refused.value) for name in ("nonsense", *SECTIONS))


def test_own_folders_are_measured_in_place_of_a_generated_one(tmp_path: Path) -> None:
    notes = tmp_path / "mine"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\n[[B]]\n", encoding="utf-8")

    figures = list(vaults(parse(["vaults", "--notes", str(notes)], known_sections=["vaults"])))

    assert [figure.name for figure in figures] == ["mine, first text index, 1 notes", "mine, no-change check"]
    assert all(figure.value > 0 for figure in figures)
    with pytest.raises(UsageError, match="there is no folder"):
        parse(["vaults", "--notes", str(tmp_path / "nowhere")], known_sections=["vaults"])


def test_collections_are_the_same_every_time_and_their_truth_is_exact(tmp_path: Path) -> None:
    first = data.clustered(tmp_path / "a", 3000, dim=32, clusters=40, queries=20)
    second = data.clustered(tmp_path / "b", 3000, dim=32, clusters=40, queries=20)
    assert (first.vectors() == second.vectors()).all()
    assert (first.queries() == second.queries()).all()
    exact = np.argsort(-(first.queries() @ first.vectors().T), axis=1)[:, :10]
    assert (first.truth() == exact).all()
    assert np.linalg.norm(first.vectors(), axis=1) == pytest.approx(1, abs=1e-5)


def test_real_embeddings_are_taken_from_files_and_wrong_ones_refused(tmp_path: Path) -> None:
    rows = np.random.default_rng(3).standard_normal((200, 8)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    collection = data.from_files(tmp_path, tmp_path / "rows.npy", None)
    assert (collection.n, len(collection.queries())) == (196, 4)
    np.save(tmp_path / "flat.npy", rows.astype(np.float64))
    with pytest.raises(ValueError, match="float32 of shape"):
        data.from_files(tmp_path, tmp_path / "flat.npy", None)

"""Retrieval quality: the arithmetic, the datasets that are read, the command, and floors on the project's own queries.

The floors are a little below what was measured (benches/runs/), so that a change which makes search worse fails here.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bearsearch import Index, UsageError
from bearsearch.demo.library import create_bear_library
from bearsearch.eval import Evaluated, as_json, as_text, evaluate, evaluate_own, load
from bearsearch.eval.metrics import mrr_at_k, ndcg_at_k, paired_p_value, percentile, recall_at_k
from bearsearch.eval.own import misspelt, own_queries

DEMO = Path(__file__).parent.parent.parent / "python" / "bearsearch" / "demo"


def beir(folder: Path) -> Path:
    """Three documents and two judged queries, one without an answer."""
    folder.mkdir()
    documents = [
        {"_id": "a", "title": "Bread", "text": "Feed the sourdough starter daily."},
        {"_id": "b", "title": "", "text": "The night train to Venice leaves at nine."},
        {"_id": "c", "title": "Taxes", "text": "The deadline for the declaration is in May."},
    ]
    queries = [
        {"_id": "1", "text": "sourdough"},
        {"_id": "2", "text": "train deadline"},
        {"_id": "3", "text": "whales"},
    ]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n2\tc\t1\n2\ta\t-1\n3\ta\t0\n"
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_metrics_of_a_perfect_a_reversed_and_an_empty_ranking() -> None:
    gains = {"a": 3, "b": 1}

    assert ndcg_at_k(["a", "b"], gains, k=10) == pytest.approx(1.0)
    assert ndcg_at_k(["x", "b", "a"], gains, k=2) == pytest.approx((1 / 1.584963) / (3 + 1 / 1.584963), abs=1e-5)
    assert ndcg_at_k([], gains, k=10) == 0.0
    assert recall_at_k(["x", "b"], gains, k=2) == 0.5
    assert mrr_at_k(["x", "y", "b"], gains, k=3) == pytest.approx(1 / 3)
    assert mrr_at_k(["x", "y", "b"], gains, k=2) == 0.0


def test_a_ranking_with_an_id_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        ndcg_at_k(["a", "a"], {"a": 1}, k=10)


def test_a_difference_by_chance_has_a_large_p_and_a_steady_one_a_small_p() -> None:
    chosen = random.Random(1)
    noise = [chosen.random() for _ in range(100)]
    other = [chosen.random() for _ in range(100)]

    assert paired_p_value(noise, noise) == 1.0
    assert paired_p_value(noise, other) > 0.05
    assert paired_p_value([value + 0.1 for value in noise], noise) < 0.001


def test_the_median_of_an_even_number_is_the_lower_of_the_middle() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.0
    assert percentile([], 0.95) == 0.0


def test_a_beir_folder_keeps_only_queries_with_an_answer(tmp_path: Path) -> None:
    dataset = load(beir(tmp_path / "tiny"))

    assert dataset.name == "tiny"
    assert [query.id for query in dataset.queries] == ["1", "2"]
    assert dict(dataset.queries[1].gains) == {"b": 2, "c": 1, "a": 0}
    assert [document.id for document in dataset.documents()] == ["a", "b", "c"]


def test_what_is_no_dataset_is_told_in_a_sentence(tmp_path: Path, vault: Path) -> None:
    with pytest.raises(UsageError, match="there is no dataset"):
        load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"it has no corpus\.jsonl"):
        load(vault)
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"query": "bread"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="--notes"):
        load(questions)
    with pytest.raises(UsageError, match="line 1"):
        load(questions, notes=vault)


def test_eval_of_a_beir_folder_gives_every_promised_figure(tmp_path: Path, home: Path) -> None:
    evaluated = evaluate(load(beir(tmp_path / "tiny")), systems=("text",), semantic=False)
    [document] = as_json([evaluated])["datasets"]

    assert (document["name"], document["documents"], document["queries"]) == ("tiny", 3, 2)
    assert set(document["modes"]["text"]) == {"ndcg@10", "recall@10", "recall@100", "mrr@10", "p50_ms"}
    assert document["modes"]["text"]["recall@10"] == 1.0
    assert document["kinds"] == {}
    assert document["groundedness"]["text"] == 1.0
    assert "tiny: 3 documents, 2 queries" in as_text(evaluated)


def test_a_system_that_cannot_run_is_named_with_its_reason(tmp_path: Path, home: Path) -> None:
    evaluated = evaluate(load(beir(tmp_path / "tiny")), semantic=False)

    assert [run.system.name for run in evaluated.runs] == ["text"]
    assert "switched off" in evaluated.missing["vector"]
    assert "vector did not run" in as_text(evaluated)


def test_known_items_are_found_by_their_path_under_the_notes(tmp_path: Path, home: Path, vault: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"query": "sourdough", "kind": "exact", "relevant": ["Bread.md"]},
        {"query": "earplgus", "kind": "typo", "relevant": ["Trips/Night train.md"]},
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    evaluated = evaluate(load(questions, notes=vault), systems=("text",), semantic=False)
    [document] = as_json([evaluated])["datasets"]

    assert {kind: modes["text"]["mrr@10"] for kind, modes in document["kinds"].items()} == {"exact": 1.0, "typo": 1.0}


def test_questions_about_ones_own_notes_are_answered_by_them(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        index.sync()
        queries = own_queries(index)
        evaluated = evaluate_own(index, systems=("text",))

    assert {query.kind for query in queries} >= {"title", "rare words", "typo"}
    assert queries == own_queries_again(vault)
    assert all(score.recall_at_10 == 1.0 for score in evaluated.runs[0].scores)


def own_queries_again(vault: Path) -> list[object]:
    with Index(vault=vault, semantic=False) as index:
        return list(own_queries(index))


def test_a_misspelling_changes_one_long_word_and_never_its_first_letter() -> None:
    for seed in range(50):
        wrong = misspelt("the sourdough starter", random.Random(seed))
        assert wrong != "the sourdough starter"
        assert wrong.startswith("the s")


# ---------------------------------------------------------------- floors


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluated]:
    folder = tmp_path_factory.mktemp("demo")
    library = folder / "database.sqlite"
    create_bear_library(library)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEARSEARCH_HOME", str(folder / "home"))
        yield evaluate(load(DEMO / "known_item.jsonl", notes=library))


FLOORS = {
    "text": {"exact": 0.95, "partial": 0.98, "typo": 0.97, "identifier": 0.98, "cjk": 0.98},
    "vector": {"paraphrase": 0.86},
    "hybrid": {None: 0.89, "exact": 0.97, "partial": 0.93, "foreign": 0.97, "typo": 0.97, "paraphrase": 0.87},
}


@pytest.mark.timeout(600)  # embeds a library
def test_search_of_the_demo_library_stays_above_its_floors(demo: Evaluated) -> None:
    [document] = as_json([demo])["datasets"]
    assert demo.missing == {}
    measured = {
        (system, kind): (document["modes"] if kind is None else document["kinds"][kind])[system]["ndcg@10"]
        for system, floors in FLOORS.items()
        for kind in floors
    }

    below = {key: value for key, value in measured.items() if value < FLOORS[key[0]][key[1]]}
    assert not below, f"nDCG@10 fell below its floor: {below}"


@pytest.mark.timeout(600)
def test_the_default_fusion_is_not_worse_than_ranks_or_than_one_leg(demo: Evaluated) -> None:
    modes = as_json([demo])["datasets"][0]["modes"]

    hybrid = modes["hybrid"]["ndcg@10"]
    assert hybrid >= max(modes[name]["ndcg@10"] for name in ("rrf", "text", "vector"))

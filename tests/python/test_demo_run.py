"""`bearsearch demo` works in its own corner and shows what each mode finds; words alone, so that no model is needed."""

import io
import tempfile
from pathlib import Path

import pytest

from bearsearch.demo.run import DemoQuery, load_queries, run


def output(index_path: Path | None, queries: list[DemoQuery] | None = None) -> str:
    out = io.StringIO()
    run(index_path, out, semantic=False, queries=queries)
    return out.getvalue()


def ask(query: str, *tags: str) -> list[DemoQuery]:
    return [DemoQuery(query=query, shows="", tags=tags)]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARSEARCH_HOME", str(tmp_path / "home"))


def test_each_question_is_shown_with_what_it_is_for() -> None:
    shown = output(None)
    for query in load_queries():
        assert query.query in shown
        assert query.shows in shown


def test_words_are_found_and_a_missing_model_is_said() -> None:
    shown = output(None, ask("blossom end rot"))
    assert "Tomatoes 2026" in shown
    assert "(no model)" in shown


def test_a_locked_note_is_found_by_its_title_and_marked() -> None:
    assert "Letter to my father [locked]" in output(None, ask("Letter to my father"))


def test_a_tag_keeps_other_notes_out() -> None:
    assert "Marathon" not in output(None, ask("lemon", "recipes")), "archived, and has another tag"
    assert "El Camino" not in output(None, ask("Santiago", "recipes"))
    assert "El Camino" in output(None, ask("Santiago", "travel"))


def test_nothing_is_left_behind_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corner = tmp_path / "temporary"
    corner.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(corner))
    output(None, ask("kingfisher"))
    assert list(corner.iterdir()) == []
    assert not (tmp_path / "home" / "index.sqlite").exists()


def test_with_a_path_index_and_library_stay_and_a_second_run_works(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "index.sqlite"
    first = output(path, ask("kingfisher"))
    second = output(path, ask("kingfisher"))
    assert path.exists()
    assert (path.parent / "demo-library.sqlite").exists()
    for shown in (first, second):
        assert "Birds along the Elbe" in shown
        assert str(path) in shown


def test_other_notes_named_in_the_environment_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "intruder.md").write_text("# Intruder\n\nblossom end rot\n", encoding="utf-8")
    monkeypatch.setenv("BEARSEARCH_VAULT", str(vault))
    assert "Intruder" not in output(None, ask("blossom end rot"))

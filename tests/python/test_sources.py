"""Registered sources: adding, listing and removing folders and libraries, and searching them as one."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bearsearch import Index, SourceError, UsageError
from bearsearch.cli.app import bearsearch

Run = Callable[..., Result]


@pytest.fixture
def run(home: Path) -> Run:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(bearsearch, list(arguments), catch_exceptions=False)

    return invoke


def document_of(result: Result) -> Any:
    return json.loads(result.stdout)


def titles(result: Result) -> list[str]:
    return [hit["title"] for hit in document_of(result)["hits"]]


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """An Obsidian vault with a note that is ignored and one that is hidden in the trash."""
    root = tmp_path / "my vault"
    for name, text in {
        ".obsidian/app.json": "{}",
        ".trash/gone.md": "# Gone\n\nsourdough\n",
        "Rye.md": "# Rye\n\nA sourdough of rye.\n",
        "drafts/one.md": "# Draft\n\nsourdough draft\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_several_sources_are_one_ranking_and_in_chooses(run: Run, vault: Path, second: Path, bear_db: Path) -> None:
    assert run("source", "add", str(vault), "--name", "plain").exit_code == 0
    assert run("source", "add", str(second)).exit_code == 0
    assert run("source", "add", str(bear_db), "--name", "bear").exit_code == 0

    both = run("search", "sourdough", "--no-semantic", "--json")
    assert {"Bread", "Rye", "Draft"} <= set(titles(both))
    assert titles(run("search", "sourdough", "in:plain", "--no-semantic", "--json")) == ["Bread"]
    assert set(titles(run("search", 'sourdough in:"my vault"', "--no-semantic", "--json"))) == {"Rye", "Draft"}
    assert titles(run("search", "sourdough", "--source", "plain", "--no-semantic", "--json")) == ["Bread"]
    kinds = {entry["name"]: entry["kind"] for entry in document_of(run("source", "list", "--json"))["sources"]}
    assert kinds == {"plain": "markdown", "my vault": "markdown", "bear": "bear"}


def test_a_vault_of_obsidian_opens_in_it_and_a_plain_file_at_its_line(run: Run, vault: Path, second: Path) -> None:
    run("source", "add", str(vault))
    run("source", "add", str(second))

    shown = run("search", "sourdough", "--no-semantic").stdout
    assert "obsidian://open?vault=my%20vault&file=Rye\n" in shown
    assert f"    {vault / 'Bread.md'}:3\n" in shown


def test_a_source_leaves_out_its_own_patterns(run: Run, second: Path) -> None:
    added = run("source", "add", str(second), "--exclude", "drafts/", "--json")

    assert document_of(added)["documents"] == 1
    [entry] = document_of(run("source", "list", "--json"))["sources"]
    assert (entry["documents"], entry["exclude"]) == (1, ["drafts/"])
    assert "without drafts/" in run("source", "list").stdout
    assert titles(run("search", "sourdough", "--no-semantic", "--json")) == ["Rye"]


def test_what_cannot_be_read_is_counted_with_its_reason(run: Run, second: Path) -> None:
    (second / ".Rye two.md.icloud").write_text("", encoding="utf-8")
    (second / "out.md").symlink_to(second.parent / "elsewhere.md")
    (second.parent / "elsewhere.md").write_text("secret", encoding="utf-8")
    run("source", "add", str(second))

    listed = run("source", "list").stdout
    assert "my vault (markdown): 2 notes, 2 files skipped\n" in listed
    assert "skipped Rye two.md: its text is only in the cloud" in listed
    assert "skipped out.md: is a symbolic link that leads out of the folder" in listed


def test_a_backup_of_bear_is_a_source(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "Bear Notes 2026-11-30.bear2bk"
    info = {"net.shinyfrog.bear": {"uniqueIdentifier": "AB-1", "pinned": 1, "trashed": 0}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Bear Notes/Rye.textbundle/text.markdown", "# Rye\n\nA sourdough of rye.\n")
        archive.writestr("Bear Notes/Rye.textbundle/info.json", json.dumps(info))
    before = path.read_bytes()

    added = document_of(run("source", "add", str(path), "--json"))
    assert (added["kind"], added["source"], added["documents"]) == ("backup", "Bear Notes 2026-11-30", 1)
    [hit] = document_of(run("search", "sourdough is:pinned", "--no-semantic", "--json"))["hits"]
    assert (hit["id"], hit["url"]) == ("AB-1", "bear://x-callback-url/open-note?id=AB-1")
    assert titles(run("search", "rye", "--vault", str(path), "--no-semantic", "--json")) == ["Rye"]
    assert path.read_bytes() == before


def test_text_that_bear_read_in_a_picture_is_shown_with_the_file_it_is_from(run: Run, bear_db: Path) -> None:
    shown = run("search", "wallaby", "--db", str(bear_db), "--no-semantic").stdout

    assert "attachment my photo 2.png" in shown
    assert "wallaby seen only in picture text" in shown


def test_a_removed_source_is_not_found_any_more(run: Run, vault: Path, second: Path) -> None:
    run("source", "add", str(vault), "--name", "plain")
    run("source", "add", str(second))

    assert run("source", "remove", "plain").exit_code == 0
    assert set(titles(run("search", "sourdough", "--no-semantic", "--json"))) == {"Rye", "Draft"}
    assert run("source", "remove", str(second)).exit_code == 0
    assert run("source", "list", "--json").exit_code == 1


@pytest.mark.parametrize("name", ["", "a:b", " "])
def test_a_name_that_could_not_be_asked_for_is_refused(home: Path, vault: Path, name: str) -> None:
    with Index(semantic=False) as index:
        with pytest.raises(UsageError, match="cannot be called"):
            index.add_source(vault, name=name)
        assert index.list_sources() == ()


def test_a_source_that_is_not_there_is_not_registered(home: Path, tmp_path: Path) -> None:
    with Index(semantic=False) as index:
        with pytest.raises(SourceError):
            index.add_source(tmp_path / "nowhere")
        assert index.list_sources() == ()


def test_a_source_that_went_away_is_listed_with_its_error(run: Run, vault: Path) -> None:
    run("source", "add", str(vault))
    vault.rename(vault.with_name("moved"))

    result = run("source", "list")
    assert result.exit_code == SourceError.exit_code
    assert "vault (markdown): 2 notes\n" in result.stdout
    assert "name an existing folder" in result.stdout


def test_twins_of_case_and_composition_are_two_notes(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "twins \u201cquoted\u201d \U0001f43b"
    root.mkdir()
    for place, name in enumerate(["Cafe\u0301.md", "Caf\u00e9.md", "note.md", "NOTE.md", "it's.md"]):
        (root / name).write_text(f"# Twin {place}\n\nzebra {place}\n", encoding="utf-8")
    if len(list(root.iterdir())) < 5:
        pytest.skip("this file system has no twins")
    run("source", "add", str(root))

    found = document_of(run("search", "zebra", "--no-semantic", "--json"))["hits"]
    assert len({hit["id"] for hit in found}) == 5
    for hit in found:
        [note] = document_of(run("get", f"{hit['source']}:{hit['id']}", "--json"))["notes"]
        assert note["title"] == hit["title"]

"""The use cases with a real Bear library, real folders and the real model."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from bearsearch import Index, ModelError, SourceNotFoundError, SyncReport, UsageError
from bearsearch.errors import IndexCorruptError
from bearsearch.service.syncing import sync_one
from bearsearch.service.targets import find_targets

GENERATOR = Path(__file__).parent.parent / "make_bear_db.py"


def touch(db: Path, *arguments: str) -> None:
    """Change one note the way Bear does."""
    subprocess.run([sys.executable, str(GENERATOR), "touch", str(db), *arguments], check=True, capture_output=True)


@pytest.fixture
def own_bear_db(bear_db: Path, tmp_path: Path) -> Path:
    """A Bear library that the test may change."""
    copy = tmp_path / "database.sqlite"
    shutil.copy(bear_db, copy)
    return copy


def test_words_find_notes_of_a_bear_library(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        result = index.search("quokka", limit=100)
    titles = {hit.title for hit in result.hits}
    assert {"Same title", "Windows line ends", "NUL inside", "Link hub"} <= titles
    assert result.mode == "fts"
    assert not titles & {"Trashed note", "Deleted, waiting for sync", "Private diary"}
    assert all(hit.url and hit.url.startswith("bear://x-callback-url/open-note?id=") for hit in result.hits)


def test_archived_notes_are_found_only_when_asked_for(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        assert "Archived note" not in {hit.title for hit in index.search("archived", limit=50).hits}
        assert "Archived note" in {hit.title for hit in index.search("archived", limit=50, archived=True).hits}
        assert [note.archived for note in index.get("Archived note").notes] == [True]


def test_a_locked_note_is_found_by_title_and_shows_nothing(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        hit = index.search("private diary").hits[0]
        note = index.get(hit.id).notes[0]
    assert (hit.title, hit.locked, hit.snippet) == ("Private diary", True, "")
    assert (note.locked, note.text) == (True, "")


def test_what_changes_in_bear_is_found_by_the_next_search(home: Path, own_bear_db: Path) -> None:
    with Index(db=own_bear_db, semantic=False) as index:
        target = index.search('"Same second 1"').hits[0]
        touch(own_bear_db, "edit", target.id, "now it mentions zygomorphic petals")
        assert [hit.id for hit in index.search("zygomorphic").hits] == [target.id]
        touch(own_bear_db, "retag", target.id, "botany/petals")
        assert [hit.id for hit in index.search("zygomorphic", tags=["botany"]).hits] == [target.id]
        touch(own_bear_db, "trash", target.id)
        assert index.search("zygomorphic").hits == ()
        touch(own_bear_db, "untrash", target.id)
        assert [hit.id for hit in index.search("zygomorphic").hits] == [target.id]
        touch(own_bear_db, "encrypt", target.id)
        assert index.search("zygomorphic").hits == ()
        touch(own_bear_db, "purge", target.id)
        assert index.get(target.id).missing == (target.id,)


def test_a_second_sync_embeds_nothing(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.sync()
        first = index.embed()
        assert first.reason is None
        assert (first.embedded, first.pending) == (index.status().embedded, 0)
        report = index.sync()
        assert [(source.added, source.changed, source.removed) for source in report.sources] == [(0, 0, 0)]
        assert index.embed().embedded == 0


def test_meaning_finds_what_no_word_of_the_query_says(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.sync()
        index.embed()
        result = index.search("loaves from the oven")
    assert result.mode == "hybrid"
    assert result.hits[0].title == "Bread"
    assert result.hits[0].vector_rank == 1
    assert result.hits[0].cosine is not None


def test_text_is_answered_while_everything_still_waits_for_its_embedding(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db) as index:
        result = index.search("sourdough starter")
    assert result.legs["text"].ran
    assert result.index.pending > 0
    assert any("wait for an embedding" in notice for notice in result.notices)


def test_without_a_model_words_answer_and_the_reason_is_given(home: Path, vault: Path, tmp_path: Path) -> None:
    empty = tmp_path / "no model here"
    empty.mkdir()
    with Index(vault=vault, model_path=empty) as index:
        result = index.search("sourdough")
        assert result.mode == "fts"
        assert [hit.title for hit in result.hits] == ["Bread"]
        assert result.legs["vector"].reason
        with pytest.raises(ModelError):
            index.search("sourdough", mode="vector")


def test_a_title_names_all_its_notes_newest_first(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        twins = index.get("SAME TITLE").notes
    assert [note.title for note in twins] == ["Same title", "Same title"]
    assert len({note.id for note in twins}) == 2


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("3", "From Vienna to Venice."),
        ("5:7", "## Packing\n\nEarplugs and a blanket."),
        ("7-99", "Earplugs and a blanket."),
    ],
)
def test_lines_of_a_note_can_be_read_alone(home: Path, vault: Path, lines: str, text: str) -> None:
    with Index(vault=vault, semantic=False) as index:
        assert index.get("Trips/Night train.md", lines=lines).notes[0].text == text


@pytest.mark.parametrize("lines", ["", "0", "5:2", "x", "1:2:3", "-3"])
def test_lines_that_are_no_range_are_refused(home: Path, vault: Path, lines: str) -> None:
    with Index(vault=vault, semantic=False) as index, pytest.raises(UsageError, match="lines"):
        index.get("Bread.md", lines=lines)


def test_the_lines_of_a_hit_can_be_handed_to_get(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        hit = index.search("blanket").hits[0]
        assert hit.line_hits == (7,)
        first, last = hit.lines
        assert "blanket" in index.get(hit.id, lines=f"{first}:{last}").notes[0].text


def test_days_and_moments_limit_by_the_last_change(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        newest = index.list(limit=1000).notes
        dated = [note for note in newest if note.updated_at is not None]
        middle = dated[len(dated) // 2].updated_at
        assert middle is not None
        later = index.list(limit=1000, after=middle)
        earlier = index.list(limit=1000, before=middle)
        assert later.total + earlier.total == len(dated)
        assert index.list(after=date(2200, 1, 1)).total == 0
        assert index.list(before=datetime(1990, 1, 1, tzinfo=UTC)).total == 0


def test_tags_count_living_notes_only(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        counts = {tag.name: tag.count for tag in index.tags()}
        assert "unused tag" not in counts
        assert counts["edge"] == index.list(tags=["edge"], limit=1000).total


def test_no_source_at_all_is_said_with_what_to_do(home: Path) -> None:
    with Index(semantic=False) as index, pytest.raises(SourceNotFoundError, match="--vault"):
        index.search("anything")


def test_a_call_that_names_a_source_leaves_no_trace_in_later_calls(home: Path, vault: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        index.sync()
    with Index(vault=vault, semantic=False) as index:
        assert index.search("sourdough").hits[0].source == "vault"
    with Index(semantic=False) as index:
        assert {hit.source for hit in index.search("sourdough").hits} <= {"bear"}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(home: Path, vault: Path, limit: int) -> None:
    with Index(vault=vault, semantic=False) as index, pytest.raises(UsageError, match="limit"):
        index.search("bread", limit=limit)


def test_a_huge_limit_means_all(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        assert len(index.search("quokka", limit=10**12).hits) == index.search("quokka", limit=1000).total


def test_a_damaged_index_is_built_again_and_keeps_its_embeddings(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.sync()
        embedded = index.embed().embedded
        path = index.path
    data = bytearray(path.read_bytes())
    # The first table's root page: nothing works without it, and it holds no vectors.
    data[8192:16384] = b"\xa5" * 8192
    path.write_bytes(data)
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    with Index(vault=vault) as index:
        with pytest.raises(IndexCorruptError, match="bearsearch index"):
            index.status()
        report = index.sync(rebuild="text")
        assert (index.status().embedded, index.status().pending) == (embedded, 0)
        assert [hit.title for hit in index.search("sourdough", mode="fts").hits] == ["Bread"]
    assert "damaged" in report.notices[0]
    assert not path.with_name(path.name + ".damaged").exists()


def test_a_file_that_is_no_index_is_left_alone(home: Path, vault: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, " * 100, encoding="utf-8")
    before = letter.read_bytes()
    with Index(letter, vault=vault, semantic=False) as index, pytest.raises(Exception, match="not a bearsearch index"):
        index.sync()
    assert letter.read_bytes() == before


def test_a_followed_vault_is_indexed_after_every_change(home: Path, vault: Path) -> None:
    seen = threading.Event()
    stop = threading.Event()
    with Index(vault=vault, semantic=False) as index:
        index.sync()

        def on_report(report: SyncReport, _: object) -> None:
            if report.sources[0].added:
                seen.set()

        follower = threading.Thread(target=lambda: index.watch(on_report=on_report, stop=stop))
        follower.start()
        # Whatever is written before the watching began is not reported, so it is written until it is.
        for number in range(200):
            (vault / f"new {number}.md").write_text("# New\n\nzygomorphic\n", encoding="utf-8")
            if seen.wait(timeout=0.3):
                break
        stop.set()
        follower.join(timeout=30)
        assert seen.is_set()
        assert not follower.is_alive()
        assert index.search("zygomorphic", mode="fts").hits


def test_the_background_embeds_everything_and_goes_to_rest(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.start_background()
        assert _until(lambda: index.status().embedded > 0 and index.status().pending == 0)
        assert _until(lambda: not (index.status().background or pytest.fail("no background")).running)
        (vault / "Later.md").write_text("# Later\n\nA kettle whistles.\n", encoding="utf-8")
        assert index.search("kettle", mode="fts").hits[0].title == "Later"
        assert _until(lambda: index.search("kettle", mode="vector").hits[0].title == "Later")


def _until(true: Callable[[], object], *, tries: int = 600) -> bool:
    """Whether something becomes true within about a minute, which only a hang exceeds."""
    return any(true() or threading.Event().wait(0.1) for _ in range(tries))


def test_a_source_that_was_never_read_to_its_end_is_stale_in_the_status(home: Path, tmp_path: Path) -> None:
    vault = tmp_path / "large"
    vault.mkdir()
    for number in range(400):
        (vault / f"{number}.md").write_text(f"# {number}\n\n{'harbour ' * 400}", encoding="utf-8")
    with Index(vault=vault, semantic=False) as index:
        (target,) = find_targets(index._open)
        assert sync_one(index._open, target, budget_ms=0).remaining > 0
        status = index.status()
        assert (status.stale, status.sources[0].stale, status.sources[0].error) == (True, True, None)
        index.sync()
        assert not index.status().stale


def test_a_source_that_a_query_names_and_nobody_knows_is_said(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        index.sync()
        (name,) = (source.name for source in index.list_sources())
        assert not [told for told in index.search(f"sourdough in:{name.upper()}").notices if "no source" in told]
        told = index.search("sourdough in:nowhere").notices
    assert f'there is no source named "nowhere"; the sources are: {name}' in told

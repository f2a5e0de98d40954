"""The demo's Bear library is what Bear would have written, and its queries name notes that are there."""

import json
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from bearsearch.demo.library import DemoNote, create_bear_library, load_notes, note_id

FOLDER = Path(str(resources.files("bearsearch.demo")))
NOTES = {note.name: note for note in load_notes()}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "library.sqlite"
    create_bear_library(path)
    return path


@pytest.fixture
def db(library: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{library}?mode=ro", uri=True)) as connection:
        yield connection


def known_items() -> list[dict[str, Any]]:
    lines = (FOLDER / "known_item.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def in_state(state: str) -> list[DemoNote]:
    return [note for note in NOTES.values() if note.state == state]


def test_every_text_has_an_entry_and_every_entry_a_text() -> None:
    assert {path.stem for path in (FOLDER / "notes").glob("*.md")} == set(NOTES)


def test_the_database_is_sound_and_holds_every_note_once(db: sqlite3.Connection) -> None:
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    ids = [row[0] for row in db.execute("SELECT ZUNIQUEIDENTIFIER FROM ZSFNOTE")]
    assert sorted(ids) == sorted(note.id for note in NOTES.values())


def test_two_libraries_are_equal_byte_for_byte(library: Path, tmp_path: Path) -> None:
    create_bear_library(tmp_path / "again.sqlite")
    assert (tmp_path / "again.sqlite").read_bytes() == library.read_bytes()


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "somebody's.sqlite"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="give another path"):
        create_bear_library(path)
    assert path.read_bytes() == b"precious"


def test_every_state_of_a_note_occurs_and_reaches_its_column(db: sqlite3.Connection) -> None:
    states = Counter(note.state for note in NOTES.values())
    assert set(states) == {"active", "archived", "trashed", "deleted", "locked"}
    counted = db.execute(
        "SELECT sum(ZARCHIVED), sum(ZTRASHED), sum(ZPERMANENTLYDELETED), sum(ZENCRYPTED), count(ZARCHIVEDDATE),"
        " count(ZTRASHEDDATE) FROM ZSFNOTE"
    ).fetchone()
    gone = states["trashed"] + states["deleted"]
    assert counted == (states["archived"], gone, states["deleted"], states["locked"], states["archived"], gone)


def test_no_word_of_a_locked_text_is_in_the_file(library: Path, db: sqlite3.Connection) -> None:
    content = library.read_bytes()
    for note in in_state("locked"):
        text, preview, blob = db.execute(
            "SELECT ZTEXT, ZSUBTITLE, ZENCRYPTEDDATA FROM ZSFNOTE WHERE ZUNIQUEIDENTIFIER = ?", (note.id,)
        ).fetchone()
        assert (text, preview) == (None, None)
        assert len(blob) > 100
        secrets = re.findall(r"\w+-\w+-\d{4}", note.text)
        assert secrets, f"{note.name} holds nothing to look for"
        assert note.title.encode() in content
        for secret in secrets:
            assert secret.encode() not in content


def test_a_note_is_linked_to_its_tags_and_to_all_tags_above_them(db: sqlite3.Connection) -> None:
    rows = db.execute(
        "SELECT n.ZUNIQUEIDENTIFIER, t.ZTITLE FROM ZSFNOTE n JOIN Z_5TAGS j ON j.Z_5NOTES = n.Z_PK"
        " JOIN ZSFNOTETAG t ON t.Z_PK = j.Z_13TAGS"
    ).fetchall()
    linked: dict[str, set[str]] = {}
    for identifier, tag in rows:
        linked.setdefault(identifier, set()).add(tag)
    assert linked[note_id("weekly-2026-03-12")] == {"work/tidewater/meetings", "work/tidewater", "work"}
    assert linked[note_id("book-left-hand")] == {"book notes", "book notes/fiction"}
    assert linked[note_id("locked-letter")] == {"writing/letters", "writing"}
    assert note_id("call-jonas") not in linked
    for tags in linked.values():
        assert all(tag.rpartition("/")[0] in tags for tag in tags if "/" in tag)
    roots = db.execute("SELECT ZTITLE, ZISROOT FROM ZSFNOTETAG").fetchall()
    assert all(is_root == ("/" not in tag) for tag, is_root in roots)


def test_tags_are_read_from_prose_and_never_from_code(db: sqlite3.Connection) -> None:
    assert NOTES["night-train"].tags == ("travel/sweden", "travel/slow travel")
    assert NOTES["shell"].tags == ("code/shell",)
    assert NOTES["ring-buffer"].tags == ("code/c",)
    assert NOTES["hi-chai"].tags == ("हिन्दी", "recipes")
    tags = {row[0] for row in db.execute("SELECT ZTITLE FROM ZSFNOTETAG")}
    assert tags >= {"日本語", "العربية", "español", "travel/slow travel"}


def test_core_data_numbers_lead_to_the_junction_tables(db: sqlite3.Connection) -> None:
    number = dict(db.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY").fetchall())
    note, tag = number["SFNote"], number["SFNoteTag"]
    columns = [row[1] for row in db.execute(f"PRAGMA table_info(Z_{note}TAGS)")]
    assert columns == [f"Z_{note}NOTES", f"Z_{tag}TAGS"]
    last = dict(db.execute("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY").fetchall())
    assert last["SFNote"] == len(NOTES)
    pinned = db.execute("SELECT count(*) FROM Z_5PINNEDINTAGS").fetchone()[0]
    assert pinned == sum(len(note.pinned_in) for note in NOTES.values()) > 0


def test_links_stand_at_their_utf16_place_and_lead_to_their_note(db: sqlite3.Connection) -> None:
    rows = db.execute(
        "SELECT s.ZTEXT, l.ZLOCATION, l.ZTITLE, t.ZTITLE FROM ZSFNOTEBACKLINK l"
        " JOIN ZSFNOTE s ON s.Z_PK = l.ZLINKEDBY JOIN ZSFNOTE t ON t.Z_PK = l.ZLINKINGTO"
    ).fetchall()
    assert len(rows) > 30
    for text, location, title, target in rows:
        from_there = text.encode("utf-16-le")[location * 2 :].decode("utf-16-le")
        assert from_there.startswith(f"[[{title}")
        assert title == target
    targets = {target for *_, target in rows}
    assert "On call: nights/weekends" in targets, "a title with a slash is tried whole"
    assert "Wine cellar" in NOTES["start-here"].text, "one link leads nowhere"
    assert "Wine cellar" not in targets


def test_dates_are_seconds_since_2001_and_spread_over_years(db: sqlite3.Connection) -> None:
    (created,) = db.execute(
        "SELECT datetime(ZCREATIONDATE + 978307200, 'unixepoch') FROM ZSFNOTE WHERE ZUNIQUEIDENTIFIER = ?",
        (note_id("tides"),),
    ).fetchone()
    assert created == NOTES["tides"].created_at.strftime("%Y-%m-%d %H:%M:%S")
    assert len({note.updated_at.year for note in NOTES.values()}) >= 5
    assert all(note.created_at < note.updated_at for note in NOTES.values())


def test_the_text_of_a_picture_stands_beside_the_note(db: sqlite3.Connection) -> None:
    rows = db.execute(
        "SELECT n.ZUNIQUEIDENTIFIER, n.ZTEXT, f.ZFILENAME, f.ZSEARCHTEXT FROM ZSFNOTEFILE f"
        " JOIN ZSFNOTE n ON n.Z_PK = f.ZNOTE"
    ).fetchall()
    assert [row[0] for row in rows] == [note_id("receipt-washing-machine")]
    _, text, filename, search_text = rows[0]
    assert f"]({filename})" in text
    assert "Waschvollautomat" in search_text
    assert "Waschvollautomat" not in text


def test_the_library_holds_the_shapes_that_a_search_has_to_bear() -> None:
    texts = {name: note.text for name, note in NOTES.items()}
    assert NOTES["stairwell-light"].title == ""
    assert Counter(note.title for note in NOTES.values())["Gift ideas"] == 2
    assert texts["data-contracts"].startswith("---\n")
    assert NOTES["data-contracts"].title == "Talk: data contracts are promises"
    long_note = texts["moving-house"]
    assert len(long_note.split()) > 2_000
    assert len(re.findall(r"(?m)^## ", long_note)) > 20
    assert min(len(text.split()) for text in texts.values()) < 12
    assert not unicodedata.is_normalized("NFC", texts["cafes"])
    assert "\n> [!NOTE]\n" in texts["tides"]
    assert "[^1]:" in texts["tides"]
    assert "\n# " in texts["shell"].replace("```sh\n", ""), "a line of code that looks like a heading"


def test_every_judged_query_names_notes_that_a_search_may_return() -> None:
    items = known_items()
    assert len(items) > 100
    assert len({item["id"] for item in items}) == len({item["query"] for item in items}) == len(items)
    for item in items:
        assert item["query"].strip(), item["id"]
        assert item["relevant"] == [note_id(name) for name in item["notes"]], item["id"]
        assert item["relevant"], item["id"]
        for name in item["notes"]:
            assert NOTES[name].state in {"active", "locked"}, item["id"]


def test_every_kind_of_judged_query_has_enough_queries_to_mean_something() -> None:
    kinds = Counter(item["kind"] for item in known_items())
    assert kinds["paraphrase"] >= 40
    for kind in ("exact", "typo", "partial", "identifier", "foreign", "diacritics", "crosslingual"):
        assert kinds[kind] >= 10, kind


def test_literal_queries_are_judged_completely() -> None:
    """What stands word for word in a note is relevant there; links repeat titles, so the hub note is left out."""
    for item in known_items():
        if item["kind"] not in {"exact", "cjk"}:
            continue
        wanted = item["query"].casefold()
        holders = {
            note.name for note in in_state("active") if wanted in note.text.casefold() and note.name != "start-here"
        }
        assert holders <= set(item["notes"]), item["id"]

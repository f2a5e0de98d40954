"""Builds a Bear 2 library, a SQLite database under Core Data's names, from the Markdown texts in `notes/`.

Here lives just what the demo's notes need: their texts, what `library.toml` says beside them, and the rows that Bear
would have written for them. Odd rows, old schema versions and damage belong to the generator in the project's `tests/`.
"""

import hashlib
import plistlib
import re
import sqlite3
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["DemoNote", "create_bear_library", "load_notes", "note_id", "write_bear_library"]

_CORE_DATA_EPOCH = datetime(2001, 1, 1, tzinfo=UTC)

# Core Data numbers entities in this order, from 1; a sub-entity follows its parent.
_ENTITIES = (
    "SFChange",
    "SFChangeItem",
    "SFExternalChanges",
    "SFInternalChanges",
    "SFNote",
    "SFNoteBackLink",
    "SFNoteFile",
    "SFNoteGenericFile",
    "SFNoteImage",
    "SFNoteVideo",
    "SFNoteFileServerData",
    "SFNoteServerData",
    "SFNoteTag",
    "SFPassword",
    "SFServerMetadata",
)
_ENTITY = {name: number for number, name in enumerate(_ENTITIES, 1)}
_FILE_KINDS = ("SFNoteGenericFile", "SFNoteImage", "SFNoteVideo")

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_NOT_PROSE = re.compile(r"^```.*?^```$|`[^`\n]*`|\[\[.*?\]\]|\]\([^)\n]*\)", re.DOTALL | re.MULTILINE)
# "#two words#" or "#word"; "#a #b" is two tags, because the closing mark follows its word directly.
_TAG = re.compile(r"(?<!\S)#(?:([^\s#][^#\n]*[^\s#])#(?!\S)|([^\s#.,;:!?()]+))")
_WIKI_LINK = re.compile(r"\[\[([^\]|\n]+)(?:\|[^\]\n]*)?\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoNote:
    """One note of the demo, before it becomes a row."""

    name: str
    """Its file in `notes/`, without the ending."""
    id: str
    """Bear's unique identifier."""
    title: str
    """The first line; empty for the note that has none."""
    text: str
    """Markdown, the title line included; for a locked note the text that never reaches the database."""
    tags: tuple[str, ...]
    """As written in the text, in order; the tags above a nested one are not listed."""
    created_at: datetime
    updated_at: datetime
    state: str
    """active, archived, trashed, deleted (a tombstone that still has its text) or locked (encrypted)."""
    pinned: bool
    pinned_in: tuple[str, ...]
    """Tags in whose list the note is pinned."""


def note_id(name: str) -> str:
    """The unique identifier that Bear would have drawn for `name`, the same on every machine.

    >>> note_id("tides")
    '0E714FD9-2F75-48E3-931B-61C0EEB7F9C7'
    """
    return str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16], version=4)).upper()


def load_notes() -> list[DemoNote]:
    """All notes of the demo, oldest first, whatever their state."""
    notes: list[DemoNote] = []
    for name, facts in _manifest()["notes"].items():
        text = _read(f"notes/{name}.md")
        notes.append(
            DemoNote(
                name=name,
                id=note_id(name),
                title=_FRONT_MATTER.sub("", text).split("\n", 1)[0].lstrip("# "),
                text=text,
                tags=_tags_in(text),
                created_at=facts["created"],
                updated_at=facts["modified"],
                state=facts.get("state", "active"),
                pinned=facts.get("pinned", False),
                pinned_in=tuple(facts.get("pinned_in", ())),
            )
        )
    return sorted(notes, key=lambda note: note.created_at)


def create_bear_library(path: Path) -> None:
    """Write the demo's notes to `path` as Bear 2 would keep them.

    The same bytes come out each time (under one version of SQLite, which writes its number into the file).

    Raises:
        FileExistsError: There is something at `path`.
    """
    write_bear_library(path, load_notes(), attachments=_manifest()["attachments"])


def write_bear_library(path: Path, notes: list[DemoNote], *, attachments: Sequence[dict[str, Any]] = ()) -> None:
    """Write any notes to `path` as Bear 2 would keep them.

    Args:
        path: Where nothing is yet.
        notes: Their names, ids and titles may not repeat.
        attachments: Pictures, as `library.toml` describes them.

    Raises:
        FileExistsError: There is something at `path`; nothing is overwritten, it might be somebody's library.
    """
    if path.exists():
        raise FileExistsError(f"expected no file at {str(path)!r} to put a library in; give another path")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(f"BEGIN; {_read('schema.sql')}")
        note_pk = {note.name: _insert_note(db, note) for note in notes}
        _insert_tags(db, notes, note_pk)
        _insert_links(db, notes, note_pk)
        for attachment in attachments:
            _insert_attachment(db, attachment, note_pk[attachment["note"]])
        _insert_bookkeeping(db)
        db.execute("COMMIT")


def _read(name: str) -> str:
    return resources.files("bearsearch.demo").joinpath(name).read_text(encoding="utf-8")


def _manifest() -> dict[str, Any]:
    return tomllib.loads(_read("library.toml"))


def _tags_in(text: str) -> tuple[str, ...]:
    """The tags that Bear finds in a text: not in code, not in links, and a number alone is none."""
    found = (wide or plain for wide, plain in _TAG.findall(_NOT_PROSE.sub(" ", text)))
    return tuple(dict.fromkeys(tag for tag in found if not tag.isdigit()))


def _with_ancestors(tags: Iterable[str]) -> Iterator[str]:
    """Each tag, then the tags above it; Bear links a note to all of them."""
    for tag in tags:
        while tag:
            yield tag
            tag = tag.rpartition("/")[0]


def _seconds(moment: datetime) -> float:
    """Core Data's time: seconds since 2001, UTC."""
    return (moment - _CORE_DATA_EPOCH).total_seconds()


def _insert(db: sqlite3.Connection, table: str, entity: str, **columns: object) -> int:
    """Insert one row under the next primary key, which is returned."""
    row = {"Z_ENT": _ENTITY[entity], "Z_OPT": 1, "ZVERSION": 3, **columns}
    marks = ",".join("?" * len(row))
    cursor = db.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({marks})", tuple(row.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _insert_note(db: sqlite3.Connection, note: DemoNote) -> int:
    locked = note.state == "locked"
    modified = _seconds(note.updated_at)
    body = _FRONT_MATTER.sub("", note.text).partition("\n")[2]
    preview = " ".join(re.sub(r"[#*_`>|\[\]]", "", body).split())[:200]
    return _insert(
        db,
        "ZSFNOTE",
        "SFNote",
        ZUNIQUEIDENTIFIER=note.id,
        ZTITLE=note.title,
        ZTEXT=None if locked else note.text,
        ZSUBTITLE=None if locked else preview,
        # Stands for the cipher text: bytes that tell nothing, yet are the same each time.
        ZENCRYPTEDDATA=hashlib.shake_256(note.id.encode()).digest(400) if locked else None,
        ZENCRYPTED=int(locked),
        ZLOCKED=int(locked),
        ZLOCKEDDATE=modified if locked else None,
        ZENCRYPTIONDATE=modified if locked else None,
        ZARCHIVED=int(note.state == "archived"),
        ZARCHIVEDDATE=modified if note.state == "archived" else None,
        ZTRASHED=int(note.state in ("trashed", "deleted")),
        ZTRASHEDDATE=modified if note.state in ("trashed", "deleted") else None,
        ZPERMANENTLYDELETED=int(note.state == "deleted"),
        ZPINNED=int(note.pinned),
        ZPINNEDDATE=modified if note.pinned else None,
        ZCREATIONDATE=_seconds(note.created_at),
        ZMODIFICATIONDATE=modified,
        ZHASFILES=0,
        ZHASIMAGES=int("![](" in note.text),
        ZHASSOURCECODE=int("```" in note.text),
        ZTODOCOMPLETED=note.text.count("\n- [x] "),
        ZTODOINCOMPLETED=note.text.count("\n- [ ] "),
        ZORDER=0,
        ZSHOWNINTODAYWIDGET=0,
        ZSKIPSYNC=0,
    )


def _insert_tags(db: sqlite3.Connection, notes: Iterable[DemoNote], note_pk: dict[str, int]) -> None:
    """Tags, the notes that carry them, and the notes pinned in them."""
    tag_pk: dict[str, int] = {}
    for note in notes:
        for tag in dict.fromkeys(_with_ancestors(note.tags)):
            if tag not in tag_pk:
                tag_pk[tag] = _insert(
                    db,
                    "ZSFNOTETAG",
                    "SFNoteTag",
                    ZTITLE=tag,
                    ZISROOT=int("/" not in tag),
                    ZENCRYPTED=0,
                    ZHIDESUBTAGSNOTES=0,
                    ZMODIFICATIONDATE=_seconds(note.updated_at),
                    ZUNIQUEIDENTIFIER=note_id(f"tag {tag}"),
                )
            db.execute("INSERT INTO Z_5TAGS VALUES (?, ?)", (note_pk[note.name], tag_pk[tag]))
        for tag in note.pinned_in:
            db.execute("INSERT INTO Z_5PINNEDINTAGS VALUES (?, ?)", (note_pk[note.name], tag_pk[tag]))


def _insert_links(db: sqlite3.Connection, notes: list[DemoNote], note_pk: dict[str, int]) -> None:
    """One row per wiki link that leads somewhere; its place is counted in UTF-16 units, as Bear does."""
    by_title = {note.title: note for note in notes if note.state in ("active", "archived")}
    for note in notes:
        if note.state not in ("active", "archived"):
            continue
        for link in _WIKI_LINK.finditer(note.text):
            # A title may hold a "/" of its own, so the whole is tried before what stands in front of a heading.
            target = by_title.get(link[1]) or by_title.get(link[1].partition("/")[0])
            if target is not None:
                _insert(
                    db,
                    "ZSFNOTEBACKLINK",
                    "SFNoteBackLink",
                    ZLINKEDBY=note_pk[note.name],
                    ZLINKINGTO=note_pk[target.name],
                    ZLOCATION=len(note.text[: link.start()].encode("utf-16-le")) // 2,
                    ZTITLE=target.title,
                    ZMODIFICATIONDATE=_seconds(note.updated_at),
                    ZUNIQUEIDENTIFIER=note_id(f"link {note.name} {link.start()}"),
                )


def _insert_attachment(db: sqlite3.Connection, attachment: dict[str, Any], note_pk: int) -> None:
    """A picture, with the text that Bear read in it."""
    filename: str = attachment["filename"]
    (added,) = db.execute("SELECT ZMODIFICATIONDATE FROM ZSFNOTE WHERE Z_PK = ?", (note_pk,)).fetchone()
    _insert(
        db,
        "ZSFNOTEFILE",
        "SFNoteImage",
        ZNOTE=note_pk,
        ZFILENAME=filename,
        ZNORMALIZEDFILEEXTENSION=filename.rpartition(".")[2],
        ZFILESIZE=attachment["size_bytes"],
        ZWIDTH=attachment["width"],
        ZHEIGHT=attachment["height"],
        ZSEARCHTEXT=attachment["search_text"],
        ZCREATIONDATE=added,
        ZINSERTIONDATE=added,
        ZMODIFICATIONDATE=added,
        ZSEARCHTEXTDATE=added,
        ZUNIQUEIDENTIFIER=note_id(f"file {filename}"),
        ZDOWNLOADED=1,
        ZENCRYPTED=0,
        ZINDEX=0,
        ZPERMANENTLYDELETED=0,
        ZSKIPSYNC=0,
        ZUNUSED=0,
        ZUPLOADED=1,
    )


def _insert_bookkeeping(db: sqlite3.Connection) -> None:
    """Core Data's own tables: which entity has which number and how many rows, and what kind of store this is."""
    tables = {
        "SFNote": "ZSFNOTE",
        "SFNoteTag": "ZSFNOTETAG",
        "SFNoteFile": "ZSFNOTEFILE",
        "SFNoteBackLink": "ZSFNOTEBACKLINK",
    }
    for name, number in _ENTITY.items():
        parent = _ENTITY["SFNoteFile"] if name in _FILE_KINDS else 0
        rows = db.execute(f"SELECT count(*) FROM {tables[name]}").fetchone()[0] if name in tables else 0
        db.execute("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)", (number, name, parent, rows))
    plist = plistlib.dumps({"NSStoreType": "SQLite", "NSStoreModelVersionIdentifiers": [""]}, fmt=plistlib.FMT_BINARY)
    db.execute("INSERT INTO Z_METADATA VALUES (1, ?, ?)", (note_id("store"), plist))

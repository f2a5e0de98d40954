"""Creating notes through the service and through MCP.

A folder of Markdown is the real thing. Bear runs on macOS only: there its two doors, `bearcli` and `open`, are replaced
by programs of the same interface that write into the database as Bear does.
"""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bearsearch import bearcli
from bearsearch.errors import SourceError, SourceNotFoundError, UsageError
from bearsearch.service import Index
from mcp_support import data_of, in_memory, opener, run, text_of

GENERATOR = Path(__file__).parent.parent / "make_bear_db.py"


def test_a_note_in_a_folder_is_a_new_file_that_is_found_at_once(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        created = index.create(title="Bread", content="Rye, 60 %.", tags=["food"])
        found = index.search("rye").hits

    assert created.id == "Bread 2.md"
    assert created.confirmed
    assert created.how == "file"
    assert [hit.id for hit in found] == ["Bread 2.md"]
    assert found[0].tags == ("food",)
    assert "sourdough" in (vault / "Bread.md").read_text(encoding="utf-8")


def test_with_several_folders_the_source_must_be_named(home: Path, vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (vault, other):
        with Index(vault=folder, semantic=False) as index:
            index.sync()
    with Index(semantic=False) as index:
        with pytest.raises(UsageError, match=r'not clear .*"vault"'):
            index.create(title="x")
        with pytest.raises(UsageError, match='no source named "third"'):
            index.create(title="x", source="third")
        assert index.create(title="x", source="OTHER").source == "other"
    assert (other / "x.md").exists()


def test_note_create_over_mcp_answers_with_id_and_says_what_it_wrote(home: Path, vault: Path, tmp_path: Path) -> None:
    async def work() -> Any:
        async with in_memory(opener(tmp_path, vault=vault), note_create=True) as client:
            return await client.call_tool("note_create", {"title": "Shopping", "content": "Milk", "tags": "home, food"})

    result = run(work())
    data = data_of(result)
    assert (data["id"], data["source"], data["confirmed"], data["how"]) == ("Shopping.md", "vault", True, "file")
    assert text_of(result).startswith("created\n<note id=")
    assert (vault / "Shopping.md").read_text(encoding="utf-8") == "# Shopping\n\n#home #food\n\nMilk\n"


@pytest.mark.skipif(sys.platform == "darwin", reason="would create a note in the Bear of whoever runs the tests")
def test_bear_elsewhere_than_on_macos_is_an_error_that_says_so(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index, pytest.raises(SourceNotFoundError, match="macOS only"):
        index.create(title="Shopping")


# ---------------------------------------------------------------- Bear, replaced


@pytest.fixture
def own_bear(tmp_path: Path) -> Path:
    """A Bear library that may be written to."""
    path = tmp_path / "bear" / "database.sqlite"
    path.parent.mkdir()
    subprocess.run(
        [sys.executable, str(GENERATOR), "create", str(path), "--bear", "2", "--notes", "5", "--quiet"], check=True
    )
    return path


INSERT = """
import sqlite3, sys, time
def insert(database, note_id, text):
    title = text.split("\\n")[0].lstrip("# ")
    now = time.time() - 978307200
    with sqlite3.connect(database) as db:
        db.execute(
            "INSERT INTO ZSFNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZTEXT, ZUNIQUEIDENTIFIER, ZCREATIONDATE,"
            " ZMODIFICATIONDATE, ZTRASHED, ZARCHIVED, ZENCRYPTED, ZPERMANENTLYDELETED)"
            " VALUES ((SELECT max(Z_PK) + 1 FROM ZSFNOTE), (SELECT Z_ENT FROM ZSFNOTE LIMIT 1), 1,"
            " ?, ?, ?, ?, ?, 0, 0, 0, 0)",
            (title, text, note_id, now, now),
        )
"""


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{INSERT}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="the replaced programs are scripts")
def test_bears_own_program_is_preferred_and_gives_the_id(
    home: Path, own_bear: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen.json"
    fake = program(
        tmp_path / "bearcli",
        "import json\n"
        f"content = sys.stdin.read()\njson.dump([sys.argv[1:], content], open({str(seen)!r}, 'w'))\n"
        f"insert({str(own_bear)!r}, 'NEW-ID-1', '# ' + sys.argv[2] + '\\n' + content)\n"
        "print(json.dumps({'id': 'NEW-ID-1'}))",
    )
    monkeypatch.setattr(bearcli, "BEARCLI", fake)

    with Index(db=own_bear, semantic=False) as index:
        created = index.create(title="Zeppelin", content="-starts with a dash \\n", tags=["two words", "a/b"])

    arguments, content = json.loads(seen.read_text(encoding="utf-8"))
    assert arguments == ["create", "Zeppelin", "--format", "json", "--fields", "id", "--tags", "two words,a/b"]
    assert content == "-starts with a dash \\n"
    assert (created.id, created.confirmed, created.how) == ("NEW-ID-1", True, "bearcli")
    assert created.url is not None
    assert "NEW-ID-1" in created.url


@pytest.mark.skipif(sys.platform == "win32", reason="the replaced programs are scripts")
def test_bears_refusal_is_passed_on_and_nothing_else_is_tried(
    home: Path, own_bear: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bearcli, "BEARCLI", program(tmp_path / "bearcli", "sys.exit('Bear is locked')"))

    with Index(db=own_bear, semantic=False) as index, pytest.raises(SourceError, match="Bear is locked"):
        index.create(title="Zeppelin")


class Opener:
    """Stands for macOS and the Bear behind it: takes the URL, and writes the note unless Bear is absent."""

    def __init__(self, database: Path, *, arrives: bool) -> None:
        self.database, self.arrives, self.urls = database, arrives, list[str]()

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:2] == ["/usr/bin/open", "-g"]
        self.urls.append(command[2])
        if self.arrives:
            scope: dict[str, Any] = {}
            exec(INSERT, scope)
            scope["insert"](self.database, "FROM-URL", parse_qs(urlsplit(command[2]).query)["text"][0])
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize("arrives", [True, False])
def test_through_the_url_the_note_is_confirmed_by_looking(
    home: Path, own_bear: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    # An older note of the same title must not pass for the new one.
    with sqlite3.connect(own_bear) as db:
        db.execute("UPDATE ZSFNOTE SET ZTITLE = 'Zeppelin' WHERE Z_PK = (SELECT min(Z_PK) FROM ZSFNOTE)")
    opened = Opener(own_bear, arrives=arrives)
    monkeypatch.setattr(bearcli, "BEARCLI", tmp_path / "absent")
    monkeypatch.setattr("bearsearch.bear_url.sys.platform", "darwin")
    monkeypatch.setattr("bearsearch.bear_url.subprocess.run", opened)
    monkeypatch.setattr("bearsearch.service.creating.CREATE_WAIT_S", 0.0)

    with Index(db=own_bear, semantic=False) as index:
        created = index.create(title="Zeppelin", content="Hello", tags=["air"])

    assert len(opened.urls) == 1
    assert created.how == "bear url"
    assert (created.id, created.confirmed) == (("FROM-URL", True) if arrives else (None, False))

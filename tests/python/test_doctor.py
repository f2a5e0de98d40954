"""What `doctor` finds, and what it says to do about it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bearsearch import Check, Index

PAGE = 8192


def finding(index: Index, name: str) -> Check:
    """The check of this name."""
    return next(check for check in index.doctor().checks if check.name == name)


def test_a_sound_library_has_nothing_to_look_at(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.sync()
        index.embed()
        found = index.doctor()
    assert found.ok, found
    names = [check.name for check in found.checks]
    assert names == ["source markdown", "index", "model", "embeddings", "pending", "versions"]
    assert all(check.advice is None for check in found.checks)
    cosine = next(check.detail for check in found.checks if check.name == "embeddings").rsplit(" ", 1)[1]
    assert float(cosine) > 0.99


def test_vectors_that_the_model_does_not_make_are_noticed(home: Path, vault: Path) -> None:
    with Index(vault=vault) as index:
        index.sync()
        index.embed()
        engine = index._open.engine
        model = engine.models()[0]
        engine.forget_embeddings()
        for text_id, _ in engine.pending(model["id"], 0, 100):
            row = np.zeros((1, model["dim"]), dtype=np.float32)
            row[0, text_id] = 1.0
            engine.add_embeddings(model["id"], np.array([text_id], dtype=np.int64), row)
        check = finding(index, "embeddings")
    assert not check.ok
    assert "--rebuild=embeddings" in (check.advice or "")


def test_a_damaged_index_is_named_with_its_cure(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        index.sync()
        path = index.path
    data = bytearray(path.read_bytes())
    data[-PAGE // 2] ^= 1
    path.write_bytes(data)
    with Index(vault=vault, semantic=False) as index:
        check = finding(index, "index")
        assert not check.ok
        assert "is damaged" in check.detail
        assert "`bearsearch index`" in (check.advice or "")
        index.sync()
        assert finding(index, "index").ok


@pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")
def test_an_index_that_others_may_open_is_named(home: Path, vault: Path) -> None:
    with Index(vault=vault, semantic=False) as index:
        index.sync()
        assert not [check for check in index.doctor().checks if check.name == "index access"]
        index.path.chmod(0o644)
        check = finding(index, "index access")
    assert not check.ok
    assert "mode 644" in check.detail
    assert "chmod 600" in (check.advice or "")


def test_a_bear_library_is_described_without_a_word_of_its_notes(home: Path, bear_db: Path) -> None:
    with Index(db=bear_db, semantic=False) as index:
        index.sync()
        check = finding(index, "source bear")
        titles = [note.title for note in index.list(limit=1000).notes if len(note.title) > 8]
    assert check.ok
    for expected in ("journal mode", "ZSFNOTE", "Z_PRIMARYKEY", "archived", "locked", "Z_5TAGS"):
        assert expected in check.detail
    assert not [title for title in titles if title in check.detail]


@pytest.mark.parametrize("kind", ["bear", "markdown"])
def test_a_source_that_went_away_is_named_with_what_to_do(
    home: Path, vault: Path, bear_db: Path, tmp_path: Path, kind: str
) -> None:
    db = tmp_path / "database.sqlite"
    shutil.copy(bear_db, db)
    with Index(db=db if kind == "bear" else None, vault=vault if kind == "markdown" else None, semantic=False) as index:
        index.sync()
        if kind == "bear":
            db.unlink()
        else:
            vault.rename(tmp_path / "elsewhere")
        check = finding(index, f"source {kind}")
    assert not check.ok
    assert "not there" in check.detail
    assert check.advice


def test_the_command_prints_one_document_and_its_exit_code_says_whether_to_look(home: Path, vault: Path) -> None:
    def doctor() -> tuple[int, dict[str, object]]:
        command = [sys.executable, "-m", "bearsearch", "doctor", "--json", "--no-semantic", "--vault", str(vault)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        return done.returncode, json.loads(done.stdout)

    code, document = doctor()
    assert (code, document["ok"]) == (0, True)
    shutil.rmtree(vault)
    code, document = doctor()
    assert (code, document["ok"]) == (1, False)

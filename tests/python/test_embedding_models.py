"""What the catalogue says, and that it still agrees with fastembed's own list."""

from __future__ import annotations

import re

import pytest

from bearsearch.embedding import DEFAULT_MODEL, PACKAGE_MODEL, catalogue
from bearsearch.embedding.models import family_of, spec_for, spec_of_folder

# Made for pictures, or for the one side of an asymmetric pair: no note search can use them alone.
LEFT_OUT = re.compile(r"clip|siglip|constella|stella", re.IGNORECASE)


def test_the_catalogue_agrees_with_fastembed_on_every_model_that_both_know() -> None:
    from fastembed import TextEmbedding

    listed = {model["model"]: model for model in TextEmbedding.list_supported_models()}
    for name, spec in catalogue().items():
        if spec.repository is None:
            assert name not in listed
            continue
        model = listed[name]
        assert (spec.dim, spec.model_file, spec.repository, list(spec.extra_files)) == (
            model["dim"],
            model["model_file"],
            model["sources"]["hf"],
            model["additional_files"],
        ), name
    # Names that other tests registered are no models of fastembed's own.
    own = {name for name in listed if not name.startswith(("bearsearch/", "test/"))}
    missing = {name for name in own if not LEFT_OUT.search(name)} - set(catalogue())
    assert not missing


def test_pooling_agrees_with_the_class_that_fastembed_runs_a_model_with() -> None:
    from fastembed import TextEmbedding

    pooling = {"OnnxTextEmbedding": "cls", "PooledEmbedding": "mean", "PooledNormalizedEmbedding": "mean"}
    for kind in TextEmbedding.EMBEDDINGS_REGISTRY:
        for description in kind._list_supported_models():
            spec = catalogue().get(description.model)
            if spec is not None:
                assert spec.pooling == pooling.get(kind.__name__, "fastembed"), description.model


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        (DEFAULT_MODEL, "Represent this sentence for searching relevant passages: ", ""),
        ("snowflake/snowflake-arctic-embed-s", "Represent this sentence for searching relevant passages: ", ""),
        ("snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("mixedbread-ai/mxbai-embed-large-v1", "Represent this sentence for searching relevant passages: ", ""),
        ("nomic-ai/nomic-embed-text-v1.5-Q", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("intfloat/e5-small-v2", "query: ", "passage: "),
        ("BAAI/bge-m3", "", ""),
        (PACKAGE_MODEL, "", ""),
        ("somebody/private-model", "", ""),
        ("base5-model", "", ""),
    ],
)
def test_a_name_brings_the_prefixes_of_its_family(name: str, query: str, document: str) -> None:
    family = family_of(name)
    assert (family.query_prefix, family.document_prefix) == (query, document)


def test_a_name_is_found_in_any_case_and_without_its_owner() -> None:
    found = spec_for(" BGE-small-EN-v1.5 ")
    assert found is not None
    assert found.name == DEFAULT_MODEL
    assert spec_for("no-such-model") is None
    assert spec_for("") is None


def test_a_folder_of_a_known_model_keeps_its_pooling_whatever_the_folder_says() -> None:
    spec = spec_of_folder("bge-small-en-v1.5", model_file="model.onnx", pooling="mean", dim=7)
    assert (spec.pooling, spec.dim, spec.model_file, spec.repository) == ("cls", 384, "model.onnx", None)
    other = spec_of_folder("mine", model_file="x.onnx", pooling="last", dim=7, max_tokens=9)
    assert (other.pooling, other.dim, other.max_tokens, other.family.name) == ("last", 7, 9, "none")

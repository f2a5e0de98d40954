"""The catalogue: what is known of embedding models by name, without loading one.

A spec says where a model's files come from, how wide its vectors are, how many tokens it takes, how its token
vectors become one (pooling), and which prefixes its family was trained with. Folders whose name is not here load
too: `family_of` tells their prefixes. Finding the files is the work of `files.py` and `choose.py`.

Sources of the numbers: each model's own card, and the model list of fastembed 0.9.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, cast

__all__ = [
    "DEFAULT_MODEL",
    "FUSED_MODEL",
    "PACKAGE_MODEL",
    "Family",
    "ModelSpec",
    "Pooling",
    "catalogue",
    "family_of",
    "spec_for",
]

Pooling = Literal["cls", "mean", "last", "fastembed"]
"""Which token vectors make the text's vector: the first, the mean of all real ones, the last real one; "fastembed"
leaves the whole inference to that package, for models that need more than a pooling."""

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
PACKAGE_MODEL = "all-MiniLM-L6-v2 (int8)"
"""Name of the model whose weights the extra `bearsearch[model]` installs."""
FUSED_MODEL = "all-MiniLM-L6-v2 (int8, fused)"
"""The same weights in the faster form that `prepare.py` makes; its vectors differ a little."""


@dataclass(frozen=True, slots=True)
class Family:
    """Models that were trained with the same prefixes."""

    name: str
    query_prefix: str = ""
    document_prefix: str = ""


_PASSAGES = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# The first pattern found in the lower-case name decides, so narrower ones stand first.
_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"bge-m3", Family("bge-m3")),
    (r"bge-.*-zh", Family("bge-zh", "为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large)", Family("bge", _PASSAGES)),
    (r"arctic-embed-.*-v2", Family("arctic-embed-v2", "query: ")),
    (r"arctic-embed", Family("arctic-embed", _PASSAGES)),
    (r"mxbai-embed", Family("mxbai", _PASSAGES)),
    (r"nomic-embed", Family("nomic", "search_query: ", "search_document: ")),
    (r"\be5-.*instruct", Family("e5-instruct", _TASK + " ")),
    (r"\be5-", Family("e5", "query: ", "passage: ")),
    (r"embeddinggemma", Family("embeddinggemma", "task: search result | query: ", "title: none | text: ")),
    (r"qwen3-embedding", Family("qwen3", _TASK)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What is known of one model before it is loaded."""

    name: str
    """What users write and the index stores."""
    family: Family
    dim: int | None
    """Width of a vector; None until the model has been loaded."""
    max_tokens: int | None
    """Longest input in tokens, special tokens included; None leaves it to the tokenizer's own settings."""
    pooling: Pooling
    repository: str | None = None
    """Where a download comes from, as owner/name on the model hub; None when it cannot be downloaded."""
    model_file: str = "model.onnx"
    """The weights, relative to the model's folder."""
    extra_files: tuple[str, ...] = ()
    """Further files that the weights are stored in."""
    download_mb: int | None = None
    """Rough size of the download."""
    floor: float | None = None
    """Cosine of a query and a passage that have nothing to do with each other; None leaves it to be measured."""
    alone: bool = False
    """Whether each text runs by itself, since the model quantizes what it computes with a step for the whole batch:
    a vector would depend on its neighbours."""


_MINILM_FLOOR = 0.02
"""Mean over twenty queries and the passages of six collections about other things."""

# Name, width, longest input in tokens, pooling, repository ("-": none), megabytes, weights and further files.
# Those with pooling "fastembed" need a task, a second output, or a table instead of a network.
_TABLE = """
BAAI/bge-small-en-v1.5  384 512 cls  Qdrant/bge-small-en-v1.5-onnx-Q  67  model_optimized.onnx
BAAI/bge-base-en-v1.5   768 512 cls  Qdrant/bge-base-en-v1.5-onnx-Q   210  model_optimized.onnx
BAAI/bge-large-en-v1.5 1024 512 cls  Qdrant/bge-large-en-v1.5-onnx    1200 model.onnx
BAAI/bge-small-en       384 512 cls  Qdrant/bge-small-en              130  model_optimized.onnx
BAAI/bge-base-en        768 512 cls  Qdrant/fast-bge-base-en          420  model_optimized.onnx
BAAI/bge-small-zh-v1.5  512 512 cls  Qdrant/bge-small-zh-v1.5         90   model_optimized.onnx
BAAI/bge-m3            1024 8192 cls -                                -    model.onnx
mixedbread-ai/mxbai-embed-large-v1 1024 512 cls mixedbread-ai/mxbai-embed-large-v1 640 onnx/model.onnx
snowflake/snowflake-arctic-embed-xs 384 512 cls Snowflake/snowflake-arctic-embed-xs 90 onnx/model.onnx
snowflake/snowflake-arctic-embed-s  384 512 cls Snowflake/snowflake-arctic-embed-s 130 onnx/model.onnx
snowflake/snowflake-arctic-embed-m  768 512 cls Snowflake/snowflake-arctic-embed-m 430 onnx/model.onnx
snowflake/snowflake-arctic-embed-m-long 768 2048 cls Snowflake/snowflake-arctic-embed-m-long 540 onnx/model.onnx
snowflake/snowflake-arctic-embed-l 1024 512 cls Snowflake/snowflake-arctic-embed-l 1020 onnx/model.onnx
sentence-transformers/all-MiniLM-L6-v2 384 256 mean Qdrant/all-MiniLM-L6-v2-onnx 90 model.onnx
nomic-ai/nomic-embed-text-v1     768 8192 mean nomic-ai/nomic-embed-text-v1   520 onnx/model.onnx
nomic-ai/nomic-embed-text-v1.5   768 8192 mean nomic-ai/nomic-embed-text-v1.5 520 onnx/model.onnx
nomic-ai/nomic-embed-text-v1.5-Q 768 8192 mean nomic-ai/nomic-embed-text-v1.5 130 onnx/model_quantized.onnx
jinaai/jina-embeddings-v2-small-en  512 8192 mean Xenova/jina-embeddings-v2-small-en  120 onnx/model.onnx
jinaai/jina-embeddings-v2-base-en   768 8192 mean Xenova/jina-embeddings-v2-base-en   520 onnx/model.onnx
jinaai/jina-embeddings-v2-base-de   768 8192 mean jinaai/jina-embeddings-v2-base-de   640 onnx/model.onnx
jinaai/jina-embeddings-v2-base-es   768 8192 mean jinaai/jina-embeddings-v2-base-es   640 onnx/model.onnx
jinaai/jina-embeddings-v2-base-zh   768 8192 mean jinaai/jina-embeddings-v2-base-zh   640 onnx/model.onnx
jinaai/jina-embeddings-v2-base-code 768 8192 mean jinaai/jina-embeddings-v2-base-code 640 onnx/model.onnx
thenlper/gte-base   768 512 mean thenlper/gte-base     440  onnx/model.onnx
thenlper/gte-large 1024 512 mean Qdrant/gte-large-onnx 1200 model.onnx
sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2 384 128 mean \
Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q 220 model_optimized.onnx
sentence-transformers/paraphrase-multilingual-mpnet-base-v2 768 512 mean \
Xenova/paraphrase-multilingual-mpnet-base-v2 1000 onnx/model.onnx
intfloat/multilingual-e5-large 1024 512 mean Qdrant/multilingual-e5-large-onnx 2240 model.onnx model.onnx_data
google/embeddinggemma-300m 768 2048 fastembed \
onnx-community/embeddinggemma-300m-ONNX 1240 onnx/model.onnx onnx/model.onnx_data
ibm-granite/granite-embedding-small-english-r2 384 8192 fastembed \
onnx-community/granite-embedding-small-english-r2-ONNX 180 onnx/model.onnx onnx/model.onnx_data
Qwen/Qwen3-Embedding-0.6B   1024 32768 fastembed \
Qdrant/Qwen3-Embedding-0.6B-onnx 2380 onnx/model.onnx onnx/model.onnx_data
Qwen/Qwen3-Embedding-0.6B-Q 1024 32768 fastembed Qdrant/Qwen3-Embedding-0.6B-onnx 1120 onnx/model_quantized.onnx
jinaai/jina-embeddings-v3 1024 8192 fastembed jinaai/jina-embeddings-v3 2290 onnx/model.onnx onnx/model.onnx_data
minishlab/potion-base-8M           256 512 fastembed minishlab/potion-base-8M           30  model.safetensors
minishlab/potion-retrieval-32M     512 512 fastembed minishlab/potion-retrieval-32M     129 model.safetensors
minishlab/potion-multilingual-128M 256 512 fastembed minishlab/potion-multilingual-128M 512 model.safetensors
"""


@cache
def catalogue() -> dict[str, ModelSpec]:
    """Every known model by name."""
    specs = [
        _minilm(PACKAGE_MODEL, alone=False),
        _minilm(FUSED_MODEL, alone=True),
        *(_parse(line) for line in _TABLE.strip().splitlines()),
    ]
    return {spec.name: spec for spec in specs}


def _minilm(name: str, *, alone: bool) -> ModelSpec:
    """One of the forms of the weights that `bearsearch[model]` installs."""
    return ModelSpec(
        name=name,
        family=Family("none"),
        dim=384,
        max_tokens=256,
        pooling="mean",
        floor=_MINILM_FLOOR,
        alone=alone,
    )


def _parse(line: str) -> ModelSpec:
    name, dim, max_tokens, pooling, repository, megabytes, model_file, *extra_files = line.split()
    return ModelSpec(
        name=name,
        family=family_of(name),
        dim=int(dim),
        max_tokens=int(max_tokens),
        pooling=cast("Pooling", pooling),
        repository=None if repository == "-" else repository,
        model_file=model_file,
        extra_files=tuple(extra_files),
        download_mb=None if megabytes == "-" else int(megabytes),
    )


def family_of(name: str) -> Family:
    """The family that a model's name tells; one without prefixes when it tells none.

    >>> family_of("intfloat/multilingual-e5-large").document_prefix
    'passage: '
    >>> family_of("all-MiniLM-L6-v2 (int8)").query_prefix
    ''
    """
    lowered = name.lower()
    for pattern, family in _FAMILIES:
        if re.search(pattern, lowered):
            return family
    return Family("none")


def spec_for(name: str) -> ModelSpec | None:
    """The catalogue's entry for a name, in any case, with or without the owner before the slash; None if absent.

    >>> spec_for("bge-small-en-v1.5").name
    'BAAI/bge-small-en-v1.5'
    """
    wanted = name.strip().lower()
    bare: ModelSpec | None = None
    for known, spec in catalogue().items():
        lowered = known.lower()
        if lowered == wanted:
            return spec
        if bare is None and lowered.rsplit("/", 1)[-1] == wanted:
            bare = spec
    return bare


def spec_of_folder(
    name: str, *, model_file: str, pooling: Pooling, dim: int | None = None, max_tokens: int | None = None
) -> ModelSpec:
    """The spec of a model in a folder of the user's: the catalogue's where the name is known, else as given."""
    known = spec_for(name)
    if known is not None:
        return replace(known, model_file=model_file, repository=None)
    return ModelSpec(
        name=name, family=family_of(name), dim=dim, max_tokens=max_tokens, pooling=pooling, model_file=model_file
    )

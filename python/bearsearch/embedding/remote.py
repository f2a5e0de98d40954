"""Embedding at an OpenAI-compatible endpoint, for those who name one in their settings; off otherwise.

The text of notes and queries goes to that endpoint and nowhere else. A failed request is repeated with growing
pauses; a query waits shortly and once, since words answer it all the same. Errors name the endpoint and the status,
never a text or the key.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from bearsearch.config import RemoteSettings
from bearsearch.embedding.calibration import measured_floor
from bearsearch.embedding.choose import ModelChoice, remote_fingerprint
from bearsearch.embedding.runner import check_width, unit
from bearsearch.errors import ModelError, ModelUnavailableError

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RemoteEmbedder", "load_remote"]

QUERY_TIMEOUT_S = 5.0
"""Longest wait for a query's vector, whatever the settings allow for documents."""
QUERY_WINDOWS = 4
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
_REQUEST_CHARS = 200_000
"""Most characters in one request; services refuse larger ones."""
_CHARS_PER_TOKEN = 4
"""A cautious English average; the endpoint's tokenizer is not known here."""


class RemoteEmbedder:
    """Implements `Embedder` over HTTP."""

    def __init__(self, choice: ModelChoice, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Prepares a client; asks the endpoint for one vector where the settings do not say the width.

        Args:
            choice: From `find_model`, with `remote` set.
            sleep: Waits between two tries.

        Raises:
            ModelUnavailableError: The variable that should hold the key is not set.
            ModelError: The endpoint does not answer as it should.
        """
        import httpx

        remote = choice.remote
        if remote is None:
            raise ModelUnavailableError(choice.detail)
        self._remote = remote
        self._sleep = sleep
        self._client = httpx.Client(headers=_headers(remote), timeout=remote.timeout_s)
        weakref.finalize(self, self._client.close)
        self._counting = threading.Lock()
        self.name = str(choice.name)
        self.query_prefix = choice.query_prefix
        self.document_prefix = choice.document_prefix
        self.windowed = 0
        self._floor: float | None = None
        self.max_tokens = max(1, (remote.max_chars - len(self.document_prefix)) // _CHARS_PER_TOKEN)
        self.dim = remote.dim or len(self._ask(["a"], timeout_s=remote.timeout_s, retries=remote.retries)[0])
        self.fingerprint = remote_fingerprint(remote, self.dim, self.query_prefix, self.document_prefix)

    @property
    def floor(self) -> float:
        """See `Embedder.floor`."""
        if self._floor is None:
            self._floor = measured_floor(self)
        return self._floor

    def fluency(self, text: str) -> float:
        """See `Embedder.fluency`: the endpoint does not say how it cuts a text."""
        return 1.0

    def embed_documents(self, texts: Sequence[str], *, threads: int | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed_documents`; `threads` does not matter, the endpoint computes."""
        import numpy as np

        inputs: list[str] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            windows = self._windows(text, self.document_prefix)
            inputs += windows
            owners += [owner] * len(windows)
        sums = np.zeros((len(texts), self.dim), dtype=np.float64)
        start = 0
        for batch in _batches(inputs, self._remote.batch):
            rows = self._vectors(batch, timeout_s=self._remote.timeout_s, retries=self._remote.retries)
            np.add.at(sums, owners[start : start + len(batch)], rows)
            start += len(batch)
        return unit(sums)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`; waits 5 s at most and tries once."""
        windows = self._windows(text[: QUERY_WINDOWS * self._remote.max_chars], self.query_prefix)[:QUERY_WINDOWS]
        timeout_s = min(QUERY_TIMEOUT_S, self._remote.timeout_s)
        return unit(self._vectors(windows, timeout_s=timeout_s, retries=0).mean(axis=0, keepdims=True))[0]

    def _windows(self, text: str, prefix: str) -> list[str]:
        """Prefix and text, or prefix and equal parts of a text that is too long."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        room = max(1, self._remote.max_chars - len(prefix))
        if len(text) <= room:
            # Endpoints refuse an empty input.
            return [prefix + text if (prefix + text).strip() else " ."]
        with self._counting:
            self.windowed += 1
        parts = -(-len(text) // room)
        bounds = [part * len(text) // parts for part in range(parts + 1)]
        return [prefix + text[start:end] for start, end in pairwise(bounds)]

    def _vectors(self, inputs: list[str], *, timeout_s: float, retries: int) -> NDArray[np.float32]:
        import numpy as np

        rows = self._ask(inputs, timeout_s=timeout_s, retries=retries)
        for row in rows:
            check_width(len(row), self.dim, f"{self._remote.model} at {self._remote.base_url}")
        return unit(np.array(rows, dtype=np.float64).reshape(len(inputs), self.dim))

    def _ask(self, inputs: list[str], *, timeout_s: float, retries: int) -> list[list[float]]:
        """One request, repeated while that may help."""
        for attempt in range(retries + 1):
            try:
                return self._request(inputs, timeout_s)
            except _RepeatableError as failure:
                if attempt == retries:
                    raise ModelError(
                        f"the embedding endpoint {self._remote.base_url} {failure.reason}"
                        + (f", {retries + 1} times in a row" if retries else "")
                        + "; the rest waits until it answers again"
                    ) from failure
                pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt)
                self._sleep(min(LONGEST_PAUSE_S, max(pause, failure.wait_s)))
        raise AssertionError("the loop above returns or raises")

    def _request(self, inputs: list[str], timeout_s: float) -> list[list[float]]:
        import httpx

        try:
            response = self._client.post(
                f"{self._remote.base_url}/embeddings",
                json={"model": self._remote.model, "input": inputs, "encoding_format": "float"},
                timeout=timeout_s,
            )
        except httpx.TimeoutException as error:
            raise _RepeatableError(f"did not answer within {timeout_s:g} s") from error
        except httpx.HTTPError as error:
            raise _RepeatableError(f"could not be reached ({type(error).__name__})") from error
        status = response.status_code
        if status == 429 or status >= 500:
            raise _RepeatableError(f"answered with status {status}", wait_s=_retry_after(response))
        if status != 200:
            raise ModelError(
                f"the embedding endpoint {self._remote.base_url} answered with status {status}; {self._advice(status)}"
            )
        try:
            return _rows(response.json(), len(inputs))
        except (ValueError, KeyError, TypeError) as error:
            raise _RepeatableError("answered with something that is no list of embeddings") from error

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            variable = self._remote.api_key_env
            return (
                f"check the key in {variable}"
                if variable
                else "it wants a key: name its variable in remote.api_key_env"
            )
        if status == 404:
            return f"check remote.base_url and remote.model ('{self._remote.model}')"
        return "check the [remote] settings; a text may be longer than its model takes (remote.max_chars)"


class _RepeatableError(Exception):
    """A failure that may be over at the next try."""

    def __init__(self, reason: str, *, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


def load_remote(choice: ModelChoice) -> RemoteEmbedder:
    """Opens the endpoint of a choice.

    Raises:
        ModelError: See `RemoteEmbedder`.
    """
    return RemoteEmbedder(choice)


def _headers(remote: RemoteSettings) -> dict[str, str]:
    if remote.api_key_env is None:
        return {}
    key = os.environ.get(remote.api_key_env, "").strip()
    if not key:
        raise ModelUnavailableError(
            f"the remote endpoint's key should be in the environment variable {remote.api_key_env}, which is not set"
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelUnavailableError(f"the key in {remote.api_key_env} holds characters that no header can carry")
    return {"Authorization": f"Bearer {key}"}


def _batches(inputs: list[str], most: int) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in inputs:
        if batch and (len(batch) == most or chars + len(text) > _REQUEST_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _rows(document: object, count: int) -> list[list[float]]:
    """The embeddings of an answer in the order of the inputs.

    Raises:
        ValueError: There is not exactly one for each input; KeyError and TypeError for other shapes.
    """
    data = cast("dict[str, list[dict[str, object]]]", document)["data"]
    rows: dict[int, list[float]] = {}
    for place, entry in enumerate(data):
        numbers = cast("list[float]", entry["embedding"])
        rows[int(cast("int", entry.get("index", place)))] = [float(number) for number in numbers]
    if sorted(rows) != list(range(count)) or not all(rows.values()):
        raise ValueError("another number of embeddings than inputs")
    return [rows[place] for place in range(count)]


def _retry_after(response: httpx.Response) -> float:
    """Seconds that the endpoint asks to wait; 0 where it does not say so in seconds."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0

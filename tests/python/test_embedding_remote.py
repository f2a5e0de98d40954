"""A remote endpoint: a real HTTP server on the loopback address, that also answers late, wrongly or not at all."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bearsearch.config import Settings, load_settings
from bearsearch.embedding import find_model, load_embedder
from bearsearch.embedding.remote import LONGEST_PAUSE_S, RemoteEmbedder
from bearsearch.errors import EmbeddingDimensionError, ModelError, ModelUnavailableError

DIM = 6


class Endpoint:
    """Answers as told by `plan`, one entry for each request, and rightly once that is used up."""

    def __init__(self) -> None:
        self.plan: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.release = threading.Event()
        """Set at the end, so that answers held back do not hold up the server's end."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                endpoint._answer(self)

            def log_message(self, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.requests.append({"path": request.path, **body})
        self.keys.append(request.headers["Authorization"])
        how = self.plan.pop(0) if self.plan else "right"
        if how == "slow":
            self.release.wait()
            return
        if how == "gone":
            request.connection.close()
            request.close_connection = True
            return
        if how.startswith("status"):
            self._send(
                request, int(how.split()[1]), b"{}", {"Retry-After": how.split()[2]} if how.count(" ") > 1 else {}
            )
            return
        data = [{"index": i, "embedding": vector(text).tolist()} for i, text in enumerate(body["input"])]
        if how == "reversed":
            data.reverse()
        elif how == "too few":
            data.pop()
        elif how == "narrow":
            data = [{**entry, "embedding": entry["embedding"][:-1]} for entry in data]
        elif how == "nan":
            data[0]["embedding"] = [float("nan")] * DIM
        answer = {"words": b'{"message": "hello"}', "html": b"<html>"}.get(how) or json.dumps({"data": data}).encode()
        self._send(request, 200, answer[: len(answer) // 2] if how == "half" else answer, {}, len(answer))

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str],
        size: int | None = None,
    ) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body) if size is None else size))
        request.end_headers()
        request.wfile.write(body)
        if size not in (None, len(body)):
            request.close_connection = True


def vector(text: str) -> np.ndarray[Any, Any]:
    """A fixed vector of any length for each text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return np.frombuffer(digest[:DIM], dtype=np.uint8).astype(np.float64) - 100.0


def expected(text: str) -> np.ndarray[Any, Any]:
    raw = vector(text)
    return raw / np.linalg.norm(raw)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    yield running
    running.close()


def settings_for(tmp_path: Path, endpoint: Endpoint, **changes: object) -> Settings:
    remote = {"base_url": endpoint.url, "model": "some-model", "dim": DIM, "timeout_s": 20, "retries": 3, **changes}
    settings = load_settings(environ={"BEARSEARCH_HOME": str(tmp_path)})
    return settings.override({f"remote.{name}": value for name, value in remote.items()})


def embedder_for(tmp_path: Path, endpoint: Endpoint, **changes: object) -> tuple[RemoteEmbedder, list[float]]:
    """An embedder that notes its pauses instead of making them."""
    pauses: list[float] = []
    return RemoteEmbedder(find_model(settings_for(tmp_path, endpoint, **changes)), sleep=pauses.append), pauses


def test_it_is_off_unless_named_and_says_where_texts_go(tmp_path: Path, endpoint: Endpoint) -> None:
    assert find_model(load_settings(environ={"BEARSEARCH_HOME": str(tmp_path)})).origin == "package"
    choice = find_model(settings_for(tmp_path, endpoint))
    assert (choice.name, choice.origin, choice.available) == ("remote some-model", "remote", True)
    assert f"some-model at {endpoint.url}: the text of notes and queries is sent there" == choice.detail
    assert endpoint.requests == []


def test_a_local_model_that_is_named_wins_over_the_endpoint(tmp_path: Path, endpoint: Endpoint) -> None:
    named = settings_for(tmp_path, endpoint).override({"model": "all-MiniLM-L6-v2"})
    assert find_model(named).origin == "package"


def test_texts_become_unit_rows_in_their_order_in_batches(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint, batch=2)
    endpoint.plan = ["right", "reversed"]
    texts = ["one", "two", "three", "four", "five"]
    vectors = embedder.embed_documents(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [expected(text) for text in texts], atol=1e-6)
    assert [request["input"] for request in endpoint.requests] == [["one", "two"], ["three", "four"], ["five"]]
    assert {request["path"] for request in endpoint.requests} == {"/v1/embeddings"}
    assert {request["model"] for request in endpoint.requests} == {"some-model"}
    np.testing.assert_allclose(embedder.embed_query("one"), expected("one"), atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, DIM)


def test_the_key_comes_from_the_named_variable_and_is_sent_as_a_bearer(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    embedder, _ = embedder_for(tmp_path, endpoint, api_key_env="MY_KEY")
    embedder.embed_query("a")
    assert endpoint.keys == ["Bearer s3cret"]
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ModelUnavailableError, match="MY_KEY, which is not set"):
        embedder_for(tmp_path, endpoint, api_key_env="MY_KEY")


@pytest.mark.parametrize("how", ["status 500", "status 503", "status 429", "gone", "half", "words", "html", "too few"])
def test_a_failure_that_may_pass_is_tried_again_with_growing_pauses(
    tmp_path: Path, endpoint: Endpoint, how: str
) -> None:
    embedder, pauses = embedder_for(tmp_path, endpoint)
    endpoint.plan = [how, how, how]
    np.testing.assert_allclose(embedder.embed_documents(["a"])[0], expected("a"), atol=1e-6)
    assert pauses == [0.5, 1.0, 2.0]
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize("how", ["status 500", "gone", "half", "words"])
def test_a_failure_that_stays_is_one_sentence_without_text_or_key(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    embedder, _ = embedder_for(tmp_path, endpoint, api_key_env="MY_KEY")
    endpoint.plan = [how] * 4
    with pytest.raises(ModelError, match="4 times in a row") as caught:
        embedder.embed_documents(["private words"])
    assert endpoint.url in str(caught.value)
    assert "private" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_endpoint_may_ask_for_a_longer_pause_but_not_for_any(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, pauses = embedder_for(tmp_path, endpoint)
    endpoint.plan = ["status 429 7", "status 429 86400", "status 503 soon"]
    embedder.embed_documents(["a"])
    assert pauses == [7.0, LONGEST_PAUSE_S, 2.0]


@pytest.mark.parametrize(
    ("how", "advice"),
    [
        ("status 401", "remote.api_key_env"),
        ("status 404", "remote.model ('some-model')"),
        ("status 400", "remote.max_chars"),
    ],
)
def test_a_refusal_is_not_repeated_and_says_what_to_check(
    tmp_path: Path, endpoint: Endpoint, how: str, advice: str
) -> None:
    embedder, pauses = embedder_for(tmp_path, endpoint)
    endpoint.plan = [how]
    with pytest.raises(ModelError) as caught:
        embedder.embed_documents(["a"])
    assert advice in str(caught.value)
    assert pauses == []
    assert len(endpoint.requests) == 1


def test_vectors_of_another_width_are_refused(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint)
    endpoint.plan = ["narrow"]
    with pytest.raises(EmbeddingDimensionError, match=f"answered with {DIM - 1} dimensions, expected {DIM}"):
        embedder.embed_documents(["a", "b"])


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint)
    endpoint.plan = ["nan"]
    with pytest.raises(ModelError, match="not finite"):
        embedder.embed_documents(["a", "b"])


def test_an_answer_that_does_not_come_in_time_is_a_failure(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, pauses = embedder_for(tmp_path, endpoint, timeout_s=0.05, retries=1)
    endpoint.plan = ["slow", "slow"]
    with pytest.raises(ModelError, match=r"did not answer within 0\.05 s, 2 times in a row"):
        embedder.embed_documents(["a"])
    assert pauses == [0.5]


def test_a_query_is_tried_once_so_that_words_can_answer(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, pauses = embedder_for(tmp_path, endpoint)
    endpoint.plan = ["status 500"]
    with pytest.raises(ModelError, match="answered with status 500; the rest waits"):
        embedder.embed_query("a")
    assert pauses == []


def test_an_endpoint_that_is_not_there_is_one_sentence(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint, base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1 could not be reached \(ConnectError\)"):
        embedder.embed_documents(["a"])


def test_without_a_width_in_the_settings_the_first_answer_tells_it(tmp_path: Path, endpoint: Endpoint) -> None:
    settings = settings_for(tmp_path, endpoint)
    assert settings.remote is not None
    told = find_model(settings)
    untold = find_model(settings.override({"remote.model": "some-model"}))
    assert told.fingerprint == untold.fingerprint
    asked = load_settings(environ={"BEARSEARCH_HOME": str(tmp_path)}).override(
        {"remote.base_url": endpoint.url, "remote.model": "some-model"}
    )
    choice = find_model(asked)
    assert choice.fingerprint is None
    embedder = load_embedder(choice, asked)
    assert (embedder.dim, embedder.fingerprint) == (DIM, told.fingerprint)


def test_prefixes_follow_the_family_of_the_endpoints_model(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint, model="nomic-embed-text")
    embedder.embed_documents(["a"])
    embedder.embed_query("b")
    assert [request["input"] for request in endpoint.requests] == [["search_document: a"], ["search_query: b"]]


def test_long_texts_are_sent_in_windows_and_counted(tmp_path: Path, endpoint: Endpoint) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint, max_chars=64)
    text = "0123456789" * 15
    vectors = embedder.embed_documents(["short", text])
    sent = endpoint.requests[0]["input"]
    assert sent == ["short", text[:50], text[50:100], text[100:]]
    mean = np.mean([expected(part) for part in sent[1:]], axis=0)
    np.testing.assert_allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-6)
    assert embedder.windowed == 1
    embedder.embed_query("x" * 1_000_000)
    assert sum(map(len, endpoint.requests[-1]["input"])) == 4 * 64


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "\0"])
def test_texts_without_anything_to_embed_still_get_a_vector(tmp_path: Path, endpoint: Endpoint, text: str) -> None:
    embedder, _ = embedder_for(tmp_path, endpoint)
    assert embedder.embed_documents([text]).shape == (1, DIM)
    assert all(sent.strip() for sent in endpoint.requests[0]["input"])

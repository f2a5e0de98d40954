"""A model hub on the loopback address: as much of its HTTP interface as a download through fastembed uses.

The real hub is not reached from a test. What runs here is the real client against this server, which can also
stop in the middle of a file.
"""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Serves one repository's files from a folder; a context manager."""

    def __init__(self, repository: str, folder: Path, *, large_suffix: str = ".onnx") -> None:
        """Files with `large_suffix` are announced as large ones, stored by their SHA-256."""
        self.repository = repository
        self.files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
        self.large_suffix = large_suffix
        self.break_after: int | None = None
        """Bytes of a large file after which the connection ends."""
        self.fetched: list[str] = []
        """Names of the files whose bytes were asked for."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub._answer(self, with_body=True)

            def do_HEAD(self) -> None:
                hub._answer(self, with_body=False)

            def log_message(self, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """What `HF_ENDPOINT` is set to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeHub:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def etag(self, name: str) -> str:
        """SHA-256 for a large file, a shorter hash for others, as on the hub."""
        data = self.files[name].read_bytes()
        return hashlib.sha256(data).hexdigest() if self._is_large(name) else hashlib.sha1(data).hexdigest()

    def _is_large(self, name: str) -> bool:
        return name.endswith(self.large_suffix)

    def _answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        path = urlsplit(request.path).path
        api = f"/api/models/{self.repository}"
        if path in (api, f"{api}/revision/main", f"{api}/revision/{REVISION}"):
            siblings = [{"rfilename": name} for name in self.files]
            self._json(request, {"id": self.repository, "sha": REVISION, "siblings": siblings, "private": False})
        elif path.startswith(f"{api}/tree/"):
            self._json(request, [self._entry(name) for name in self.files])
        elif path.startswith(f"/{self.repository}/resolve/"):
            self._file(request, path.split("/", 5)[5], with_body=with_body)
        else:
            request.send_error(404)

    def _entry(self, name: str) -> dict[str, object]:
        size = self.files[name].stat().st_size
        entry: dict[str, object] = {"type": "file", "path": name, "size": size, "oid": self.etag(name)}
        if self._is_large(name):
            entry["lfs"] = {"oid": self.etag(name), "size": size, "pointerSize": 134}
        return entry

    def _json(self, request: BaseHTTPRequestHandler, value: object) -> None:
        body = json.dumps(value).encode("utf-8")
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _file(self, request: BaseHTTPRequestHandler, name: str, *, with_body: bool) -> None:
        if name not in self.files:
            request.send_response(404)
            request.send_header("X-Error-Code", "EntryNotFound")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        data = self.files[name].read_bytes()
        start = 0
        asked = request.headers.get("Range", "")
        if with_body and asked.startswith("bytes="):
            start = int(asked.removeprefix("bytes=").split("-")[0])
        request.send_response(206 if start else 200)
        request.send_header("ETag", f'"{self.etag(name)}"')
        request.send_header("X-Repo-Commit", REVISION)
        request.send_header("Accept-Ranges", "bytes")
        request.send_header("Content-Length", str(len(data) - start))
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if self._is_large(name):
            request.send_header("X-Linked-Size", str(len(data)))
            request.send_header("X-Linked-Etag", f'"{self.etag(name)}"')
        request.end_headers()
        if not with_body:
            return
        self.fetched.append(name)
        end = len(data) if self.break_after is None or not self._is_large(name) else start + self.break_after
        request.wfile.write(data[start:end])
        if end < len(data):
            request.wfile.flush()
            request.close_connection = True

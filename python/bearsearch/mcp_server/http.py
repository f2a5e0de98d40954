"""The server over streamable HTTP, for programs on this machine that cannot start it themselves.

Listens on the loopback address only. Every request needs the token, and a Host (and Origin, if it has one) of this
machine, so that neither another user nor a web page that the browser opened can read notes.
"""

import contextlib
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bearsearch.config import make_private_folder
from bearsearch.errors import UsageError

if TYPE_CHECKING:
    from bearsearch.mcp_server.app import NotesServer

__all__ = ["DEFAULT_PORT", "PATH", "TOKEN_VARIABLE", "Guard", "serve_http", "token_of"]

HOST = "127.0.0.1"
DEFAULT_PORT = 8765
PATH = "/mcp"

TOKEN_VARIABLE = "BEARSEARCH_MCP_TOKEN"
MINIMUM_TOKEN = 16

SHUTDOWN_S = 1
"""How long open streams may take when the server is told to end."""


def token_of(folder: Path) -> tuple[str, str]:
    """The token that clients must send, and where it comes from.

    From the environment, else from a file in `folder` that only its owner can read; made when there is none.

    Raises:
        UsageError: The token is too short to be safe, or the file cannot be written.
    """
    given = os.environ.get(TOKEN_VARIABLE, "").strip()
    if given:
        return _long_enough(given, TOKEN_VARIABLE), TOKEN_VARIABLE
    path = folder / "mcp-token"
    try:
        make_private_folder(folder)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _long_enough(path.read_text(encoding="utf-8").strip(), f"'{path}'"), f"'{path}'"
        token = secrets.token_urlsafe(32)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(token + "\n")
    except OSError as error:
        raise UsageError(f"the token cannot be kept in '{path}': {error.strerror}; set {TOKEN_VARIABLE}") from error
    return token, f"'{path}'"


def _long_enough(token: str, origin: str) -> str:
    if len(token) < MINIMUM_TOKEN:
        raise UsageError(f"the token of {origin} has {len(token)} characters; it needs {MINIMUM_TOKEN} or more")
    return token


class Guard:
    """Lets a request through that comes from this machine, by name, and has the token.

    Args:
        app: What is guarded.
        token: What `Authorization: Bearer` must carry.
        port: Port that the server listens on.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode("utf-8")
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = self._refusal(Headers(scope=scope))
            await (refused or self._app)(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This server answers to the names of this machine only.", status_code=421)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return PlainTextResponse("This server does not answer to web pages.", status_code=403)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(token.strip().encode("utf-8"), self._token):
            return PlainTextResponse(
                "Send the server's token: `Authorization: Bearer TOKEN`.",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
        return None


def serve_http(app: "NotesServer", *, port: int, token: str, on_ready: Callable[[str], object]) -> None:
    """Serve until the process is told to end.

    Args:
        app: The server.
        port: Port to listen on; 0 takes a free one.
        token: What clients must send.
        on_ready: Called with the address when it listens.

    Raises:
        UsageError: The port is taken, or not allowed.
    """
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from error
    port = listener.getsockname()[1]
    hosts = [f"{HOST}:{port}", f"localhost:{port}", f"[::1]:{port}"]
    web = app.streamable_http_app(
        streamable_http_path=PATH,
        host=HOST,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    config = uvicorn.Config(
        Guard(web, token=token, port=port),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    listener.listen(128)
    on_ready(f"http://{HOST}:{port}{PATH}")
    # Uvicorn raises the signal again after it has ended in order.
    with contextlib.closing(listener), contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])

"""Starts the server as the program would, from what its settings say, and talks to it once."""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from bearsearch.errors import HostError

__all__ = ["Answer", "greet"]

TIMEOUT_S = 60
"""What the strictest known program waits for a server's first answer, doubled."""


class Answer(NamedTuple):
    """What the server said."""

    version: str
    tools: tuple[str, ...]
    documents: int
    seconds: float
    """From the start of the process to the list of its tools."""


def greet(entry: Mapping[str, Any]) -> Answer:
    """Start what a settings entry names, with the few variables of a program with windows, and ask for tools and state.

    Args:
        entry: As `bearsearch.install.settings.read_entry` gives it.

    Raises:
        HostError: It cannot be started, or does not answer as it should.
    """
    try:
        return asyncio.run(asyncio.wait_for(_greet(entry), TIMEOUT_S))
    except TimeoutError as error:
        raise HostError(f"the server did not answer within {TIMEOUT_S} seconds") from error
    except HostError:
        raise
    except Exception as error:
        reason = _innermost(error)
        raise HostError(f"the server could not be started or asked: {type(reason).__name__}: {reason}") from error


async def _greet(entry: Mapping[str, Any]) -> Answer:
    from mcp import Client, StdioServerParameters

    started = time.perf_counter()
    server = StdioServerParameters(
        command=str(entry["command"]),
        args=[str(argument) for argument in entry.get("args", ())],
        env=_poor_environment() | {str(name): str(value) for name, value in entry.get("env", {}).items()},
    )
    async with Client(server) as client:
        tools = tuple(tool.name for tool in (await client.list_tools()).tools)
        seconds = time.perf_counter() - started
        status = await client.call_tool("index_status", {})
        if status.is_error or status.structured_content is None:
            raise HostError(f"the server answers, but its index does not: {_text(status.content)}")
        version = client.server_info.version if client.server_info else ""
        return Answer(version, tools, int(status.structured_content["documents"]), seconds)


def _poor_environment() -> dict[str, str]:
    """What a program with windows hands on: a home and the system's own folders."""
    if sys.platform == "win32":
        return {}
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(Path.home())}


def _text(content: object) -> str:
    return " ".join(getattr(part, "text", "") for part in content) if isinstance(content, list) else ""  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error

"""How another program starts this installation: absolute paths only.

Programs with windows do not have the `PATH` of a terminal, nor its environment, nor the folder that it was in.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Launch", "launch"]

KEPT_VARIABLES = ("BEARSEARCH_HOME",)
"""Variables that name a place and would be missed; any other setting belongs into the settings file."""


class Launch(NamedTuple):
    """A command as a settings file holds it."""

    command: str
    """Absolute path of a program."""
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def launch(arguments: Sequence[str] = (), *, environ: Mapping[str, str] | None = None) -> Launch:
    """The command that starts the MCP server of this installation.

    Args:
        arguments: Options for the server.
        environ: The environment; None takes the process's.
    """
    environ = os.environ if environ is None else environ
    kept = {name: str(Path(environ[name]).absolute()) for name in KEPT_VARIABLES if environ.get(name)}
    program, *first = _program()
    return Launch(program, (*first, *arguments), kept)


def _program() -> list[str]:
    uvx = shutil.which("uvx")
    if "archive-v0" in Path(sys.prefix).parts and uvx is not None:
        # uv's own cache, which it may clear: uvx finds or makes the installation again.
        return [str(Path(uvx).absolute()), "--from", "bearsearch", "bearsearch-mcp"]
    name = "bearsearch-mcp.exe" if sys.platform == "win32" else "bearsearch-mcp"
    script = Path(sysconfig.get_path("scripts")) / name
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script.absolute())]
    return [str(Path(sys.executable).absolute()), "-m", "bearsearch", "mcp"]

"""The programs that can use the server: where each keeps its settings, and what an entry looks like there."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearsearch.install.launch import Launch

__all__ = ["HOSTS", "NAME", "Host"]

NAME = "bearsearch"
"""The entry's name in every program."""


def _plain(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": launch.command, "args": list(launch.arguments)}
    return entry | ({"env": dict(launch.environment)} if launch.environment else {})


def _stdio(launch: Launch) -> dict[str, Any]:
    return {"type": "stdio"} | _plain(launch)


def _zed(launch: Launch) -> dict[str, Any]:
    return {"source": "custom"} | _plain(launch)


@dataclass(frozen=True, slots=True)
class Host:
    """One program."""

    name: str
    """What a person types."""
    title: str
    path: Callable[[], Path]
    """Its settings file."""
    keys: tuple[str, ...]
    """Where the servers stand in it."""
    entry: Callable[[Launch], Mapping[str, Any]]
    after: str
    """What the person does next."""
    toml: bool = False


def _application_data(*, macos: str, linux: str, windows: str) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / macos
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / windows
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / linux


def _claude_desktop() -> Path:
    name = "Claude/claude_desktop_config.json"
    return _application_data(macos=name, linux=name, windows=name)


def _vscode() -> Path:
    name = "Code/User/mcp.json"
    return _application_data(macos=name, linux=name, windows=name)


def _zed_settings() -> Path:
    if sys.platform == "win32":
        return _application_data(macos="", linux="", windows="Zed/settings.json")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "zed" / "settings.json"


def _codex() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host(
            name="claude-desktop",
            title="Claude Desktop",
            path=_claude_desktop,
            keys=("mcpServers",),
            entry=_plain,
            after="quit Claude Desktop and start it again",
        ),
        Host(
            name="claude-code",
            title="Claude Code",
            path=lambda: Path.home() / ".claude.json",
            keys=("mcpServers",),
            entry=_stdio,
            after="start a new session of Claude Code",
        ),
        Host(
            name="cursor",
            title="Cursor",
            path=lambda: Path.home() / ".cursor" / "mcp.json",
            keys=("mcpServers",),
            entry=_plain,
            after="switch the server on in Cursor's settings, under MCP",
        ),
        Host(
            name="vscode",
            title="VS Code",
            path=_vscode,
            keys=("servers",),
            entry=_stdio,
            after="run the command `MCP: List Servers` in VS Code and start it",
        ),
        Host(
            name="codex",
            title="Codex",
            path=_codex,
            keys=("mcp_servers",),
            entry=_plain,
            after="start a new session of Codex",
            toml=True,
        ),
        Host(
            name="zed",
            title="Zed",
            path=_zed_settings,
            keys=("context_servers",),
            entry=_zed,
            after="Zed starts the server by itself; its agent panel lists the tools",
        ),
    )
}
"""By name, in the order of the help."""

"""How a note is opened: in Bear at the heading that was found, in Obsidian, by the desktop, or in an editor."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from bearsearch.errors import UsageError

__all__ = ["editor_command", "file_of", "open_command", "url_to_open"]

_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "ne", "joe")
_AT_LINE = {
    **dict.fromkeys(_PLUS, ("+{line}", "{path}")),
    **dict.fromkeys(("hx", "helix", "subl", "zed", "mate"), ("{path}:{line}",)),
    **dict.fromkeys(("code", "codium", "cursor"), ("--goto", "{path}:{line}")),
}
"""How editors are told the line, by program; others get the file alone."""


def file_of(url: str | None) -> Path | None:
    """The file that a note's address names; None for a note that is no file of its own."""
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    if parts.scheme == "obsidian" and parts.query.startswith("path="):
        return Path(unquote(parts.query.removeprefix("path=")))
    return None


def url_to_open(url: str, *, heading: str = "") -> str:
    """The address that shows a note in its own program, at a heading where that program can go to one.

    Args:
        url: The note's address.
        heading: Heading path of the passage, joined by " > "; empty at the top of the note.
    """
    last = heading.rpartition(" > ")[2]
    if url.startswith("bear://x-callback-url/open-note?") and last:
        return f"{url}&header={quote(last, safe='')}"
    path = file_of(url)
    if path is not None and url.startswith("file:") and any((parent / ".obsidian").is_dir() for parent in path.parents):
        return f"obsidian://open?path={quote(str(path), safe='')}"
    return url


def open_command(url: str, *, platform: str = sys.platform) -> list[str]:
    """The command that hands an address to the desktop.

    Raises:
        UsageError: This desktop has no such command.
    """
    if platform == "darwin":
        return ["/usr/bin/open", url]
    if platform == "win32":
        # `start` would read & in an address as a second command.
        return ["rundll32", "url.dll,FileProtocolHandler", url]
    opener = shutil.which("xdg-open")
    if opener is None:
        raise UsageError("no program opens addresses here (xdg-open is not installed); copy the link instead")
    return [opener, url]


def open_url(url: str) -> None:
    """Hand an address to the desktop and do not wait for it.

    Raises:
        UsageError: It cannot be handed over.
    """
    try:
        subprocess.Popen(
            open_command(url), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise UsageError(f"{url} could not be opened: {error.strerror or error}") from error


def editor_command(path: Path, line: int, environ: Mapping[str, str] | None = None) -> list[str]:
    """The command that edits a file, at a line where the editor can be told.

    Args:
        path: The file.
        line: From 1.
        environ: Environment to read `VISUAL` and `EDITOR` from; None reads the process's.

    Raises:
        UsageError: No editor is named, and none of the usual ones is installed.
    """
    env = os.environ if environ is None else environ
    wanted = env.get("VISUAL") or env.get("EDITOR")
    if wanted:
        program = shlex.split(wanted, posix=os.name == "posix")
    else:
        found = next((one for one in ("nvim", "vim", "nano", "vi") if shutil.which(one, path=env.get("PATH"))), None)
        if found is None:
            raise UsageError("no editor is named; set EDITOR")
        program = [found]
    name = Path(program[0]).stem.lower()
    return program + [part.format(path=path, line=line) for part in _AT_LINE.get(name, ("{path}",))]

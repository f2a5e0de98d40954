"""Bear's own command line program, which creates a note and answers with its id (Bear 2.8 and later, macOS).

It is called as its help describes; nothing else of it is used. Nobody here can run it: its tests use a program of the
same interface.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from bearsearch.errors import SourceError

__all__ = ["BEARCLI", "create_note", "installed"]

BEARCLI = Path("/Applications/Bear.app/Contents/MacOS/bearcli")

_USAGE = 64
"""Exit code for a call that this version does not know."""

_TIMEOUT_S = 20


def installed(program: Path = BEARCLI) -> bool:
    """Whether the program is there."""
    return program.is_file()


def create_note(*, title: str, content: str, tags: Sequence[str], program: Path = BEARCLI) -> tuple[bool, str | None]:
    """Asks Bear to create a note.

    Args:
        title: One line.
        content: The text below it. Goes through standard input, where nothing of it is read as an option or an escape.
        tags: Names without `#`.
        program: The program to run.

    Returns:
        Whether Bear took the note, and its id if Bear named it. `(False, None)` means that nothing was created, because
        this version of the program is called in another way.

    Raises:
        SourceError: Bear refused; the message is Bear's.
    """
    command = [str(program), "create", title, "--format", "json", "--fields", "id"]
    if tags:
        command += ["--tags", ",".join(tags)]
    try:
        done = subprocess.run(
            command, input=content, capture_output=True, timeout=_TIMEOUT_S, check=False, text=True, encoding="utf-8"
        )
    except FileNotFoundError:
        return False, None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(
            f"Bear could not be asked to create the note: {type(error).__name__}; look in Bear whether it is there"
        ) from error
    if done.returncode == _USAGE:
        return False, None
    if done.returncode != 0:
        reason = " ".join(done.stderr.split())[:200] or f"exit code {done.returncode}"
        raise SourceError(f"Bear did not create the note: {reason}")
    return True, _id_in(done.stdout)


def _id_in(text: str) -> str | None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    if isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    found = cast("dict[str, Any]", value).get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) and found else None

"""A new note in a folder of Markdown: a file of its own that never takes another one's place."""

import contextlib
import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from bearsearch.errors import SourceError, SourceNotFoundError, SourcePermissionError, UsageError

__all__ = ["MAXIMUM_NAME_BYTES", "create_file", "file_stem", "inline_tag", "note_text"]

MAXIMUM_NAME_BYTES = 200
"""File systems take 255 bytes; ` 99.md` and what sync programs add need room."""

MAXIMUM_TRIES = 1000

# What Windows, macOS or a sync program refuses in a name, and what a wikilink cannot hold.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*#^\[\]]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_stem(title: str) -> str:
    """The title as a file name without its ending, which every system takes.

    >>> file_stem("Trip: Vienna/Venice?"), file_stem("..hidden"), file_stem("   ")
    ('Trip Vienna Venice', 'hidden', 'Untitled')
    """
    # Characters that nobody sees would make two names that look the same.
    shown = "".join(c for c in unicodedata.normalize("NFC", title) if unicodedata.category(c) not in ("Cf", "Cs", "Co"))
    name = " ".join(_UNSAFE.sub(" ", shown).split()).strip(". ")
    name = name.encode("utf-8")[:MAXIMUM_NAME_BYTES].decode("utf-8", errors="ignore").strip(". ")
    if not name:
        return "Untitled"
    return f"{name}_" if _RESERVED.fullmatch(name) else name


def inline_tag(tag: str) -> str:
    """A tag as it stands in a text, with hyphens for the spaces that most programs do not allow there.

    Raises:
        UsageError: Nothing of it is left, or only digits are, which are no tag.

    >>> inline_tag("#travel/night trains")
    '#travel/night-trains'
    """
    name = re.sub(r"[^\w/-]", "", "-".join(tag.strip().strip("#").split())).strip("/")
    if not name or name.replace("/", "").isdigit():
        raise UsageError(f"a tag has letters, but {tag!r} came")
    return f"#{name}"


def note_text(*, title: str, content: str, tags: Sequence[str]) -> str:
    """The file: title as heading, tags on a line of their own, then the content.

    Raises:
        UsageError: Title and content are both empty, or a tag has no meaning.
    """
    heading = " ".join(title.split())
    if not heading and not content.strip():
        raise UsageError("a note needs a title or some content, but both are empty")
    parts = [f"# {heading}"] if heading else []
    if tags:
        parts.append(" ".join(dict.fromkeys(inline_tag(tag) for tag in tags)))
    if content.strip():
        parts.append(content.strip("\n"))
    return "\n\n".join(parts) + "\n"


def create_file(root: Path, *, title: str, content: str = "", tags: Sequence[str] = ()) -> Path:
    """Writes a new file below `root`; when the name is taken, the next free one: `Title 2.md`, `Title 3.md`.

    Returns:
        The file's path. It is whole, and on disk.

    Raises:
        UsageError: As `note_text`.
        SourceError: The folder is not there, or the file cannot be written; then no file is left behind.
    """
    text = note_text(title=title, content=content, tags=tags).encode("utf-8", errors="replace")
    first_line = title if title.strip() else content.strip().splitlines()[0].lstrip("# ")
    stem = file_stem(first_line)
    if not root.is_dir():
        raise SourceNotFoundError(f"there is no folder '{root}' to write the note into; is its disk connected?")
    for number in range(1, MAXIMUM_TRIES):
        path = root / (f"{stem}.md" if number == 1 else f"{stem} {number}.md")
        try:
            # Exclusive: a file that is there, or appears in this moment, is never opened.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        except FileExistsError:
            continue
        except PermissionError as error:
            raise SourcePermissionError(f"the system does not allow to write into '{root}'") from error
        except OSError as error:
            raise SourceError(f"the note could not be written into '{root}': {error.strerror}") from error
        _fill(descriptor, path, text)
        return path
    raise UsageError(f'there are already {MAXIMUM_TRIES:,} notes named "{stem}"; choose another title')


def _fill(descriptor: int, path: Path, text: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise SourceError(f"the note could not be written to '{path}': {error.strerror}") from error
    if sys.platform != "win32":
        # The name is on disk only when its folder is.
        with contextlib.suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

"""One new note: through Bear where the notes are Bear's, as a new file where they are a folder of Markdown.

Nothing here reads the index; `bearsearch.service` chooses the source and confirms that the note arrived.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bearsearch import bear_url, bearcli
from bearsearch.errors import UsageError
from bearsearch.new_file import create_file

__all__ = ["Written", "in_bear", "in_folder", "one_line"]


class Written(NamedTuple):
    """What was asked for, and what is known of it already."""

    note_id: str | None
    how: str
    """Through what: bearcli, bear url, or file."""


def one_line(title: str) -> str:
    """The title as one line; line breaks and tabs become spaces."""
    return " ".join(title.split())


def in_bear(*, title: str, content: str, tags: Sequence[str]) -> Written:
    """Asks Bear: its own program answers with the id; its URL scheme, for older versions, does not answer.

    Raises:
        UsageError: Title and content are both empty, a tag has no meaning, or the note is too long.
        SourceError: There is no Bear, or it refused.
    """
    bear_url.create_note_url(title=title, content=content, tags=tags)  # the same conditions hold for both ways
    if title.strip() and bearcli.installed(bearcli.BEARCLI):
        names = [tag.strip().strip("#").strip() for tag in tags]
        if any("," in name for name in names):
            raise UsageError("a tag for Bear has no comma; send each tag as an entry of its own")
        created, note_id = bearcli.create_note(
            title=one_line(title), content=content, tags=names, program=bearcli.BEARCLI
        )
        if created:
            return Written(note_id, "bearcli")
    bear_url.create_note(title=title, content=content, tags=tags)
    return Written(None, "bear url")


def in_folder(root: str, *, title: str, content: str, tags: Sequence[str]) -> Written:
    """Writes a new file; its id is its name.

    Raises:
        UsageError: Title and content are both empty, or a tag has no meaning.
        SourceError: The file cannot be written.
    """
    return Written(create_file(Path(root), title=title, content=content, tags=tags).name, "file")

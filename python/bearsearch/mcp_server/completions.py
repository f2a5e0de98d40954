"""What a program offers while a person types an argument: tags, titles, ids and names of sources."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from mcp_types import Completion

from bearsearch.mcp_server.library import Library
from bearsearch.render.visible import for_model

__all__ = ["Completions"]

MAXIMUM = 100
"""Values that the protocol allows in one answer."""


class Named(NamedTuple):
    """A note as a completion needs it."""

    source: str
    id: str
    title: str


class Completions:
    """The completions over one library of notes."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def of(self, argument: str, typed: str, *, source: str = "") -> Completion:
        """Values for an argument.

        Args:
            argument: Its name, in a prompt or in a resource's address.
            typed: What stands there so far.
            source: Name of the source that an id belongs to, where it is known.
        """
        if argument == "tag":
            tags = sorted(self._library.index().tags(), key=lambda tag: -tag.count)
            return _completion(_matching((tag.name for tag in tags), typed.lstrip("#")))
        if argument == "source":
            return _completion(_matching((row.name for row in self._library.index().status().sources), typed))
        if argument == "title":
            return _completion(dict.fromkeys(note.title for note in self._notes(typed) if note.title))
        if argument == "note_id":
            wanted = unquote(source)
            return _completion(note.id for note in self._notes(typed) if not wanted or note.source == wanted)
        return _completion(())

    def _notes(self, typed: str) -> Iterable[Named]:
        """Notes whose title has the words typed so far, the last one unfinished; without any, the newest."""
        index = self._library.index()
        words = [word for word in "".join(c if c.isalnum() else " " for c in unquote(typed)).split() if word]
        newest = (Named(note.source, note.id, note.title) for note in index.list(limit=MAXIMUM).notes)
        begun = [note for note in newest if _begins(note, unquote(typed))]
        if not words:
            return begun
        query = " ".join(f"title:{word}" for word in words) + "*"
        hits = index.search(query, mode="fts", limit=MAXIMUM).hits
        return dict.fromkeys(begun + [Named(hit.source, hit.id, hit.title) for hit in hits])


def _begins(note: Named, typed: str) -> bool:
    folded = typed.casefold()
    return note.title.casefold().startswith(folded) or note.id.casefold().startswith(folded)


def _matching(values: Iterable[str], typed: str) -> list[str]:
    """Those that begin with what was typed, then those that hold it."""
    folded = typed.strip().casefold()
    all_values = list(values)
    begin = [value for value in all_values if value.casefold().startswith(folded)]
    return begin + [value for value in all_values if folded in value.casefold() and value not in set(begin)]


def _completion(values: Iterable[str]) -> Completion:
    found = [for_model(value) for value in values]
    return Completion(values=found[:MAXIMUM], total=len(found), has_more=len(found) > MAXIMUM)

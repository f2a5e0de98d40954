"""How each kind of value that is a list is printed in each output format.

The module of a format is imported when that format is printed, so that `--json` does not wait for XML.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from bearsearch.render.style import Style
    from bearsearch.types import GetResult, Hit, ListResult, Note, NoteSummary, SearchResult, Tag

__all__ = ["GET", "LIST", "SEARCH", "TAGS", "Formats"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Formats(Generic[T]):
    """What prints one kind of value."""

    function: str
    """Name of the function for this kind of value in each `bearsearch.render.as_*`."""
    entries: str
    """Key of the JSON document's list, whose entries `jsonl` prints one per line."""
    names: Callable[[T], Iterable[str]]
    """What `files` prints one per line, to be an argument of the next command."""

    def shown(self, form: str, value: T, *, style: "Style", **wishes: Any) -> str:
        """The value in one of `bearsearch.cli.options.FORMATS`.

        Args:
            form: The format.
            value: What to print.
            style: What the output can show; for text.
            wishes: What a command asks of the text form, by name.
        """
        match form:
            case "json" | "jsonl":
                from bearsearch.render import as_json

                document = self._render("as_json", value)
                return as_json.dumps(document) if form == "json" else as_json.lines(document[self.entries])
            case "md":
                return self._render("as_markdown", value)
            case "xml":
                return self._render("as_xml", value)
            case "files":
                return "".join(f"{name}\n" for name in self.names(value))
            case _:
                return self._render("as_text", value, style=style, **wishes)

    def _render(self, module: str, value: T, **wishes: Any) -> Any:
        return getattr(importlib.import_module(f"bearsearch.render.{module}"), self.function)(value, **wishes)


def _names(notes: "Sequence[Hit | Note | NoteSummary]") -> Iterable[str]:
    # What `get` takes, and no two notes share.
    return (f"{note.source}:{note.id}" for note in notes)


SEARCH: "Formats[SearchResult]" = Formats(function="search", entries="hits", names=lambda result: _names(result.hits))
GET: "Formats[GetResult]" = Formats(function="get", entries="notes", names=lambda result: _names(result.notes))
LIST: "Formats[ListResult]" = Formats(function="notes", entries="notes", names=lambda result: _names(result.notes))
TAGS: "Formats[Sequence[Tag]]" = Formats(function="tags", entries="tags", names=lambda tags: (tag.name for tag in tags))

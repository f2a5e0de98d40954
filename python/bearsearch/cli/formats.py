"""How each kind of value that is a list is printed in each output format."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bearsearch.render import as_json, as_markdown, as_text, as_xml
from bearsearch.render.style import Style
from bearsearch.types import GetResult, Hit, ListResult, Note, NoteSummary, SearchResult, Tag

__all__ = ["GET", "LIST", "SEARCH", "TAGS", "Formats"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Formats(Generic[T]):
    """One function per format for one kind of value."""

    document: Callable[[T], dict[str, Any]]
    entries: str
    """Key of the document's list, whose entries `jsonl` prints one per line."""
    markdown: Callable[[T], str]
    xml: Callable[[T], str]
    names: Callable[[T], Iterable[str]]
    """What `files` prints one per line, to be an argument of the next command."""
    text: Callable[..., str]
    """Takes the value, and `style` and the command's own wishes by name."""

    def shown(self, form: str, value: T, *, style: Style, **wishes: Any) -> str:
        """The value in one of `bearsearch.cli.options.FORMATS`."""
        match form:
            case "json":
                return as_json.dumps(self.document(value))
            case "jsonl":
                return as_json.lines(self.document(value)[self.entries])
            case "md":
                return self.markdown(value)
            case "xml":
                return self.xml(value)
            case "files":
                return "".join(f"{name}\n" for name in self.names(value))
            case _:
                return self.text(value, style=style, **wishes)


def _names(notes: Sequence[Hit | Note | NoteSummary]) -> Iterable[str]:
    # What `get` takes, and no two notes share.
    return (f"{note.source}:{note.id}" for note in notes)


SEARCH = Formats[SearchResult](
    document=as_json.search,
    entries="hits",
    markdown=as_markdown.search,
    xml=as_xml.search,
    names=lambda result: _names(result.hits),
    text=as_text.search,
)
GET = Formats[GetResult](
    document=as_json.get,
    entries="notes",
    markdown=as_markdown.get,
    xml=as_xml.get,
    names=lambda result: _names(result.notes),
    text=as_text.get,
)
LIST = Formats[ListResult](
    document=as_json.notes,
    entries="notes",
    markdown=as_markdown.notes,
    xml=as_xml.notes,
    names=lambda result: _names(result.notes),
    text=as_text.notes,
)
TAGS = Formats[Sequence[Tag]](
    document=as_json.tags,
    entries="tags",
    markdown=as_markdown.tags,
    xml=as_xml.tags,
    names=lambda tags: (tag.name for tag in tags),
    text=as_text.tags,
)

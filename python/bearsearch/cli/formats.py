"""How each kind of value that is a list of notes is printed in each output format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bearsearch.render import as_json, as_markdown, as_text, as_xml
from bearsearch.render.style import Style
from bearsearch.types import GetResult, Hit, ListResult, Note, NoteSummary, SearchResult

__all__ = ["GET", "LIST", "SEARCH", "Formats"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Formats(Generic[T]):
    """One function per format for one kind of value."""

    document: Callable[[T], dict[str, Any]]
    entries: str
    """Key of the document's list, whose entries `jsonl` prints one per line."""
    markdown: Callable[[T], str]
    xml: Callable[[T], str]
    notes: Callable[[T], Sequence[Hit | Note | NoteSummary]]
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
                # What `get` takes, and no two notes share.
                return "".join(f"{note.source}:{note.id}\n" for note in self.notes(value))
            case _:
                return self.text(value, style=style, **wishes)


SEARCH = Formats[SearchResult](
    document=as_json.search,
    entries="hits",
    markdown=as_markdown.search,
    xml=as_xml.search,
    notes=lambda result: result.hits,
    text=as_text.search,
)
GET = Formats[GetResult](
    document=as_json.get,
    entries="notes",
    markdown=as_markdown.get,
    xml=as_xml.get,
    notes=lambda result: result.notes,
    text=as_text.get,
)
LIST = Formats[ListResult](
    document=as_json.notes,
    entries="notes",
    markdown=as_markdown.notes,
    xml=as_xml.notes,
    notes=lambda result: result.notes,
    text=as_text.notes,
)

"""The service's values as XML in which note text cannot pass for markup.

Elements and attributes are those that Bear tools for agents already print: `<match>` with a `<snippet>` and the lines
of its `<hits>`, `<note>` with its text. Every attribute and every body is escaped, and what XML 1.0 cannot hold is
replaced, so the output always parses and only bearsearch writes tags.
"""

import re
from collections.abc import Mapping, Sequence

from bearsearch.render.as_json import moment
from bearsearch.render.visible import for_model
from bearsearch.types import CreatedNote, GetResult, Hit, ListResult, Note, NoteSummary, SearchResult, Tag

__all__ = [
    "attributes",
    "created_attributes",
    "escaped",
    "get",
    "match",
    "note_attributes",
    "notes",
    "search",
    "summary_attributes",
    "tags",
]

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BODY = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ATTRIBUTE = {**_BODY, '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def escaped(text: str) -> str:
    """Text as the body of an element."""
    text = _FORBIDDEN.sub("\ufffd", for_model(text))
    # A parser reads a bare carriage return as a line feed; the reference keeps it.
    return re.sub("[&<>]", lambda found: _BODY[found[0]], text).replace("\r", "&#13;")


def attributes(values: Mapping[str, object]) -> str:
    """` name="value"` for each value; None is left out, True and False are `true` and `false`."""
    text = ""
    for name, value in values.items():
        if value is None:
            continue
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        shown = _FORBIDDEN.sub("\ufffd", for_model(shown))
        text += f' {name}="' + re.sub('[&<>"\n\r\t]', lambda found: _ATTRIBUTE[found[0]], shown) + '"'
    return text


def search(result: SearchResult) -> str:
    """A `<matches>` element with a `<match>` for each hit."""
    head = {"query": result.query, "mode": result.mode, "total": result.total, "stale": result.index.stale or None}
    return f"<matches{attributes(head)}>\n{''.join(match(hit) for hit in result.hits)}</matches>\n"


def match(hit: Hit) -> str:
    """One hit: who and where in attributes, the passage in `<snippet>` or whole in `<passage>`, its neighbours
    in `<context>`, matching lines in `<hits>`."""
    head = attributes(
        {
            "note-id": hit.id,
            "title": hit.title,
            "source": hit.source,
            "tags": ", ".join(hit.tags),
            "updated-at": moment(hit.updated_at),
            "heading": hit.heading or None,
            "lines": f"{hit.lines[0]}-{hit.lines[1]}",
            "total-hits": hit.total_hits,
            "score": f"{hit.score:.4f}",
            "url": hit.url,
            "archived": hit.archived or None,
            "locked": hit.locked or None,
        }
    )
    if not hit.snippet:
        return f"<match{head}/>\n"
    first, last = hit.lines
    snippet_line = next((line for line in hit.line_hits if first <= line <= last), first)
    body = f'<snippet line="{snippet_line}">{escaped(hit.snippet)}</snippet>\n'
    if hit.passage is not None:
        body = f'<passage lines="{first}-{last}">{escaped(hit.passage)}</passage>\n'
    for passage in hit.context:
        around = attributes({"lines": f"{passage.lines[0]}-{passage.lines[1]}", "heading": passage.heading or None})
        body += f"<context{around}>{escaped(passage.text)}</context>\n"
    if hit.line_hits:
        body += f"<hits>{', '.join(map(str, hit.line_hits))}</hits>\n"
    return f"<match{head}>\n{body}</match>\n"


def note_attributes(note: Note) -> str:
    """The attributes of a `<note>`."""
    return attributes(
        {
            "id": note.id,
            "title": note.title,
            "source": note.source,
            "tags": ", ".join(note.tags),
            "updated-at": moment(note.updated_at),
            "lines": f"{note.lines[0]}-{note.lines[1]}",
            "total-lines": note.total_lines,
            "url": note.url,
            "archived": note.archived or None,
            "locked": note.locked or None,
        }
    )


def summary_attributes(note: NoteSummary) -> str:
    """The attributes of a `<note>` without text."""
    return attributes(
        {
            "id": note.id,
            "title": note.title,
            "source": note.source,
            "tags": ", ".join(note.tags),
            "updated-at": moment(note.updated_at),
            "url": note.url,
            "pinned": note.pinned or None,
            "archived": note.archived or None,
            "locked": note.locked or None,
        }
    )


def created_attributes(note: CreatedNote) -> str:
    """The attributes of a `<note>` that was just created."""
    return attributes({"id": note.id, "title": note.title, "source": note.source, "url": note.url})


def notes(result: ListResult) -> str:
    """A `<notes>` element with a `<note>` without text for each note."""
    text = "".join(f"<note{summary_attributes(note)}/>\n" for note in result.notes)
    return f"<notes{attributes({'total': result.total})}>\n{text}</notes>\n"


def get(result: GetResult) -> str:
    """A `<notes>` element with a `<note>` for each note and a `<missing>` for each that was not found."""
    text = "".join(f"<note{note_attributes(note)}>{escaped(note.text)}</note>\n" for note in result.notes)
    text += "".join(f"<missing{attributes({'id': asked})}/>\n" for asked in result.missing)
    return f"<notes>\n{text}</notes>\n"


def tags(values: Sequence[Tag]) -> str:
    """A `<tags>` element with a `<tag>` for each tag."""
    text = "".join(f"<tag{attributes({'name': tag.name, 'count': tag.count})}/>\n" for tag in values)
    return f"<tags>\n{text}</tags>\n"

"""The service's values as Markdown, to be pasted into another note or read as one."""

import re
from collections.abc import Sequence
from datetime import datetime

from bearsearch.render.as_text import date
from bearsearch.render.visible import on_one_line
from bearsearch.types import GetResult, Hit, ListResult, NoteSummary, SearchResult, Tag

__all__ = ["get", "notes", "search", "tags"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


def _escaped(text: str) -> str:
    """Words that Markdown shows as they are."""
    return _SPECIAL.sub(r"\\\1", on_one_line(text))


def search(result: SearchResult) -> str:
    """A numbered list of links, each with its passage as a quotation."""
    return "".join(_hit(hit) for hit in result.hits)


def _hit(hit: Hit) -> str:
    first, last = hit.lines
    place = [date(hit.updated_at), _escaped(hit.heading), f"lines {first}-{last}" if first <= last else ""]
    text = f"{hit.rank}. {_link(hit)}  \n   {', '.join(part for part in place if part)}\n"
    return text + (f"   > {_escaped(hit.snippet)}\n" if hit.snippet else "")


def notes(result: ListResult) -> str:
    """A list of links with dates."""
    return "".join(f"- {_link(note)}{_dated(note.updated_at)}\n" for note in result.notes)


def _link(note: Hit | NoteSummary) -> str:
    title = _escaped(note.title) or "(untitled)"
    return f"[{title}](<{on_one_line(note.url).replace('>', '%3E')}>)" if note.url else title


def _dated(moment: datetime | None) -> str:
    return f", {date(moment)}" if moment else ""


def get(result: GetResult) -> str:
    """The notes' own Markdown, unchanged; a rule between two notes."""
    return "\n---\n\n".join(note.text if note.text.endswith("\n") else note.text + "\n" for note in result.notes)


def tags(values: Sequence[Tag]) -> str:
    """A list of tags with their numbers of notes; the tag as code, so that the list does not carry it itself."""
    return "".join(f"- {_code('#' + on_one_line(tag.name))} {tag.count}\n" for tag in values)


def _code(text: str) -> str:
    """Words as code: fenced by more backticks than stand in them."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"

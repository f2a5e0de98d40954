"""The page of a map: the data put into the template, so that no title can end the script that holds it."""

import json
from collections import Counter
from importlib.resources import files
from typing import Any

from bearsearch.types import NoteMap

__all__ = ["page"]

HOLE = "__DATA__"
COLORED_TAGS = 10
"""Tags with a colour of their own: more colours are not told apart."""
OPENABLE = ("bear://", "obsidian://", "file://")
"""Addresses that a click on a note may open; a note has no other, and no script."""


def page(value: NoteMap, *, title: str = "Map of notes") -> str:
    """The whole HTML document."""
    tops = Counter(top for note in value.notes for top in {tag.split("/")[0] for tag in note.tags})
    colored = [tag for tag, _ in sorted(tops.items(), key=lambda item: (-item[1], item[0]))[:COLORED_TAGS]]
    document: dict[str, Any] = {
        "title": title,
        "tags": [{"name": tag, "count": tops[tag]} for tag in colored],
        "notes": [
            {
                "id": f"{note.source}:{note.id}",
                "title": note.title or "(untitled)",
                "tags": list(note.tags),
                "tag": next((place for place, tag in enumerate(colored) if tag in _tops(note.tags)), -1),
                "url": note.url if note.url and note.url.startswith(OPENABLE) else None,
                "x": round(note.x, 4),
                "y": round(note.y, 4),
                "links": note.links,
            }
            for note in value.notes
        ],
        "links": [list(link) for link in value.links],
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # Inside a script element only these could end it, or begin a comment that swallows its end.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    template = files("bearsearch.map").joinpath("page.html").read_text(encoding="utf-8")
    before, after = template.split(HOLE)
    return before + text + after


def _tops(tags: tuple[str, ...]) -> set[str]:
    return {tag.split("/")[0] for tag in tags}

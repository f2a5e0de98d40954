"""How much of a result one reply may hold, so that no reply is refused or spilled by the program that reads it.

A reply that was cut says so (`truncated`) and says how to get the rest. Of a note that is `Rest`: lines, and how many
characters of the first one were given already, because a line may be longer than any reply.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bearsearch.types import Note

__all__ = ["DEFAULT_TOKENS", "MAXIMUM_TOKENS", "Rest", "begun_lines", "clipped", "shortened", "size_of", "tokens"]

DEFAULT_TOKENS = 8_000
"""What a reply holds unless asked otherwise."""

MAXIMUM_TOKENS = 20_000
"""The most that a reply holds. Known agents refuse replies above 25,000 tokens."""

MAXIMUM_TITLE = 200
"""Characters of a title or heading in a list."""


def tokens(text: str) -> int:
    """About how many tokens a model reads `text` as, rather too many than too few: a third of its UTF-8 bytes."""
    return (len(text.encode("utf-8", errors="replace")) + 2) // 3


def size_of(text: str, document: dict[str, Any]) -> int:
    """Tokens of a reply, text and structure together."""
    return tokens(text) + tokens(json.dumps(document, ensure_ascii=False))


def clipped(text: str, limit: int = MAXIMUM_TITLE) -> str:
    """At most `limit` characters of a title or heading, which can be as long as a note; an ellipsis says so."""
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


class Rest(NamedTuple):
    """What was left out of a note, from a place to its end or the end of what was asked for."""

    first: int
    """Line, from 1."""
    characters: int
    """Characters of that line that were given already."""
    last: int
    """Line, inclusive."""

    @property
    def lines(self) -> str:
        """As `note_get` takes it.

        >>> Rest(11, 0, 20).lines, Rest(7, 4000, 7).lines, Rest(7, 4000, 20).lines
        ('11-20', '7+4000', '7+4000-20')
        """
        begun = f"+{self.characters}" if self.characters else ""
        end = f"-{self.last}" if self.last > self.first or not begun else ""
        return f"{self.first}{begun}{end}"


def begun_lines(ranges: Iterable[str]) -> tuple[list[str], dict[int, int]]:
    """Ranges without the characters that were given already, and these by line.

    >>> begun_lines(["7+4000-20", "30"])
    (['7-20', '30'], {7: 4000})
    """
    plain: list[str] = []
    begun: dict[int, int] = {}
    for part in (part.strip() for text in ranges for part in text.split(",")):
        found = re.fullmatch(r"(\d{1,9})\+(\d{1,9})([-:.].*)?", part, re.ASCII)
        if found is not None:
            begun[int(found[1])] = int(found[2])
            part = found[1] + (found[3] or "")
        plain.append(part)
    return [part for part in plain if part], begun


def shortened(
    notes: Iterable[Note], budget: int, *, begun: Mapping[int, int] | None = None
) -> list[tuple[Note, Rest | None]]:
    """Each note, its text cut after a whole line where the budget ends, and what was left out.

    A first line that alone is longer than the budget is cut inside; a note that nothing is left for keeps no text.

    Args:
        notes: The notes.
        budget: Tokens for all their texts together.
        begun: Characters to leave out of the beginning of a text, by its first line.

    Returns:
        Notes with what was left out, or None for a whole one.
    """
    left = budget
    result: list[tuple[Note, Rest | None]] = []
    for note in notes:
        first, last = note.lines
        skipped = (begun or {}).get(first, 0)
        if skipped:
            line, _, _ = note.text.partition("\n")
            skipped = min(skipped, len(line))
            note = dataclasses.replace(note, text=note.text[skipped:])
        size = tokens(note.text)
        if size <= left:
            result.append((note, None))
            left -= size
            continue
        kept = _whole_lines(note.text, left)
        if kept:
            end = first + len(kept) - 1
            text, rest = "".join(kept), Rest(end + 1, 0, last)
        else:
            end, text = first, _beginning(note.text.partition("\n")[0], left)
            rest = Rest(first, skipped + len(text), last)
        result.append((dataclasses.replace(note, text=text, lines=(first, end)), rest))
        left = 0
    return result


def _whole_lines(text: str, budget: int) -> Sequence[str]:
    """The whole lines of `text` that fit into `budget` tokens."""
    kept: list[str] = []
    for found in re.finditer(r"[^\n]*\n|[^\n]+", text):
        budget -= tokens(found[0])
        if budget < 0:
            break
        kept.append(found[0])
    return kept


def _beginning(line: str, budget: int) -> str:
    """The beginning of a line that surely fits, up to a blank where one is near."""
    if budget <= 0:
        return ""
    # A third of the bytes at most, and a character has at most four bytes: this many surely fit.
    text = line[: max(budget * 3 // 4, 1)]
    blank = text.rfind(" ")
    return text[: blank + 1] if blank >= len(text) * 4 // 5 and len(text) < len(line) else text

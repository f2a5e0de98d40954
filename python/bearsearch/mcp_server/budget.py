"""How much of a result one reply may hold, so that no reply is refused or spilled by the program that reads it.

A reply that was cut says so (`truncated`) and says how to get the rest.
"""

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from bearsearch.types import Note

Span: TypeAlias = tuple[int, int]

__all__ = ["DEFAULT_TOKENS", "MAXIMUM_TOKENS", "clipped", "shortened", "size_of", "tokens"]

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


def shortened(notes: Iterable[Note], budget: int) -> list[tuple[Note, Span | None]]:
    """Each note, its text cut after a whole line where the budget ends, and the lines that were left out.

    A first line that alone is longer than the budget is cut inside; a note that nothing is left for keeps no text.

    Args:
        notes: The notes.
        budget: Tokens for all their texts together.

    Returns:
        Notes with first and last line left out, or None for a whole one.
    """
    left = budget
    result: list[tuple[Note, Span | None]] = []
    for note in notes:
        size = tokens(note.text)
        if size <= left:
            result.append((note, None))
            left -= size
            continue
        lines = _beginning(note.text, left)
        first, last = note.lines
        end = first + len(lines) - 1
        result.append((dataclasses.replace(note, text="".join(lines), lines=(first, end)), (end + 1, last)))
        left = 0
    return result


def _beginning(text: str, budget: int) -> list[str]:
    """The whole lines of `text` that fit into `budget` tokens, or the beginning of the first one."""
    kept: list[str] = []
    for found in re.finditer(r"[^\n]*\n|[^\n]+", text):
        left = budget - tokens(found[0])
        if left < 0:
            break
        kept.append(found[0])
        budget = left
    if not kept and budget > 0:
        # A third of the bytes at most, and a character has at most four bytes: this many surely fit.
        kept.append(text[: max(budget * 3 // 4, 1)])
    return kept

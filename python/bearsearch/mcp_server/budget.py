"""How much of a result one reply may hold, so that no reply is refused or spilled by the program that reads it.

A reply that was cut says so (`truncated`) and says how to get the rest.
"""

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any

from bearsearch.types import Note

__all__ = ["DEFAULT_TOKENS", "MAXIMUM_TOKENS", "fitting", "shortened", "tokens"]

DEFAULT_TOKENS = 8_000
"""What a reply holds unless asked otherwise."""

MAXIMUM_TOKENS = 20_000
"""The most that a reply holds. Known agents refuse replies above 25,000 tokens."""


def tokens(text: str) -> int:
    """About how many tokens a model reads `text` as, rather too many than too few: a third of its UTF-8 bytes."""
    return (len(text.encode("utf-8", errors="replace")) + 2) // 3


def fitting(documents: list[dict[str, Any]], budget: int) -> int:
    """How many of the documents, from the first on, fit together into `budget` tokens; at least 1 if there is any."""
    used = 0
    for count, document in enumerate(documents):
        used += tokens(json.dumps(document, ensure_ascii=False))
        if used > budget and count > 0:
            return count
    return len(documents)


def shortened(notes: Iterable[Note], budget: int) -> list[tuple[Note, bool]]:
    """Each note, its text cut after a whole line where the budget ends, and whether it was cut.

    A first line that alone is longer than the budget is cut inside; a note that nothing is left for keeps no text.

    Args:
        notes: The notes.
        budget: Tokens for all their texts together.
    """
    left = budget
    result: list[tuple[Note, bool]] = []
    for note in notes:
        size = tokens(note.text)
        if size <= left:
            result.append((note, False))
            left -= size
            continue
        lines = _beginning(note.text, left)
        first = note.lines[0]
        kept = dataclasses.replace(note, text="".join(lines), lines=(first, first + len(lines) - 1))
        result.append((kept, True))
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

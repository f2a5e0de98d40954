"""What a terminal can show, as escape sequences; on anything else the same words without them."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["PLAIN", "Style", "wrapped_lines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How words may look on one stream."""

    color: bool = False
    links: bool = False
    """Whether `link` may write OSC 8 hyperlinks."""
    width: int | None = None
    """Columns to wrap at; None leaves lines as long as they are."""

    def _sgr(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.color and text else text

    def title(self, text: str) -> str:
        """What a line is about."""
        return self._sgr("1", text)

    def dim(self, text: str) -> str:
        """What matters less."""
        return self._sgr("2", text)

    def tag(self, text: str) -> str:
        """A tag."""
        return self._sgr("36", text)

    def match(self, text: str) -> str:
        """Words that a query found."""
        return self._sgr("1;33", text)

    def warning(self, text: str) -> str:
        """What a person should notice."""
        return self._sgr("33", text)

    def link(self, text: str, url: str | None) -> str:
        """Make `text` open `url` where a click can; `url` must hold no control characters."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text


PLAIN = Style()


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped_lines(text: str, width: int | None) -> Iterator[tuple[int, int]]:
    """Character ranges of `text` that fit on one line each, the white space at a break left out.

    Breaks after white space, or at a wide (CJK) character, which has two columns; a longer word is cut.

    Args:
        text: One line: no line breaks.
        width: Columns per line, at least 1; None gives the whole text as one line.

    >>> [("the old ridge path"[a:b]) for a, b in wrapped_lines("the old ridge path", 9)]
    ['the old', 'ridge', 'path']
    """
    start = column = 0
    break_at: int | None = None  # where the next line would begin if this one ended at its last gap
    for position, character in enumerate(text):
        size = _columns(character)
        if width is not None and column + size > width and not character.isspace():
            end = position if break_at is None else break_at
            yield start, start + len(text[start:end].rstrip())
            start = end
            column = sum(map(_columns, text[start:position]))
            break_at = None
        column += size
        if character.isspace() or size == 2:
            break_at = position + 1
    if start < len(text):
        yield start, start + len(text[start:].rstrip())

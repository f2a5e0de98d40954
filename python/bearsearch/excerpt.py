"""Which lines of a note are asked for: ranges, sections by heading, and the paragraphs around them.

Pure functions over lines of text. Lines count from 1, and both ends of a range belong to it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from bearsearch.errors import UsageError

__all__ = ["Heading", "Span", "headings", "merged", "parse_spans", "section_spans", "widened"]

Span: TypeAlias = tuple[int, int]
"""First and last line, from 1, inclusive."""

END = 10**9
"""Last line of a range that is open at its end."""

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\r?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RANGE = re.compile(r"(\d+)(?:\s*(?::|\.\.|-)\s*(\d*))?", re.ASCII)


class Heading(NamedTuple):
    """One heading of a note."""

    line: int
    level: int
    """1 to 6."""
    path: tuple[str, ...]
    """The headings above it, outermost first, and its own text last."""


def parse_spans(ranges: str | Iterable[str]) -> list[Span]:
    """Ranges of lines as people and models write them.

    Args:
        ranges: `10`, `10:20`, `10-20`, `10..20` or `10-` (to the end); several are separated by commas or come as
            several strings.

    Returns:
        The spans in the order of their lines, without overlap.

    Raises:
        UsageError: One of them is no range.

    >>> parse_spans("40, 10:20, 15-22")
    [(10, 22), (40, 40)]
    """
    texts = [ranges] if isinstance(ranges, str) else list(ranges)
    parts = [part.strip() for text in texts for part in text.split(",")]
    return merged(_parse_span(part) for part in parts if part or len(parts) == 1)


def _parse_span(text: str) -> Span:
    found = _RANGE.fullmatch(text)
    if found is None or len(text) > 40:
        raise UsageError(f'lines is "{text[:40]}"; give a line such as 10, or a range such as 10:20')
    first = int(found[1])
    last = first if found[2] is None else int(found[2] or END)
    if first < 1 or last < first:
        raise UsageError(f'lines is "{text}"; lines count from 1, and a range ends at or after its start')
    return first, last


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same lines as few spans, in order; spans that touch become one."""
    result: list[Span] = []
    for first, last in sorted(spans):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def headings(lines: Sequence[str]) -> list[Heading]:
    """The headings of a Markdown text, ATX and setext, none from front matter or fenced code."""
    found: list[Heading] = []
    open_ones: list[tuple[int, str]] = []
    fence = ""
    start = _after_front_matter(lines)
    for number in range(start, len(lines)):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        level, text, at = 0, "", number
        if atx := _ATX.match(line):
            level, text = len(atx[1]), atx[2] or ""
        elif (under := _SETEXT.match(line)) and number > start and _is_paragraph(lines[number - 1]):
            level, text, at = (1 if under[1][0] == "=" else 2), lines[number - 1].strip(), number - 1
        if level:
            open_ones = [*(one for one in open_ones if one[0] < level), (level, text.strip())]
            found.append(Heading(at + 1, level, tuple(name for _, name in open_ones)))
    return found


def _after_front_matter(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    return end + 1 if end else 0


def _is_paragraph(line: str) -> bool:
    return bool(line.strip()) and not re.match(r"\s*(#|>|[-+*]\s|\d+[.)]\s|\||`{3}|~{3})", line)


def section_spans(lines: Sequence[str], name: str) -> list[Span]:
    """The sections that `name` names, each from its heading to the next one of its level or above.

    Args:
        lines: The note.
        name: Text of a heading in any case, or the end of its path, such as `Trip > Packing`.
    """
    found = headings(lines)
    wanted = tuple(_folded(part) for part in name.split(" > "))
    whole = (_folded(name),)
    spans: list[Span] = []
    for position, heading in enumerate(found):
        path = tuple(_folded(part) for part in heading.path)
        if path[-len(wanted) :] != wanted and path[-1:] != whole:
            continue
        following = (later.line for later in found[position + 1 :] if later.level <= heading.level)
        spans.append((heading.line, next(following, len(lines) + 1) - 1))
    return spans


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().strip().lstrip("#").split())


def widened(lines: Sequence[str], span: Span, *, paragraphs: int) -> Span:
    """The span with so many paragraphs before and after it, and with the rest of those that it begins or ends in.

    Paragraphs are what blank lines divide.
    """
    first, last = span[0], min(span[1], len(lines))
    if not 1 <= first <= last:
        return span
    first, last = _reach(lines, first, -1), _reach(lines, last, 1)
    for _ in range(paragraphs):
        first, last = _next(lines, first, -1), _next(lines, last, 1)
    return first, last


def _reach(lines: Sequence[str], line: int, step: int) -> int:
    """The last line, going by `step`, of the paragraph that the line stands in; a blank line is its own."""
    while lines[line - 1].strip() and 1 <= line + step <= len(lines) and lines[line + step - 1].strip():
        line += step
    return line


def _next(lines: Sequence[str], line: int, step: int) -> int:
    """The far end of the next paragraph, going by `step`; the line itself when there is none."""
    near = line + step
    while 1 <= near <= len(lines) and not lines[near - 1].strip():
        near += step
    return _reach(lines, near, step) if 1 <= near <= len(lines) else line

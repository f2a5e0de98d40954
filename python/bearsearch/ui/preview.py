"""A note with the passage that was found marked in it, and the query's words.

Lines are drawn when they come into view, so a note of a hundred thousand lines opens as fast as one of ten.
"""

import re
from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.strip import Strip
from textual.widgets import TextArea

from bearsearch.render.visible import for_terminal

__all__ = ["Preview", "telling", "whole"]

_HEADING = re.compile(r"#{1,6} ")
_TAG = re.compile(r"(?<!\S)#[^\s#][^\s]*")
_LINK = re.compile(r"\[\[[^\]\n]+\]\]|\[[^\]\n]*\]\([^)\n]+\)|\bhttps?://\S+")
_CODE = re.compile(r"`[^`\n]+`")
_LEAD = re.compile(r"\s*(?:[-*+]|\d+[.)]|>)(?= )")


_SHORT = 4
"""Letters below which a word is marked only when all of the query's are so short: "the" stands on every line."""

_LAST_SPACED = "\u0e00"
"""From here on (Thai, then CJK) scripts put no spaces between words, so a word is marked inside others, too."""


def telling(words: Iterable[str]) -> list[str]:
    """The words that say what was looked for, longest first, so that a long one goes before its beginning."""
    ordered = sorted(words, key=len, reverse=True)
    if ordered and len(ordered[0]) >= _SHORT:
        return [word for word in ordered if len(word) >= _SHORT or word[0] >= _LAST_SPACED]
    return ordered


def whole(word: str) -> str:
    """A pattern for a word that is not a part of another one."""
    before = r"(?<!\w)" if word[0].isalnum() and word[0] < _LAST_SPACED else ""
    behind = r"(?!\w)" if word[-1].isalnum() and word[-1] < _LAST_SPACED else ""
    return f"{before}{re.escape(word)}{behind}"


class Preview(TextArea):
    """A note to be read."""

    # It is read and not edited, and the keys belong to the search field.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.focus_search", "Back", show=False)]

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name for it
        super().__init__(id=id, read_only=True, soft_wrap=True, show_line_numbers=True, highlight_cursor_line=False)
        self.show_cursor = False
        self.can_focus = False
        self._passage: range = range(0)
        self._words: re.Pattern[str] | None = None

    def show(self, text: str, *, passage: tuple[int, int] | None, words: Iterable[str], line: int) -> None:
        """Show a note.

        Args:
            text: The note.
            passage: First and last line to mark, from 1, inclusive; None marks none.
            words: What to mark wherever it stands.
            line: The line to bring into view, from 1.
        """
        self._passage = range(passage[0] - 1, passage[1]) if passage else range(0)
        alternatives = "|".join(whole(word) for word in telling(words))
        self._words = re.compile(alternatives, re.IGNORECASE) if alternatives else None
        self.load_text(for_terminal(text))
        self.call_after_refresh(self._bring_into_view, line - 1)

    def _bring_into_view(self, line: int) -> None:
        """A third from the top, so that what stands before it is seen, too."""
        line = min(max(line, 0), self.document.line_count - 1)
        row = self.wrapped_document.location_to_offset((line, 0)).y
        self.scroll_to(y=max(0, row - self.size.height // 3), animate=False)

    @property
    def marked_lines(self) -> range:
        """Lines of the passage, from 0."""
        return self._passage

    def page(self, pages: float) -> None:
        """Scroll by a part of the height; negative is upwards."""
        self.scroll_relative(y=round(self.size.height * pages), animate=False)

    def get_line(self, line_index: int) -> Text:
        """A line with its marks; TextArea draws it."""
        line = super().get_line(line_index)
        text = line.plain
        if _HEADING.match(text):
            line.stylize(self._look("preview--heading"))
        else:
            for pattern, name in ((_LEAD, "lead"), (_LINK, "link"), (_TAG, "tag"), (_CODE, "code")):
                for found in pattern.finditer(text):
                    line.stylize(self._look(f"preview--{name}"), *found.span())
        if self._words is not None:
            for found in self._words.finditer(text):
                line.stylize(self._look("preview--match"), *found.span())
        return line

    def render_line(self, y: int) -> Strip:
        """A row of the screen; one of the passage has its background up to the edge."""
        strip = super().render_line(y)
        row = y + self.scroll_offset.y
        if row >= self.wrapped_document.height or not self._passage:
            return strip
        line, _ = self.wrapped_document.offset_to_location(Offset(0, row))
        if line not in self._passage:
            return strip
        plain = {None, self.rich_style.bgcolor}
        marked = Style(bgcolor=self._look("preview--passage").bgcolor)
        text = strip.crop(self.gutter_width)
        return Strip.join(
            [
                strip.crop(0, self.gutter_width),
                Strip(
                    Segment(part, (style or Style()) + marked)
                    if style is None or style.bgcolor in plain
                    else Segment(part, style)
                    for part, style, _ in text
                ),
            ]
        )

    COMPONENT_CLASSES = TextArea.COMPONENT_CLASSES | {
        f"preview--{name}" for name in ("heading", "lead", "link", "tag", "code", "passage", "match")
    }

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the room that is left for it."""
        return container.height

"""The interactive search: one line to type in, what it finds below, and the note beside it.

The search field keeps the keyboard, so that typing always means searching; arrows choose a note meanwhile. Searches run
on one worker thread that always takes the newest question, so a fast typist waits for one search and never for many.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.events import Resize
from textual.theme import Theme
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from bearsearch.bear_url import tag_markup
from bearsearch.cli.filters import Filters
from bearsearch.errors import BearsearchError, UsageError
from bearsearch.render.as_text import date
from bearsearch.render.visible import on_one_line
from bearsearch.service import Index
from bearsearch.types import Hit, Note, NoteSummary
from bearsearch.ui import opening
from bearsearch.ui.answers import Answer, Question, answer, line_of, matched_words, read
from bearsearch.ui.preview import Preview

__all__ = ["MODES", "SearchApp"]

MODES = ("auto", "fts", "vector")

SHORT_LINES = 28
"""Terminals with fewer lines get rows of two lines and no frames that hold nothing."""

_ASK_AGAIN_S = 0.4
"""Pause before a question is asked again while the model is being loaded."""

_BACKGROUND_DELAY_S = 0.3
"""Rest before the index is embedded beside the searches, so that the first answer comes first."""

_DARK = Theme(
    name="bearsearch-dark",
    primary="#f0a63a",
    secondary="#86c5ae",
    accent="#8fb8ee",
    warning="#ffd166",
    error="#f07f7a",
    success="#9ccc65",
    foreground="#ece4d8",
    background="#171411",
    surface="#2a231c",
    panel="#41372d",
    dark=True,
)
_LIGHT = Theme(
    name="bearsearch-light",
    primary="#a85a00",
    secondary="#24705c",
    accent="#2457a0",
    warning="#ffcf66",
    error="#b3261e",
    success="#3f7d20",
    foreground="#2b241c",
    background="#fdf9f2",
    surface="#f3e8d6",
    panel="#d8c8ae",
    dark=False,
)


class SearchField(Input):
    """The field that keeps the keyboard; every key that is no letter does something to the list or the note."""

    # Here and not in the program, because a screen takes some of these keys for itself before the program sees them.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Open"),
        Binding("ctrl+o", "app.edit", "Editor"),
        Binding("ctrl+y", "app.copy_link", "Link"),
        Binding("ctrl+t", "app.next_mode", "Mode"),
        Binding("ctrl+l", "app.next_theme", "Light"),
        Binding("down,ctrl+n", "app.move(1)", "Next", show=False),
        Binding("up,ctrl+p", "app.move(-1)", "Previous", show=False),
        Binding("pagedown", "app.page(0.8)", "Scroll", key_display="PgDn"),
        Binding("pageup", "app.page(-0.8)", "Scroll up", show=False),
        Binding("escape", "app.clear_or_quit", "Quit"),
        Binding("ctrl+c", "app.quit", "Quit", show=False),
    ]


class SearchApp(App[str]):
    """The program; returns the chosen note as SOURCE:ID when it is run to choose one, else None.

    Args:
        index: The index to ask; closed by whoever opened it.
        query: What stands in the field at first.
        mode: One of `MODES`, or another mode of `Index.search`.
        filters: What every search is limited to.
        choose: Return opens nothing and ends with the note's name instead.
    """

    CSS_PATH = "app.tcss"
    TITLE = "bearsearch"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  # declared by Textual as an attribute of instances
        (0, "-narrow"),
        (84, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (SHORT_LINES, "-tall"),
    ]

    def __init__(
        self, index: Index, *, query: str = "", mode: str = "auto", filters: Filters, choose: bool = False
    ) -> None:
        super().__init__()
        self._index = index
        self._narrowed_to = filters
        self._choose = choose
        self._question = Question(query, mode)
        self._asking = False
        self._asking_lock = threading.Lock()
        self._answer = Answer()
        self._note: Note | None = None
        self._is_short = False

    def compose(self) -> ComposeResult:
        """Field, status, hits beside the note, keys."""
        # With a text that is there already, Textual would select it, and the first key would replace it.
        yield SearchField(self._question.query, placeholder="Search your notes", id="search", select_on_focus=False)
        yield Static("", id="status", markup=False)
        with Horizontal(id="body"):
            hits = OptionList(id="hits", markup=False)
            hits.can_focus = False
            yield hits
            with Container(id="note"):
                yield Preview(id="preview")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin with the colours, the first answer, and what waits for an embedding."""
        self.register_theme(_DARK)
        self.register_theme(_LIGHT)
        self.theme = _DARK.name
        self.query_one("#search", Input).focus()
        if self._index.settings.semantic:
            self._index.start_background(delay_s=_BACKGROUND_DELAY_S)
        self._ask(self._question)

    # ---------------------------------------------------------------- asking

    @on(Input.Changed, "#search")
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._question.query:
            self._ask(replace(self._question, query=event.value))

    def _ask(self, question: Question) -> None:
        """Ask, or let the thread that is asking go on with this question."""
        with self._asking_lock:
            self._question = question
            if self._asking:
                return
            self._asking = True
        self._ask_until_answered()

    @work(thread=True, group="asking")
    def _ask_until_answered(self) -> None:
        while True:
            question = self._question
            found = answer(self._index, question, self._narrowed_to)
            with self._asking_lock:
                newest = self._question == question
                if newest:
                    self._asking = False
            if not self.is_running:
                return
            # An answer to an older question is still better to look at than none.
            self.call_from_thread(self._show_answer, question, found)
            if newest:
                return

    def _show_answer(self, question: Question, found: Answer) -> None:
        kept = self._chosen_name() if self._answer.provisional else None
        self._answer = found
        status = self.query_one("#status", Static)
        status.set_class(found.failed, "failed")
        remarks = "".join(f" \u00b7 {on_one_line(remark)}" for remark in found.remarks)
        mode = "" if question.mode == "auto" else f"[{question.mode}] "
        status.update(f"{mode}{on_one_line(found.status)}{remarks}")
        if found.rows:
            self._show_rows(kept)
        else:
            self.query_one("#hits", OptionList).clear_options()
            self._show_note(None, None)
        if found.provisional and question == self._question:
            self.set_timer(_ASK_AGAIN_S, lambda: self._ask_again(question))

    def _show_rows(self, chosen: str | None) -> None:
        """Fill the list, and choose the note of that name or else the first."""
        hits = self.query_one("#hits", OptionList)
        hits.clear_options()
        rows = (_row_text(row, self.current_theme, is_short=self._is_short) for row in self._answer.rows)
        hits.add_options(Option(row) for row in rows)
        names = [_name(row) for row in self._answer.rows]
        hits.highlighted = names.index(chosen) if chosen in names else 0

    @on(Resize)
    def _fit_rows(self, event: Resize) -> None:
        """Rows of another height when the terminal becomes short or tall."""
        is_short = event.size.height < SHORT_LINES
        if is_short is not self._is_short:
            self._is_short = is_short
            if self._answer.rows:
                self._show_rows(self._chosen_name())

    def _ask_again(self, question: Question) -> None:
        if question == self._question:
            self._ask(question)

    # ---------------------------------------------------------------- the note

    def _chosen(self) -> Hit | NoteSummary | None:
        position = self.query_one("#hits", OptionList).highlighted
        rows = self._answer.rows
        return rows[position] if position is not None and position < len(rows) else None

    def _chosen_name(self) -> str | None:
        row = self._chosen()
        return None if row is None else _name(row)

    @on(OptionList.OptionHighlighted, "#hits")
    def _highlighted(self) -> None:
        row = self._chosen()
        if row is not None:
            self._read_note(row)

    @work(thread=True, group="reading", exclusive=True)
    def _read_note(self, row: Hit | NoteSummary) -> None:
        note = read(self._index, row)
        if self.is_running:
            self.call_from_thread(self._show_note, row, note)

    def _show_note(self, row: Hit | NoteSummary | None, note: Note | None) -> None:
        if row is not None and _name(row) != self._chosen_name():
            return  # another note was chosen meanwhile
        self._note = note
        frame = self.query_one("#note", Container)
        preview = self.query_one("#preview", Preview)
        if row is None or note is None:
            frame.border_title = frame.border_subtitle = ""
            preview.show("" if row is None else "This note is gone.", passage=None, words=(), line=1)
            return
        heading = on_one_line(row.heading) if isinstance(row, Hit) else ""
        frame.border_title = Text(on_one_line(note.title) or "(untitled)", no_wrap=True).plain
        frame.border_subtitle = f"{heading} \u00b7 line {line_of(row)}" if heading else f"line {line_of(row)}"
        text = "Locked: its text is encrypted and never read." if note.locked else note.text
        passage = row.lines if isinstance(row, Hit) and not note.locked else None
        preview.show(text, passage=passage, words=matched_words(row), line=line_of(row))

    # ---------------------------------------------------------------- keys

    @on(Input.Submitted, "#search")
    def _submitted(self) -> None:
        self.action_open()

    def action_move(self, by: int) -> None:
        """Choose another note."""
        hits = self.query_one("#hits", OptionList)
        if hits.highlighted is not None:
            hits.highlighted = min(max(hits.highlighted + by, 0), hits.option_count - 1)

    def action_page(self, pages: float) -> None:
        """Scroll the note."""
        self.query_one("#preview", Preview).page(pages)

    def action_open(self) -> None:
        """Open the chosen note in its own program, or end with its name."""
        row = self._chosen()
        if row is None:
            return
        if self._choose:
            self.exit(_name(row))
        elif row.url is None:
            self._say("this note has no address to open")
        else:
            heading = row.heading if isinstance(row, Hit) else ""
            self._try(lambda url: opening.open_url(opening.url_to_open(url, heading=heading)), row.url, done="opened")

    def action_edit(self) -> None:
        """Open the chosen note's file in the editor that EDITOR names, at the passage."""
        row = self._chosen()
        if row is None:
            return
        path = opening.file_of(row.url)
        if path is None:
            self._say("this note is no file of its own; Enter opens it in its program")
            return
        self._try(lambda _: self._edit(path, line_of(row)), str(path), done=None)
        self._ask(self._question)  # it may have changed

    def _edit(self, path: Path, line: int) -> None:
        import subprocess

        command = opening.editor_command(path, line)
        try:
            with self.suspend():
                subprocess.run(command, check=False)
        except OSError as error:
            raise UsageError(f"{command[0]} could not be started: {error.strerror or error}") from error

    def action_copy_link(self) -> None:
        """Copy the chosen note's address."""
        row = self._chosen()
        if row is not None and row.url is not None:
            self.copy_to_clipboard(row.url)
            self._say("link copied")

    def action_next_mode(self) -> None:
        """Search by another mode."""
        position = MODES.index(self._question.mode) if self._question.mode in MODES else -1
        self._ask(replace(self._question, mode=MODES[(position + 1) % len(MODES)]))

    def action_next_theme(self) -> None:
        """Change between dark and light."""
        self.theme = _LIGHT.name if self.theme == _DARK.name else _DARK.name
        self._ask(self._question)  # the rows carry their colours

    def action_clear_or_quit(self) -> None:
        """Empty the field, or end when it is empty."""
        field = self.query_one("#search", Input)
        if field.value:
            field.value = ""
        else:
            self.exit()

    def action_focus_search(self) -> None:
        """Give the keyboard back to the field."""
        self.query_one("#search", Input).focus()

    def _try(self, do: Callable[[str], object], what: str, *, done: str | None) -> None:
        try:
            do(what)
        except BearsearchError as error:
            self._say(str(error), severity="error")
        else:
            if done is not None:
                self._say(done)

    def _say(self, sentence: str, *, severity: Literal["information", "warning", "error"] = "information") -> None:
        self.notify(on_one_line(sentence), severity=severity, timeout=4, markup=False)


def _name(row: Hit | NoteSummary) -> str:
    return f"{row.source}:{row.id}"


def _row_text(row: Hit | NoteSummary, theme: Theme, *, is_short: bool) -> Text:
    """A row of the list: title, where and when, and the excerpt with its matches; in two lines when `is_short`."""
    marks = "".join(f" [{word}]" for word, true in (("archived", row.archived), ("locked", row.locked)) if true)
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(on_one_line(row.title) or "(untitled)", "bold")
    text.append(marks, theme.primary)
    place = [date(row.updated_at), on_one_line(row.source)]
    place += [on_one_line(row.heading)] if isinstance(row, Hit) and row.heading else []
    found = isinstance(row, Hit) and bool(row.snippet)
    text.append("  " if is_short and found else "\n")
    text.append(" \u00b7 ".join(part for part in place if part), "dim")
    if row.tags:
        text.append("  " + " ".join(_tag(tag) for tag in row.tags), f"{theme.secondary} dim")
    if isinstance(row, Hit) and row.snippet:
        text.append("\n")
        text.append(_excerpt(row, theme))
    if not is_short:
        text.append("\n")
    return text


def _excerpt(hit: Hit, theme: Theme) -> Text:
    """The excerpt from a little before its first match, which a narrow list would otherwise cut off."""
    snippet = on_one_line(hit.snippet)
    excerpt = Text(snippet)
    for first, last in hit.highlights:
        excerpt.stylize(f"bold {theme.primary}", first, last)
    begin = hit.highlights[0][0] if hit.highlights else 0
    if cell_len(snippet[:begin]) <= 24:
        return excerpt
    space = snippet.rfind(" ", 0, max(begin - 12, 0))
    return Text("\u2026") + excerpt[space + 1 :]


def _tag(tag: str) -> str:
    try:
        return tag_markup(on_one_line(tag))
    except UsageError:
        return f"#{on_one_line(tag)}"

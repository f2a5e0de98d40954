"""The interactive search, driven by Textual's own pilot: what it shows while a person types, and what its keys do."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from bearsearch.cli.app import bearsearch
from bearsearch.cli.filters import Filters
from bearsearch.errors import UsageError
from bearsearch.service import Index
from bearsearch.ui import opening
from bearsearch.ui.app import SearchApp, SearchField
from bearsearch.ui.preview import Preview, telling, whole

EVERYTHING = Filters(tags=(), any_tags=(), sources=(), after=None, before=None, archived=False)

Scene = Callable[[Pilot[str]], Awaitable[None]]


@pytest.fixture
def index(home: Path, vault: Path) -> Generator[Index]:
    """An index of a vault with one long note."""
    lines = [f"Line {number} about nothing." for number in range(1, 400)]
    lines[299] = "Here a quokka \x1b[31mhides\x1b[0m."
    (vault / "Long.md").write_text("# Long\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    with Index(vault=vault, semantic=False) as opened:
        opened.sync()
        yield opened


def play(index: Index, scene: Scene, **wishes: Any) -> SearchApp:
    """Run the program without a terminal, let the scene happen in it, and give it back as it ended."""

    async def run() -> SearchApp:
        app = SearchApp(index, filters=wishes.pop("filters", EVERYTHING), **wishes)
        async with app.run_test(size=(110, 30)) as pilot:
            await settle(pilot)
            await scene(pilot)
        return app

    return asyncio.run(run())


async def settle(pilot: Pilot[str]) -> None:
    """Wait until every search and every note has been shown."""
    for _ in range(3):  # an answer begins the reading of a note
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def type_query(pilot: Pilot[str], text: str) -> None:
    await pilot.press(*("space" if character == " " else character for character in text))
    await settle(pilot)


def status(app: SearchApp) -> str:
    return str(app.query_one("#status", Static).render())


def rows(app: SearchApp) -> list[str]:
    hits = app.query_one("#hits", OptionList)
    return [str(hits.get_option_at_index(position).prompt) for position in range(hits.option_count)]


def preview(app: SearchApp) -> Preview:
    return app.query_one("#preview", Preview)


def test_a_short_terminal_gets_rows_of_two_lines_and_a_taller_one_roomier_rows_again(index: Index) -> None:
    heights: list[tuple[int, int]] = []

    async def run() -> None:
        app = SearchApp(index, query="train", filters=EVERYTHING)
        async with app.run_test(size=(80, 24)) as pilot:
            for height in (24, 50, 24):
                await pilot.resize_terminal(80, height)
                await settle(pilot)
                heights.append((rows(app)[0].rstrip("\n").count("\n"), app.query_one("#search").size.height))

    asyncio.run(run())
    assert heights == [(1, 1), (2, 1), (1, 1)]


def test_before_a_word_is_typed_the_newest_notes_are_shown(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        assert len(rows(app)) == 3
        assert "3 notes, the newest first" in status(app)
        assert preview(app).text.startswith("# ")

    play(index, scene)


def test_typing_finds_notes_and_shows_the_passage_of_the_first(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "sourdough")
        assert [row.splitlines()[0] for row in rows(app)] == ["Bread"]
        assert "1 note" in status(app)
        assert "fts: text 1" in status(app)
        assert preview(app).text == "# Bread\n\nFeed the sourdough starter daily.\n"
        assert 2 in preview(app).marked_lines
        marked = preview(app).get_line(2)
        assert any(marked.plain[span.start : span.end] == "sourdough" for span in marked.spans)

    play(index, scene)


def test_the_passage_of_a_long_note_is_brought_into_view_and_cannot_drive_the_terminal(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "quokka")
        first = preview(app).scroll_offset.y
        assert first < 301 < first + preview(app).size.height
        assert "\x1b" not in preview(app).text
        await pilot.press("pageup")
        assert preview(app).scroll_offset.y < first

    play(index, scene)


def marks_in(line: str, *words: str) -> list[str]:
    """What would be marked of a line, by the pattern that the preview makes of words."""
    pattern = "|".join(whole(word) for word in telling(words))
    return [found[0] for found in re.finditer(pattern, line, re.IGNORECASE)]


def test_words_are_marked_whole_and_short_ones_only_when_there_is_no_other() -> None:
    assert marks_in("Nothing in the starter", "the", "I", "in", "starter") == ["starter"]
    assert marks_in("Nothing in it", "in", "it") == ["in", "it"]
    assert marks_in("東京都の豆腐", "東京", "豆腐") == ["東京", "豆腐"]
    assert marks_in("a C++ template", "C++") == ["C++"]


def test_arrows_choose_another_note_and_the_field_keeps_the_keyboard(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "sourdough OR vienna")
        before = preview(app).text
        await pilot.press("down")
        await settle(pilot)
        assert preview(app).text != before
        await pilot.press("down", "down", "up", "up", "up")
        await settle(pilot)
        assert preview(app).text == before
        assert isinstance(app.focused, SearchField)

    play(index, scene)


def test_the_last_thing_typed_is_what_is_answered(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        for word in ("quokka", "vienna", "sourdough"):
            app.query_one("#search", SearchField).value = word
        await settle(pilot)
        assert [row.splitlines()[0] for row in rows(app)] == ["Bread"]

    play(index, scene)


def test_what_is_not_found_empties_list_and_note(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "xylophone")
        assert rows(app) == []
        assert preview(app).text == ""
        assert "nothing found" in status(app)
        await pilot.press("down", "enter", "ctrl+o", "ctrl+y")
        await pilot.press("escape")
        await settle(pilot)
        assert len(rows(app)) == 3, "escape begins anew"

    play(index, scene)


def test_an_error_is_one_sentence_in_the_status(home: Path) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        assert "--vault" in status(app)
        assert app.query_one("#status").has_class("failed")

    with Index(semantic=False) as empty:
        play(empty, scene)


def test_filters_narrow_every_search(index: Index, vault: Path) -> None:
    (vault / "Tagged.md").write_text("# Tagged\n\nsourdough #kitchen\n", encoding="utf-8")

    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        assert [row.splitlines()[0] for row in rows(app)] == ["Tagged"]

    play(index, scene, query="sourdough", filters=Filters(**{**EVERYTHING, "tags": ("kitchen",)}))


def test_enter_opens_the_note_in_its_own_program(index: Index, monkeypatch: pytest.MonkeyPatch, vault: Path) -> None:
    opened: list[str] = []
    # Nothing on a test machine opens addresses.
    monkeypatch.setattr(opening, "open_url", opened.append)

    async def scene(pilot: Pilot[str]) -> None:
        await type_query(pilot, "sourdough")
        await pilot.press("enter")

    play(index, scene)

    assert opened == [(vault / "Bread.md").as_uri()]


def test_the_editor_is_started_at_the_line(index: Index, monkeypatch: pytest.MonkeyPatch, vault: Path) -> None:
    edited: list[tuple[Path, int]] = []
    # The pilot has no terminal that an editor could take over.
    monkeypatch.setattr(SearchApp, "_edit", lambda _, path, line: edited.append((path, line)))

    async def scene(pilot: Pilot[str]) -> None:
        await type_query(pilot, "sourdough")
        await pilot.press("ctrl+o")

    play(index, scene)

    assert edited == [(vault / "Bread.md", 3)]


def test_choosing_ends_with_the_notes_name(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        await type_query(pilot, "sourdough")
        await pilot.press("enter")

    assert play(index, scene, choose=True).return_value == "vault:Bread.md"


def test_modes_and_colours_change_by_key(index: Index) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "sourdough")
        await pilot.press("ctrl+t")
        await settle(pilot)
        assert status(app).startswith("[fts]")
        dark = app.current_theme.dark
        await pilot.press("ctrl+l")
        assert app.current_theme.dark is not dark

    play(index, scene)


def test_a_locked_note_shows_that_it_is_locked(home: Path, bear_db: Path) -> None:
    async def scene(pilot: Pilot[str]) -> None:
        app = pilot.app
        assert isinstance(app, SearchApp)
        await type_query(pilot, "private diary")
        assert "Locked" in preview(app).text

    with Index(db=bear_db, semantic=False) as library:
        play(library, scene)


def test_without_a_terminal_it_says_what_to_use(home: Path, vault: Path) -> None:
    result = CliRunner().invoke(bearsearch, ["ui", "--vault", str(vault)])

    assert result.exit_code == 2
    assert "needs a terminal" in result.stderr


# ---------------------------------------------------------------- opening


@pytest.mark.parametrize(
    ("url", "heading", "opened"),
    [
        ("bear://x-callback-url/open-note?id=A", "Trip > What to pack", "bear://x-callback-url/open-note?id=A&header=What%20to%20pack"),
        ("bear://x-callback-url/open-note?id=A", "", "bear://x-callback-url/open-note?id=A"),
        ("obsidian://open?path=%2Fn%2Fa.md", "Trip", "obsidian://open?path=%2Fn%2Fa.md"),
    ],
)  # fmt: skip
def test_bear_is_sent_to_the_heading(url: str, heading: str, opened: str) -> None:
    assert opening.url_to_open(url, heading=heading) == opened


def test_a_note_in_an_obsidian_vault_is_opened_by_obsidian(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    note = tmp_path / "vault" / "Deep folder" / "ä & b.md"

    opened = opening.url_to_open(note.as_uri())

    assert opened.startswith("obsidian://open?path=%2F")
    assert opening.file_of(opened) == note
    plain = tmp_path / "elsewhere" / "a.md"
    assert opening.url_to_open(plain.as_uri()) == plain.as_uri()


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vim", ["vim", "+7", "/n/a.md"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+7", "/n/a.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/n/a.md:7"]),
        ("hx", ["hx", "/n/a.md:7"]),
        ("ed", ["ed", "/n/a.md"]),
    ],
)
def test_editors_are_told_the_line_as_each_wants_it(editor: str, command: list[str]) -> None:
    assert opening.editor_command(Path("/n/a.md"), 7, {"EDITOR": editor}) == command


def test_visual_goes_before_editor_and_no_editor_is_an_error() -> None:
    assert opening.editor_command(Path("/a"), 1, {"VISUAL": "micro", "EDITOR": "vi"})[0] == "micro"
    with pytest.raises(UsageError, match="set EDITOR"):
        opening.editor_command(Path("/a"), 1, {"PATH": ""})


def test_an_address_is_handed_over_without_a_shell() -> None:
    url = "bear://x-callback-url/open-note?id=A&header=B"

    assert opening.open_command(url, platform="darwin") == ["/usr/bin/open", url]
    assert opening.open_command(url, platform="win32")[-1] == url

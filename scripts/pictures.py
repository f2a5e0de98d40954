"""Record the pictures of the documentation: a session on the command line, the interactive search, and the map.

    python scripts/pictures.py

Runs the installed `bearsearch` on its own demo library, in a pseudo-terminal, with a real embedding model; nothing is
drawn by hand. Writes docs/pictures/. Needs the extras `model` and `ui`, and a POSIX system; the map's picture is taken
by a headless Chromium, and stays as it was where none is installed.
"""

import asyncio
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from bearsearch.cli.filters import Filters
from bearsearch.demo.library import create_bear_library
from bearsearch.map.page import page
from bearsearch.service import Index
from bearsearch.types import NoteMap
from bearsearch.ui.app import SearchApp

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COLUMNS = 98
FONTS = "ui-monospace, 'SF Mono', Menlo, 'Cascadia Mono', Consolas, 'DejaVu Sans Mono', monospace"

SESSION = (
    "bearsearch search fix noisy floorboard -n 1",
    "bearsearch search sourdogh startr -n 1",
    "bearsearch search lemon --tag recipes --format files | head -1 | bearsearch get - --lines 1-6",
)

_BLACK, _RED, _GREEN, _YELLOW = (65, 55, 45), (240, 127, 122), (156, 204, 101), (255, 209, 102)
_BLUE, _MAGENTA, _CYAN, _WHITE = (143, 184, 238), (206, 147, 216), (134, 197, 174), (236, 228, 216)
THEME = TerminalTheme((23, 20, 17), _WHITE, [_BLACK, _RED, _GREEN, _YELLOW, _BLUE, _MAGENTA, _CYAN, _WHITE])
"""The colours of `bearsearch ui`, so that both pictures look like one program."""


def output_of(command: str, environment: dict[str, str]) -> str:
    """What a terminal would show of a shell command."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    process = subprocess.Popen(["bash", "-c", command], stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # Linux ends a terminal that nobody holds any more with an error
        pass
    finally:
        os.close(parent)
    if process.wait() != 0:
        sys.exit(f"{command} failed:\n{seen.decode(errors='replace')}")
    return seen.decode("utf-8").replace("\r\n", "\n")


def session(environment: dict[str, str]) -> str:
    """The picture of the command line, as SVG."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for number, command in enumerate(SESSION):
            if number:
                console.print()
            console.print(Text.assemble(("$ ", "bold color(3)"), (command, "bold")))
            console.print(Text.from_ansi(output_of(command, environment).rstrip("\n")))
        return console.export_svg(title="bearsearch", theme=THEME, unique_id="session")


async def interactive(index: Index) -> str:
    """The picture of `bearsearch ui`, as SVG."""
    everything = Filters(tags=(), any_tags=(), sources=(), after=None, before=None, archived=False)
    # Loaded now, so that the first answer is the whole one.
    index.search("warm up")
    app = SearchApp(index, query="keep sourdough alive", filters=everything)
    async with app.run_test(size=(112, 32)) as pilot:
        for _ in range(40):
            await app.workers.wait_for_complete()
            await pilot.pause()
        return app.export_screenshot(title="bearsearch ui")


def settled(svg: str) -> str:
    """Without what differs between runs or asks another server: names made up by the writer, fonts from the web."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: ?(Fira Code|arial)[^;]*;", f"font-family: {FONTS};", svg)
    svg = re.sub(r"terminal-\d{6,}", "terminal-ui", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def map_picture(drawn: NoteMap, folder: Path) -> None:
    """The picture of `bearsearch map`, as PNG."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("the map's picture stays as it was: there is no Chromium")
        return
    html = folder / "map.html"
    html.write_text(page(drawn), encoding="utf-8")
    command = [
        *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
        *(f"--user-data-dir={folder / 'profile'}", "--window-size=1100,640", "--virtual-time-budget=3000"),
        *(f"--screenshot={PICTURES / 'map.png'}", html.as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory(prefix="bearsearch-pictures-") as folder:
        library = Path(folder) / "library.sqlite"
        create_bear_library(library)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BEARSEARCH_", "NO_COLOR"))}
        shim = Path(folder) / "bearsearch"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bearsearch "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        environment = {
            **kept,
            "BEARSEARCH_HOME": str(Path(folder) / "home"),
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS),
            "TZ": "UTC",
        }
        os.environ.clear()
        os.environ.update(environment)
        with Index(db=library) as index:
            index.sync()
            report = index.embed()
            if report.reason:
                sys.exit(f"pictures need a model: {report.reason}")
            index.sync()
            PICTURES.mkdir(exist_ok=True)
            ui = asyncio.run(interactive(index))
            map_picture(index.map_notes(), Path(folder))
        (PICTURES / "ui.svg").write_text(settled(ui), encoding="utf-8", newline="\n")
        (PICTURES / "session.svg").write_text(settled(session(environment)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

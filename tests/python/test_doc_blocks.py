"""Every code block of the README and of the documentation is run, so that none of them says what is not so.

`console` blocks: each line behind `$ ` (in `sh` and `bash` blocks each line) is run by bash, in order, in a home that
has what the documentation speaks of: a Bear library (the demo's) and a vault in ~/Notes, both indexed. It must succeed,
or exit with the code that a comment names (`# exits with 1`). Lines below it are what it prints, `...` standing for any
text. `python`, `json` and `toml` blocks are run or read. What would change this machine or never end is checked without
being run: see `CHECKED`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from bearsearch.cli.app import bearsearch
from bearsearch.config import load_settings
from bearsearch.demo.library import create_bear_library
from bearsearch.service import Index

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {
    "console",
    "sh",
    "bash",
    "python",
    "json",
    "toml",
    "text",
    "sql",
    "rust",
    "c",
    "yaml",
    "markdown",
    "md",
    "",
}

pytestmark = pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page; the fence may be indented, as in a list."""
    opened: tuple[int, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"^( *)```(\S*)\s*$", line)
        if fence and opened is None:
            opened, lines = (number, fence[2], len(fence[1])), []
        elif fence and opened is not None:
            yield Block(page, opened[0], opened[1], "".join(f"{one}\n" for one in lines))
            opened = None
        elif opened is not None:
            lines.append(line[opened[2] :])
    assert opened is None, f"{page}: a fence is not closed"


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


# ---------------------------------------------------------------- what is checked instead of run


def _installs(words: list[str]) -> None:
    """pip, pipx and uv: the package is ours or in the standard tools, and its extras exist."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(pyproject["project"]["optional-dependencies"])
    named = [word for word in words if word.startswith("bearsearch")]
    assert named, "installs something else"
    for word in named:
        found = re.fullmatch(r"bearsearch(?:\[([\w,]+)\])?", word)
        if found is None:
            continue
        assert set((found[1] or "").split(",")) - {""} <= extras


def _make(words: list[str]) -> None:
    """make: every target exists."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(words[1:]) <= targets


def _parses(words: list[str]) -> None:
    """bearsearch: the words are a call that it understands."""
    context = click.Context(bearsearch, info_name="bearsearch", **bearsearch.context_settings)
    command: click.Command = bearsearch
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, f"there is no command {rest[0]}"
        command, rest = found, rest[1:]
    with command.make_context(words[0], rest, parent=context):
        pass


def _adds_server(words: list[str]) -> None:
    """Another program that is told of the server: what it is told to start exists."""
    assert "bearsearch-mcp" in " ".join(words)


CHECKED: list[tuple[str, Callable[[list[str]], None]]] = [
    (r"(python3? -m )?pip install ", _installs),
    (r"pipx (install|inject) ", _installs),
    (r"uv tool install |uvx ", _installs),
    (r"make( |$)", _make),
    # These never end, need a window or another program's settings, or take minutes.
    (r"bearsearch (index .*--watch|ui\b|mcp --http|install |uninstall |demo|bench|eval|doctor --prepare)", _parses),
    (r"(claude|codex|code) ", _adds_server),
    (r'"\$EDITOR" ', lambda words: _parses(shlex.split(words[1].removeprefix("$(").removesuffix(")")))),
]
"""Pattern of a command, and what is checked of it."""


# ---------------------------------------------------------------- running


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: ~/Notes, and an index of it and of a Bear library."""
    folder = tmp_path_factory.mktemp("docs")
    notes = folder / "Notes"
    (notes / "Work").mkdir(parents=True)
    (notes / "Sourdough.md").write_text(
        "# Sourdough\n\n#cooking/bread\n\nFeed the starter daily, flour and water alike.\n\n## Baking\n\nHot.\n",
        encoding="utf-8",
    )
    (notes / "Work" / "Plan.md").write_text(
        "---\ntags:\n  - work\n---\n# Plan\n\nThe budget of the boat, varnish and oil. See [[Sourdough]].\n",
        encoding="utf-8",
    )
    library = folder / "bear.sqlite"
    create_bear_library(library)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("BEARSEARCH_")]:
            patch.delenv(name)
        patch.setenv("BEARSEARCH_HOME", str(folder / "data"))
        with Index(db=library, vault=notes, semantic=False) as index:
            index.sync()
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for name, module in (("bearsearch", "main"), ("bearsearch-mcp", "mcp_main")):
        program = bin_folder / name
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -c "from bearsearch.cli import {module}; {module}()" "$@"\n',
            encoding="utf-8",
        )
        program.chmod(0o755)
    return folder


@pytest.fixture
def user(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the user's folder for one block, which may change it."""
    folder = tmp_path / "user"
    shutil.copytree(prepared, folder)
    return folder


def environment_of(prepared: Path, user: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BEARSEARCH_")}
    return {
        **kept,
        "HOME": str(user),
        "BEARSEARCH_HOME": str(user / "data"),
        "PATH": f"{prepared / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "EDITOR": "true",
        # Models are the business of other tests; a documented command must not wait for one.
        "BEARSEARCH_SEMANTIC": "false",
        # Where the compiled package lies when it is not installed.
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def commands_of(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that stand below it; a command goes on behind a backslash."""
    if block.language != "console":
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.strip() and not line.startswith("#"):
                yield line, []
        return
    command: str | None = None
    output: list[str] = []
    for line in block.text.splitlines():
        if command is not None and command.endswith("\\"):
            command = f"{command[:-1]}{line.removeprefix('> ').strip()}"
        elif line.startswith("$ "):
            if command is not None:
                yield command, output
            command, output = line[2:], []
        else:
            assert command is not None, f"{block}: a console block begins with a command"
            output.append(line)
    if command is not None:
        yield command, output


def expected_code(command: str) -> int:
    found = re.search(r"# .*exits with (\d+)", command)
    return int(found[1]) if found else 0


def without_comment(command: str) -> str:
    """A command without its comment; a # inside quotes is none."""
    return re.sub(r"\s+# [^'\"]*$", "", command)


def same_output(expected: list[str], actual: str) -> bool:
    pattern = "\n".join(re.escape(line).replace(r"\.\.\.", ".*?") for line in expected)
    return re.fullmatch(pattern, actual.strip("\n"), re.DOTALL) is not None


@pytest.mark.parametrize("block", of("console", "sh", "bash"), ids=str)
def test_a_console_block_does_what_it_shows(block: Block, prepared: Path, user: Path) -> None:
    environment = environment_of(prepared, user)
    for command, output in commands_of(block):
        plain = without_comment(command)
        check = next((check for pattern, check in CHECKED if re.match(pattern, plain)), None)
        if check is not None:
            check(shlex.split(plain))
            continue
        done = subprocess.run(
            ["bash", "-c", plain],
            cwd=user,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=100,
        )
        assert done.returncode == expected_code(command), f"{block}: {command}\n{done.stderr}"
        if output:
            assert same_output(output, done.stdout), f"{block}: {command}\n{done.stdout}"


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_a_python_block_runs(block: Block, prepared: Path, user: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=user,
        env=environment_of(prepared, user),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_a_json_block_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of("toml"), ids=str)
def test_a_toml_block_is_a_settings_file(block: Block, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(block.text, encoding="utf-8")

    load_settings(environ={"BEARSEARCH_HOME": str(tmp_path), "HOME": str(tmp_path)})


def test_blocks_name_a_language_that_is_known_here() -> None:
    unknown = {str(block): block.language for block in BLOCKS if block.language not in LANGUAGES}

    assert not unknown, "a language that no test reads could say anything"


def test_links_between_pages_lead_somewhere() -> None:
    broken: list[str] = []
    for page in {*PAGES, *ROOT.glob("*.md")}:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(<?([^)>\s]+)>?\)|(?:src|href)=\"([^\"]+)\"", text):
            path = (target[0] or target[1]).partition("#")[0]
            if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(ROOT)} -> {path}")
    assert not broken


def test_pictures_ask_no_other_server() -> None:
    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*[\"']?https?:|<image|<script", text), picture

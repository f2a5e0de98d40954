"""What a command imports before it answers, so that no command waits for what it does not use.

    BEARSEARCH_WRITE_SNAPSHOTS=1 pytest tests/python/test_cli_startup.py

writes tests/data/imports.txt anew: per command our own modules and the packages of others. The standard library is not
listed, because its insides change with Python; its heavy members are forbidden by name. `bearsearch bench startup`
measures the milliseconds.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bearsearch.cli.app import COMMANDS as ALL_COMMANDS

IMPORTS = Path(__file__).parent.parent / "data" / "imports.txt"

HEAVY_STANDARD = {
    "asyncio",
    "sqlite3",
    "importlib.metadata",
    "multiprocessing",
    "unittest",
    "urllib.request",
    "http.client",
}
HEAVY = {"numpy", "fastembed", "onnxruntime", "tokenizers", "huggingface_hub", "mcp", "pydantic", "textual", "rich"}

COMMANDS: dict[str, list[str]] = {
    "--version": ["--version"],
    "--help": ["--help"],
    "search --help": ["search", "--help"],
    "mcp --help": ["mcp", "--help"],
    "completion": ["completion", "bash"],
    "search --mode fts": ["search", "sourdough", "--mode", "fts"],
    "search --no-semantic --json": ["search", "sourdough", "--no-semantic", "--json"],
    "get": ["get", "Bread"],
    "list": ["list"],
    "tags": ["tags"],
    "status": ["status"],
    "config list": ["config", "list"],
}


def modules_after(*arguments: str) -> set[str]:
    """Names of the modules that a run with these arguments has imported when it exits."""
    program = (
        "import atexit, sys; before = set(sys.modules);"
        "atexit.register(lambda: print('\\n' + ' '.join(set(sys.modules) - before), file=sys.stderr));"
        f"from bearsearch.cli import main; main({list(arguments)!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Every command's modules, each run in a home with one small vault."""
    folder = tmp_path_factory.mktemp("startup")
    (folder / "vault").mkdir()
    (folder / "vault" / "Bread.md").write_text("# Bread\n\nFeed the sourdough starter #daily.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("BEARSEARCH_")]:
            patch.delenv(name)
        patch.setenv("BEARSEARCH_HOME", str(folder / "home"))
        modules_after("index", "--vault", str(folder / "vault"), "--no-semantic", "--quiet")
        return {command: modules_after(*arguments) for command, arguments in COMMANDS.items()}


def listed(modules: set[str]) -> list[str]:
    """Our own modules, and others' packages by their top name; without what this test itself needs."""
    own = {name for name in modules if name.partition(".")[0] == "bearsearch"}
    others = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"bearsearch"}
    # Hooks that some installers put into every Python.
    return sorted(own) + sorted(
        name for name in others if not name.startswith(("_distutils", "__editable", "sitecustom"))
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_nothing_heavy(imported: dict[str, set[str]], command: str) -> None:
    assert not imported[command] & HEAVY_STANDARD
    assert not {name.partition(".")[0] for name in imported[command]} & HEAVY


def test_what_each_command_imports_is_what_the_list_says(imported: dict[str, set[str]]) -> None:
    text = ""
    for command, modules in imported.items():
        # The help reads a line of every command there is.
        shown = modules - set(ALL_COMMANDS.values()) if command == "--help" else modules
        text += f"{command}\n" + "".join(f"    {name}\n" for name in listed(shown))
    if os.environ.get("BEARSEARCH_WRITE_SNAPSHOTS"):
        IMPORTS.write_text(text, encoding="utf-8", newline="\n")

    assert text == IMPORTS.read_text(encoding="utf-8"), (
        "is each new import needed before the answer? then write it anew"
    )


def test_help_knows_nothing_of_the_engine(imported: dict[str, set[str]]) -> None:
    assert not [name for name in imported["--help"] if name.startswith("bearsearch._core")]

"""Shell completion: what is offered where, and that real shells insert what was meant."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from bearsearch.cli.app import COMMANDS, COMPLETION_VARIABLE, bearsearch

Offer = Callable[..., list[str]]


@pytest.fixture
def offered(home: Path) -> Offer:
    """What stands under a line's last word, as zsh is told: the values alone."""

    def ask(line: str) -> list[str]:
        environment = {
            **os.environ,
            COMPLETION_VARIABLE: "zsh_complete",
            "COMP_WORDS": f"bearsearch {line}",
            "COMP_CWORD": str(len(line.split(" "))),
        }
        done = subprocess.run(
            [sys.executable, "-m", "bearsearch"],
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()[1::3]

    return ask


@pytest.fixture
def library(home: Path, vault: Path) -> Path:
    """A home whose index knows a vault with tags, one of two words, and a title with an apostrophe."""
    (vault / "Tagged.md").write_text("# It's tagged\n\n#work/jp #two words# #home\n", encoding="utf-8")
    done = CliRunner().invoke(bearsearch, ["index", "--vault", str(vault), "--no-semantic"])
    assert done.exit_code == 0, done.output
    return vault


def test_commands_are_completed_with_their_descriptions(offered: Offer) -> None:
    assert set(COMMANDS) <= set(offered(""))
    assert offered("sea") == ["search"]
    assert offered("config un") == ["unset"]


def test_options_and_their_choices_are_completed(offered: Offer) -> None:
    assert {"--tag", "--any-tag", "--mode", "--vault"} <= set(offered("search --"))
    assert offered("search --mode v") == ["vector"]
    assert offered("list --format j") == ["json", "jsonl"]
    assert "remote.base_url" in offered("config get remote.")


def test_tags_sources_and_titles_come_from_the_index(offered: Offer, library: Path) -> None:
    assert offered("search --tag wo") == ["work/jp"]
    assert offered("search --tag TWO") == ["two words"]
    assert offered("list --source va") == ["vault"]
    assert offered("get ni") == ["Night train"]


def test_the_index_that_the_line_names_is_asked(offered: Offer, library: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n\n#workshop\n", encoding="utf-8")
    common = f"--index {tmp_path / 'other.sqlite'} --vault {other}"

    assert offered(f"{common} search --tag wo") == ["workshop"]
    assert offered(f"search {common} --tag wo") == ["workshop"]


def test_without_an_index_nothing_is_offered_and_nothing_is_said(offered: Offer) -> None:
    assert offered("search --tag x") == []


def test_a_title_that_looks_like_an_option_is_not_offered(offered: Offer, library: Path) -> None:
    (library / "dash.md").write_text("# --rebuild\n", encoding="utf-8")

    assert "--rebuild" not in offered("get -- --r")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script_without_complaint(home: Path, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(CliRunner().invoke(bearsearch, ["completion", shell]).stdout, encoding="utf-8")
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run([found, "-n", str(script)], capture_output=True, text=True, check=False)

    assert COMPLETION_VARIABLE in script.read_text(encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program `bearsearch` on the path, as an installation makes one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "bearsearch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bearsearch "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="needs bash")
@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize(
    ("words", "inserted"),
    [
        (["bearsearch", "search", "--tag", "two"], ["two\\ words"]),
        (["bearsearch", "get", "It"], ["It\\'s\\ tagged"]),
        (["bearsearch", "sta"], ["status"]),
    ],
)
def test_bash_inserts_values_as_they_must_be_typed(library: Path, words: list[str], inserted: list[str]) -> None:
    program = (
        'eval "$(bearsearch completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        '_bearsearch_completion bearsearch; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(["bash", "-c", program, "bash", *words], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == inserted


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("search --tag wo", "work/jp\t1 note"),
        ("sea", "search\tFind notes by word, by meaning and despite typos."),
        ("get Tri", "Trip: by night, and by day"),
    ],
)
def test_fish_offers_values_whole(library: Path, typed: str, offered: str) -> None:
    (library / "comma.md").write_text("# Trip: by night, and by day\n", encoding="utf-8")
    program = f'bearsearch completion fish | source; complete -C "bearsearch {typed}"'

    done = subprocess.run(["fish", "--no-config", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [offered]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.usefixtures("on_path")
def test_zsh_is_told_values_with_colons_whole(library: Path) -> None:
    (library / "colon.md").write_text("# Trip: by night, and by day\n#work/jp\n", encoding="utf-8")
    program = (
        'compdef() { :; }; eval "$(bearsearch completion zsh)"; words=(bearsearch get Tri); CURRENT=3;'
        '_describe() { print -rl -- "${completions_with_descriptions[@]}"; }; _bearsearch_completion'
    )

    done = subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["Trip\\: by night, and by day:#work/jp"]

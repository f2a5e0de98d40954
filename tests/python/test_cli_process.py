"""The command line as a process: how it meets terminals, closed pipes and signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BEARSEARCH = [sys.executable, "-m", "bearsearch"]


def test_both_ways_to_start_print_the_same_version() -> None:
    module = subprocess.run([*BEARSEARCH, "--version"], capture_output=True, text=True, check=True)
    script = Path(sys.executable).parent / "bearsearch"
    if script.exists():
        assert subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout == module.stdout
    assert module.stdout.startswith("bearsearch ")


def test_a_closed_pipe_ends_quietly(home: Path, bear_db: Path) -> None:
    for arguments in (["search", "quokka", "--no-semantic", "--json", "-n", "999", "--db", str(bear_db)], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [*BEARSEARCH, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
            )
        finally:
            os.close(writer)

        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert "Broken pipe" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_is_exit_code_130_without_a_traceback(home: Path, vault: Path) -> None:
    command = [*BEARSEARCH, "search", "-", "--vault", str(vault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        # More than a pipe holds: once this is written the program is reading its query, and waits for the rest.
        process.stdin.write(b"x" * 200_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()

    assert process.returncode == 130
    assert b"Traceback" not in stderr


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """What a person sees: the program's whole output on a terminal of 40 columns."""
    import pty  # POSIX only

    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "40", "TERM": "xterm-256color", **environment}
    process = subprocess.Popen([*BEARSEARCH, *arguments], stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # Linux ends a terminal that nobody holds any more with an error
        pass
    finally:
        os.close(parent)
    process.wait()
    return seen.decode("utf-8", errors="replace").replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_gets_colour_links_and_wrapped_passages(home: Path, vault: Path) -> None:
    arguments = ["search", "sourdough", "--no-semantic", "--vault", str(vault)]

    text = on_a_terminal(arguments, {})

    assert "\x1b[1;33msourdough\x1b[0m" in text
    assert f"\x1b]8;;{(vault / 'Bread.md').as_uri()}\x1b\\" in text
    for wish in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal(arguments, wish)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_bar_is_drawn_on_a_terminal_only(home: Path, vault: Path) -> None:
    arguments = ["index", "--no-semantic", "--vault", str(vault)]

    seen = on_a_terminal(arguments, {})
    piped = subprocess.run([*BEARSEARCH, *arguments], capture_output=True, text=True, check=True)
    quiet = on_a_terminal([*arguments, "--quiet"], {})

    assert "indexing" in seen
    assert "\x1b[" in seen
    assert piped.stderr == ""
    assert "\x1b" not in piped.stdout
    assert quiet == ""


def test_colour_can_be_forced_into_a_pipe_and_no_color_wins(home: Path, vault: Path) -> None:
    command = [*BEARSEARCH, "search", "sourdough", "--no-semantic", "--vault", str(vault)]

    def output(**wishes: str) -> str:
        return subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=True, env={**os.environ, **wishes}
        ).stdout

    assert "\x1b" not in output()
    assert "\x1b[1;33m" in output(CLICOLOR_FORCE="1")
    assert "\x1b]8" not in output(CLICOLOR_FORCE="1"), "a pipe follows no links"
    assert "\x1b" not in output(CLICOLOR_FORCE="0")
    assert "\x1b" not in output(CLICOLOR_FORCE="1", NO_COLOR="1")


def test_output_is_utf8_whatever_the_locale(home: Path, bear_db: Path) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    command = [*BEARSEARCH, "search", "東京", "--no-semantic", "--json", "--db", str(bear_db)]

    done = subprocess.run(command, capture_output=True, check=False, env=environment)

    assert "日本語のメモ 東京" in {hit["title"] for hit in json.loads(done.stdout)["hits"]}

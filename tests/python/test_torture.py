"""Short forms of the long programs `tests/torture.py` and `tests/crowd.py`; `make torture` runs the long ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


def run(program: str, *arguments: str, tmp_path: Path) -> dict[str, object]:
    """Runs one of the programs and returns its figures."""
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(TESTS / program), *arguments, "--json", str(figures)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(figures.read_text(encoding="utf-8"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its victims")
@pytest.mark.timeout(600)
def test_an_index_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    figures = run("torture.py", "--runs", "25", "--seed", "7", "--quiet", tmp_path=tmp_path)
    assert figures["runs"] == 25


@pytest.mark.timeout(600)
def test_many_processes_on_one_index_turn_nobody_away(tmp_path: Path) -> None:
    figures = run("crowd.py", "--seconds", "8", tmp_path=tmp_path)
    assert figures["edits"]

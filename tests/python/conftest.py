"""Fixtures that several test files share: a Bear library, and a home that no real setting reaches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GENERATOR = Path(__file__).parent.parent / "make_bear_db.py"


@pytest.fixture(scope="session")
def bear_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Bear 2 library with every edge row; never written to, so all tests share it."""
    path = tmp_path_factory.mktemp("bear") / "database.sqlite"
    command = [sys.executable, str(GENERATOR), "create", str(path), "--bear", "2", "--notes", "40", "--quiet"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh data and configuration folder, and none of the environment's own settings or colour wishes."""
    for name in [name for name in os.environ if name.startswith("BEARSEARCH_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("BEARSEARCH_HOME", str(path))
    return path


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A small folder of Markdown notes."""
    path = tmp_path / "vault"
    (path / "Trips").mkdir(parents=True)
    (path / "Bread.md").write_text("# Bread\n\nFeed the sourdough starter daily.\n", encoding="utf-8")
    (path / "Trips" / "Night train.md").write_text(
        "# Night train\n\nFrom Vienna to Venice.\n\n## Packing\n\nEarplugs and a blanket.\n", encoding="utf-8"
    )
    return path

"""What is packaged: versions, extras and licences agree wherever they are written."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CARGO: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
LICENCES = (ROOT / "THIRD_PARTY_LICENSES").read_text(encoding="utf-8")


def script(name: str) -> ModuleType:
    """A program in scripts/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_version_is_written_in_cargo_toml_alone() -> None:
    version = CARGO["package"]["version"]

    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PYPROJECT["project"]
    for path in (ROOT / "python").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(encoding="utf-8"), path
    done = subprocess.run([sys.executable, "-m", "bearsearch", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"bearsearch {version}\n"


def test_the_changelog_has_a_place_for_what_changes_next() -> None:
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_pattern_of_a_licence_file_names_one() -> None:
    for pattern in PYPROJECT["project"]["license-files"]:
        assert list(ROOT.glob(pattern)), pattern


def test_the_sdist_takes_along_what_building_and_licensing_need() -> None:
    included = CARGO["package"]["include"]

    for path in ("/LICENSE", "/THIRD_PARTY_LICENSES", "/README.md", "/pyproject.toml", "/Cargo.lock", "/vendor/**"):
        assert path in included
    # Without this file SQLite is compiled with a lock that all connections share.
    assert "/.cargo/config.toml" in included


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_every_crate_that_is_linked_here_is_listed_with_its_licence() -> None:
    target = next(
        line.partition(": ")[2]
        for line in subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines()
        if line.startswith("host: ")
    )
    packages = script("third_party_licenses").linked_packages([target], offline=True).values()

    assert len(packages) > 30
    listed = {tuple(line.split()[:2]) for line in LICENCES.split("\n====")[0].splitlines() if "  " in line}
    missing = {(package["name"], package["version"]) for package in packages} - listed
    assert not missing, "run `python scripts/third_party_licenses.py`"


def test_no_crate_is_listed_that_the_lock_file_does_not_know() -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    known = {f"{package['name']} {package['version']}" for package in lock["package"]}
    listed = re.findall(r"^(\S+ \d\S*) {2,}\S", LICENCES.split("\n====")[0], re.MULTILINE)

    assert len(listed) > 30
    assert set(listed) <= known


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("MIT", ["MIT"]),
        ("Unlicense/MIT", ["MIT"]),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", ["MIT", "Unicode-3.0"]),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", ["MIT"]),
        ("CC0-1.0 OR Apache-2.0", ["CC0-1.0"]),
    ],
)
def test_one_licence_of_each_choice_is_taken(expression: str, taken: list[str]) -> None:
    assert script("third_party_licenses").chosen_licences(expression) == taken


def test_a_licence_that_nobody_thought_about_stops_the_list() -> None:
    with pytest.raises(SystemExit, match=r"GPL-3\.0"):
        script("third_party_licenses").chosen_licences("GPL-3.0-only")


def test_the_extras_are_those_that_the_wheel_is_checked_for() -> None:
    assert set(PYPROJECT["project"]["optional-dependencies"]) == script("check_wheel").EXTRAS


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="needs actionlint")
def test_the_workflows_have_no_fault_that_actionlint_sees() -> None:
    done = subprocess.run(
        ["actionlint", "-format", "{{json .}}"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert json.loads(done.stdout or "[]") == []

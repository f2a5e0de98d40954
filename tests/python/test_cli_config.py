"""`bearsearch config`: what it shows and where that comes from, and what it writes."""

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bearsearch.cli.app import bearsearch
from bearsearch.config import SETTINGS, load_settings

Run = Callable[..., Result]


@pytest.fixture
def run(home: Path) -> Run:
    """Run `bearsearch config` with these arguments, in a home of its own."""

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(bearsearch, ["config", *arguments], catch_exceptions=False)

    return invoke


def listed(run: Run, *options: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(run("list", "--json", *options).stdout)["settings"]}


def test_list_names_every_setting_with_its_variable(run: Run) -> None:
    rows = listed(run)

    assert list(rows) == [setting.name for setting in SETTINGS]
    assert all(rows[setting.name]["variable"] == setting.env for setting in SETTINGS)
    assert all(row["origin"] == "default" for row in rows.values())
    text = run("list").stdout
    assert all(f"\n{setting.name} " in text for setting in SETTINGS)


def test_origins_are_flag_before_environment_before_file(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("set", "model", "from-file")
    assert listed(run)["model"]["value"] == "from-file"
    assert listed(run)["model"]["origin"] == f"file '{home / 'config.toml'}'"

    monkeypatch.setenv("BEARSEARCH_MODEL", "from-env")
    assert (listed(run)["model"]["value"], listed(run)["model"]["origin"]) == ("from-env", "env BEARSEARCH_MODEL")

    rows = listed(run, "--model", "from-flag", "--no-semantic")
    assert (rows["model"]["value"], rows["model"]["origin"]) == ("from-flag", "flag")
    assert (rows["semantic"]["value"], rows["semantic"]["origin"]) == (False, "flag")


def test_path_names_the_file_before_it_exists(run: Run, home: Path) -> None:
    assert run("path").stdout == f"{home / 'config.toml'}\n"
    assert not home.exists()


def test_set_keeps_comments_and_other_settings(run: Run, home: Path) -> None:
    home.mkdir()
    file = home / "config.toml"
    file.write_text('# mine\nthreads = 2 # two\n\n[remote]\nmodel = "m"\n', encoding="utf-8")

    assert run("set", "remote.base_url", "http://localhost:1/v1").exit_code == 0
    assert run("set", "exclude_tags", "private", "two words").exit_code == 0

    text = file.read_text(encoding="utf-8")
    assert "# mine\nthreads = 2 # two\n" in text
    settings = load_settings()
    assert settings.exclude_tags == ("private", "two words")
    assert settings.threads == 2
    assert settings.remote is not None
    assert (settings.remote.base_url, settings.remote.model) == ("http://localhost:1/v1", "m")


def test_what_is_set_comes_back_from_get(run: Run) -> None:
    run("set", "exclude", "Archive/**", "*.tmp")
    run("set", "semantic", "off")
    run("set", "query_prefix", "")

    assert run("get", "exclude").stdout == "Archive/**\n*.tmp\n"
    assert run("get", "semantic").stdout == "false\n"
    assert json.loads(run("get", "query_prefix", "--json").stdout)["value"] == ""
    assert run("get", "vault").exit_code == 1


def test_a_relative_path_is_written_whole(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    run("set", "vault", "notes")

    assert run("get", "vault").stdout == f"{tmp_path / 'notes'}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["set", "modle", "x"], "did you mean 'model'?"),
        (["set", "threads", "none"], "whole number of 1 or more"),
        (["set", "model", "two", "words"], "takes one value, got 2"),
        (["set", "remote.base_url", "ftp://x"], "http://"),
        (["get", "modle"], "did you mean 'model'?"),
        (["unst", "model"], "did you mean unset?"),
    ],
)
def test_what_has_no_meaning_is_refused_and_nothing_is_written(
    run: Run, home: Path, arguments: list[str], said: str
) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert said in result.stderr
    assert not (home / "config.toml").exists()


def test_unset_removes_a_setting_and_an_emptied_table(run: Run, home: Path) -> None:
    run("set", "remote.model", "m")

    assert run("unset", "remote.model").exit_code == 0
    assert (home / "config.toml").read_text(encoding="utf-8").strip() == ""
    assert run("unset", "remote.model").exit_code == 1


def test_half_an_endpoint_is_written_and_said_to_be_half(run: Run) -> None:
    result = run("set", "remote.base_url", "http://localhost:1/v1")

    assert result.exit_code == 0
    assert "not complete yet: a remote endpoint needs remote.model" in result.stderr


def test_a_value_that_something_else_overrides_is_said_to_be(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARSEARCH_MODEL", "from-env")

    assert "env BEARSEARCH_MODEL still goes before it" in run("set", "model", "x").stderr


def test_a_file_that_is_no_toml_is_left_as_it_is(run: Run, home: Path) -> None:
    home.mkdir()
    file = home / "config.toml"
    file.write_text("threads = = 2\n", encoding="utf-8")

    result = run("set", "threads", "3")

    assert result.exit_code == 2
    assert str(file) in result.stderr
    assert file.read_text(encoding="utf-8") == "threads = = 2\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and links")
def test_the_file_is_private_and_a_link_to_it_stays_one(run: Run, home: Path, tmp_path: Path) -> None:
    home.mkdir()
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text("", encoding="utf-8")
    (home / "config.toml").symlink_to(elsewhere)

    run("set", "threads", "3")

    assert (home / "config.toml").is_symlink()
    assert elsewhere.read_text(encoding="utf-8") == "threads = 3\n"
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == ["config.toml"]

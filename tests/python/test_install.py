"""`bearsearch install`: real settings files in a home of their own, and a real server behind them."""

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bearsearch.errors import HostError
from bearsearch.install import handshake, settings, toml_table
from bearsearch.install.hosts import HOSTS
from bearsearch.install.launch import launch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="homes are set by HOME here")


@pytest.fixture
def user(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home folder."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


class Done(NamedTuple):
    """How a process ended and what it said."""

    code: int
    out: str
    err: str


def call(*arguments: str) -> Done:
    command = [sys.executable, "-m", "bearsearch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def value_of(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def test_the_hosts_of_the_command_are_those_that_are_known() -> None:
    from bearsearch.cli.install import HOST_NAMES

    assert tuple(HOSTS) == HOST_NAMES


@pytest.mark.parametrize("name", HOSTS)
def test_a_program_gets_an_entry_that_starts_a_server_which_answers(user: Path, vault: Path, name: str) -> None:
    done = call("install", name, "--vault", str(vault), "--no-semantic")

    assert done.code == 0, done.err
    assert re.search(r"^bearsearch \S+ answered in [\d.]+ s with \d+ tools and \d+ notes$", done.out.strip())
    path = HOSTS[name].path()
    assert path.is_relative_to(user)
    entry = settings.read_entry(HOSTS[name])
    assert entry is not None
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["--vault", str(vault), "--no-semantic"]
    assert entry["env"] == {"BEARSEARCH_HOME": os.environ["BEARSEARCH_HOME"]}
    assert call("install", name, "--vault", str(vault), "--no-semantic", "--no-check").err.startswith(
        f"{HOSTS[name].title} has this entry already"
    )

    assert call("uninstall", name).code == 0
    assert settings.read_entry(HOSTS[name]) is None
    assert call("uninstall", name).code == 1


OTHERS = {
    "claude-desktop": '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  },\n  "theme": "dark"\n}\n',
    "zed": '// Zed\n{\n  "context_servers": {\n    "other": {"command": "x"}, // mine\n  },\n  "vim_mode": true,\n}\n',
    "codex": '# mine\nmodel = "gpt"\n\n[mcp_servers.other]\ncommand = "x"\nargs = [\n  "a", # one\n]\n\n[tui]\nx = 1\n',
}


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_in_a_file_stays_and_the_file_is_copied_first(user: Path, name: str) -> None:
    host = HOSTS[name]
    path = host.path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OTHERS[name], encoding="utf-8")
    path.chmod(0o640)

    done = call("install", name, "--no-check")

    assert done.code == 0, done.err
    text = path.read_text(encoding="utf-8")
    kept = [line for line in OTHERS[name].splitlines() if line.strip() not in ("", "}", "},")]
    assert [line for line in text.splitlines() if line.rstrip(",") in [one.rstrip(",") for one in kept]] != []
    for line in kept:
        assert line.rstrip(",") in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    [backup] = path.parent.glob("*.bak")
    assert backup.read_text(encoding="utf-8") == OTHERS[name]
    assert str(backup) in done.err

    assert call("uninstall", name).code == 0
    assert path.read_text(encoding="utf-8").split() == OTHERS[name].split()


def test_print_shows_the_entry_and_writes_nothing(user: Path) -> None:
    for name, host in HOSTS.items():
        done = call("install", name, "--print", "--note-create")

        assert done.code == 0
        found = tomllib.loads(done.out) if host.toml else json.loads(done.out)
        assert found[host.keys[0]]["bearsearch"]["args"][-1] == "--note-create"
        assert str(host.path()) in done.err
    assert list(user.rglob("*")) == []


def test_a_server_that_does_not_answer_leaves_the_file_as_it_was(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = HOSTS["cursor"].path()
    path.parent.mkdir()
    before = '{"mcpServers": {}}'
    path.write_text(before, encoding="utf-8")

    done = call("install", "cursor", "--index", str(tmp_path))  # a folder, not a file

    assert done.code == 2
    assert "the file is as it was" in done.err
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("entry", [{"command": "/nowhere/bearsearch"}, {"command": "/bin/echo", "args": ["hello"]}])
def test_what_is_no_server_is_said_to_be_none(entry: dict[str, Any]) -> None:
    with pytest.raises(HostError, match=r"could not be started|did not answer"):
        handshake.greet(entry)


def test_a_broken_settings_file_is_not_touched(user: Path) -> None:
    path = HOSTS["claude-code"].path()
    path.write_text('{"mcpServers": {', encoding="utf-8")

    done = call("install", "claude-code")

    assert done.code == 2
    assert "cannot be changed: line 1 should have" in done.err
    assert path.read_text(encoding="utf-8") == '{"mcpServers": {'
    assert list(user.glob("*.bak")) == []


def test_a_link_to_settings_kept_elsewhere_stays_a_link(user: Path) -> None:
    real = user / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}", encoding="utf-8")
    (user / ".cursor").mkdir()
    (user / ".cursor" / "mcp.json").symlink_to(real)

    assert call("install", "cursor", "--no-check").code == 0

    assert (user / ".cursor" / "mcp.json").is_symlink()
    assert "bearsearch" in value_of(real)["mcpServers"]


def test_a_file_that_was_changed_meanwhile_is_not_put_back(user: Path) -> None:
    change = settings.added(HOSTS["cursor"], {"command": "/x", "args": []})
    assert change is not None
    change.path.write_text('{"mine": 1}', encoding="utf-8")

    assert change.undo() is False
    assert change.path.read_text(encoding="utf-8") == '{"mine": 1}'


def test_paths_of_an_entry_are_absolute_and_uvs_cache_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert launch(environ={"BEARSEARCH_HOME": "here"}).environment == {"BEARSEARCH_HOME": str(tmp_path / "here")}

    uvx = tmp_path / "bin" / "uvx"
    uvx.parent.mkdir()
    uvx.write_text("", encoding="utf-8")
    uvx.chmod(0o755)
    monkeypatch.setenv("PATH", str(uvx.parent))
    monkeypatch.setattr(sys, "prefix", "/home/x/.cache/uv/archive-v0/abc")
    assert launch(["--no-semantic"], environ={}) == (
        str(uvx), ("--from", "bearsearch", "bearsearch-mcp", "--no-semantic"), {},
    )  # fmt: skip


# ---------------------------------------------------------------- TOML

ENTRY = {"command": 'C:\\x "y"', "args": ["a", "ü"], "env": {"A.B": "1"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1\n",
        "[mcp_servers.zebra]\ncommand = 'z'\n",
        "[mcp_servers.bearsearch]\ncommand = 'old'\n[mcp_servers.bearsearch.env]\nX = '1'\n[after]\nb = 2\n",
        "[mcp_servers . \"bearsearch\"] # ours\r\ncommand = 'old'\r\n",
        's = """\n[mcp_servers.other]\n"""\n',
    ],
)
def test_a_table_is_set_and_taken_out_and_nothing_else_changes(text: str) -> None:
    path = ("mcp_servers", "bearsearch")
    before = tomllib.loads(text)

    new = toml_table.with_table(text, path, ENTRY)

    value = tomllib.loads(new)
    assert value["mcp_servers"].pop("bearsearch") == ENTRY
    before.get("mcp_servers", {}).pop("bearsearch", None)
    assert {key: item for key, item in value.items() if item} == {key: item for key, item in before.items() if item}
    assert toml_table.without_table(new, path).split() == toml_table.without_table(text, path).split()


@pytest.mark.parametrize("text", ["a = ", "mcp_servers = { bearsearch = { command = 'x' } }\n"])
def test_a_table_that_only_a_person_can_change_is_refused(text: str) -> None:
    with pytest.raises(toml_table.TomlError):
        toml_table.with_table(text, ("mcp_servers", "bearsearch"), ENTRY)

"""Where settings come from, and what is said when one makes no sense."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bearsearch.config import SETTINGS, Settings, load_settings, make_private_folder
from bearsearch.errors import UsageError


def load(home: Path, overrides: dict[str, object] | None = None, **environ: str) -> Settings:
    return load_settings(overrides, environ={"BEARSEARCH_HOME": str(home), **environ})


def write(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def test_without_file_or_environment_every_setting_is_a_default(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.index == tmp_path / "index.sqlite"
    assert settings.models_path == tmp_path / "models"
    assert settings.model is None
    assert settings.query_prefix is None
    assert settings.semantic
    assert settings.remote is None
    assert {settings.origin(setting.name) for setting in SETTINGS} == {"default"}


def test_loading_settings_makes_no_folder(tmp_path: Path) -> None:
    load(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'index = "from-file.sqlite"\nmodel = "from-file"\nthreads = 3\n')
    settings = load(
        tmp_path,
        {"index": "from-flag.sqlite", "model": None},
        BEARSEARCH_INDEX="from-env.sqlite",
        BEARSEARCH_MODEL="from-env",
    )
    assert settings.index == Path.cwd() / "from-flag.sqlite"
    assert settings.origin("index") == "flag"
    assert settings.model == "from-env"
    assert settings.origin("model") == "env BEARSEARCH_MODEL"
    assert settings.threads == 3
    assert settings.origin("threads") == f"file '{tmp_path / 'config.toml'}'"
    assert settings.origin("db") == "default"


def test_settings_can_be_overridden_once_they_are_loaded(tmp_path: Path) -> None:
    settings = load(tmp_path, BEARSEARCH_MODEL="from-env")
    changed = settings.override({"index": "/a/b", "model": None, "threads": 2})
    assert (changed.index, changed.model, changed.threads) == (Path("/a/b"), "from-env", 2)
    assert (changed.origin("index"), changed.origin("model")) == ("flag", "env BEARSEARCH_MODEL")
    assert settings.index == tmp_path / "index.sqlite"
    remote = settings.override({"remote.base_url": "http://host/v1", "remote.model": "m"})
    assert remote.remote is not None
    assert remote.override({"remote.dim": 7}).remote == replace(remote.remote, dim=7)
    with pytest.raises(UsageError, match="threads must be a whole number"):
        settings.override({"threads": 0})
    with pytest.raises(UsageError, match="did you mean 'model'"):
        settings.override({"modle": "x"})


def test_relative_paths_in_the_file_start_from_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'index = "sub/my.sqlite"\nvault = "notes"\n')
    settings = load(tmp_path)
    assert settings.index == tmp_path / "sub" / "my.sqlite"
    assert settings.vault == tmp_path / "notes"


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load(tmp_path, BEARSEARCH_BEAR_DB="~/db.sqlite").db == tmp_path / "db.sqlite"


def test_an_empty_variable_is_absent_except_for_prefixes_where_it_means_none(tmp_path: Path) -> None:
    settings = load(tmp_path, BEARSEARCH_MODEL="", BEARSEARCH_INDEX="", BEARSEARCH_QUERY_PREFIX="")
    assert settings.model is None
    assert settings.index == tmp_path / "index.sqlite"
    assert settings.query_prefix == ""
    assert settings.document_prefix is None


def test_lists_come_from_the_environment_in_its_own_notation(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        BEARSEARCH_VAULT="/a",
        BEARSEARCH_EXCLUDE_TAGS="private, work/secret",
        BEARSEARCH_SEMANTIC="off",
    )
    assert settings.vault == Path("/a")
    assert settings.exclude_tags == ("private", "work/secret")
    assert not settings.semantic


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('modle = "x"\n', "'modle'; did you mean 'model'?"),
        ('[remote]\nbase_ulr = "http://x"\n', "'remote.base_ulr'; did you mean 'remote.base_url'?"),
        ("threads = 0\n", "must be a whole number of 1 or more, got 0"),
        ("threads = true\n", "must be a whole number of 1 or more, got True"),
        ("model = 7\n", "model in"),
        ('codec = "zip"\n', "one of auto, rabitq, rabitq4, int8, none; got 'zip'"),
        ('semantic = "maybe"\n', "must be true or false, got 'maybe'"),
        ("exclude_tags = [1]\n", "must be a list of texts"),
        ("vault = 3\n", "must be a path, got 3"),
        ("index = \n", "is not valid TOML"),
        ('[remote]\nbase_url = "http://x"\n', "needs remote.model"),
        ('[remote]\nmodel = "m"\n', "needs remote.base_url"),
        ('[remote]\nmodel = "m"\nbase_url = "ftp://x"\n', "must start with http"),
        ('[remote]\nmodel = "m"\nbase_url = "http://x"\ntimeout_s = -1\n', "number of seconds above 0"),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_the_file_or_the_key(tmp_path: Path, text: str, expected: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_or_not_a_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load(tmp_path)
    (tmp_path / "config.toml").unlink()
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path)


def test_an_unknown_override_names_the_nearest_setting(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'index'"):
        load(tmp_path, {"indx": "x"})
    with pytest.raises(UsageError, match="did you mean 'model'"):
        load(tmp_path).origin("modell")


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^BEARSEARCH_THREADS must be a whole number of 1 or more, got 'two'$"):
        load(tmp_path, BEARSEARCH_THREADS="two")


def test_a_remote_endpoint_keeps_the_name_of_the_key_and_never_the_key(tmp_path: Path) -> None:
    write(tmp_path, '[remote]\nbase_url = "https://host/v1/"\nmodel = "m"\napi_key_env = "MY_KEY"\ndim = 64\n')
    settings = load(tmp_path, MY_KEY="secret-value")
    assert settings.remote is not None
    assert settings.remote.base_url == "https://host/v1"
    assert settings.remote.api_key_env == "MY_KEY"
    assert settings.remote.dim == 64
    assert "secret-value" not in repr(settings)


def test_names_keys_and_variables_are_unique_and_follow_one_pattern() -> None:
    for values in (
        [setting.name for setting in SETTINGS],
        [setting.env for setting in SETTINGS],
    ):
        assert len(values) == len(set(values))
    assert all(setting.env.startswith("BEARSEARCH_") and setting.help for setting in SETTINGS)


def test_without_a_home_variable_the_platform_folders_are_used(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("XDG variables move platformdirs' folders on Linux only")
    code = "from bearsearch.config import load_settings; s = load_settings(); print(s.index); print(s.config_path)"
    env = {k: v for k, v in os.environ.items() if not k.startswith("BEARSEARCH_")}
    env |= {"XDG_DATA_HOME": str(tmp_path / "d"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, encoding="utf-8", timeout=30, check=True
    )
    assert done.stdout.splitlines() == [
        str(tmp_path / "d" / "bearsearch" / "index.sqlite"),
        str(tmp_path / "c" / "bearsearch" / "config.toml"),
    ]


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = make_private_folder(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert make_private_folder(folder) == folder


def test_a_private_folder_over_a_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="BEARSEARCH_HOME"):
        make_private_folder(tmp_path / "a")

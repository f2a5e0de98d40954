"""Settings: where each comes from, in what order, and what it may be.

One value is taken from the first place that names it: a flag, the environment, the user's TOML file, the default.
`Settings.origin` tells which. One table, `SETTINGS`, defines every key, its variable and its meaning, and is what
help texts and `bearsearch config` print. Nothing here opens an index, looks for a model or makes a folder, apart
from `make_private_folder`, which callers use before they write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .errors import UsageError

__all__ = ["SETTINGS", "RemoteSettings", "Setting", "Settings", "load_settings", "make_private_folder"]

CONFIG_NAME = "config.toml"
INDEX_NAME = "index.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """An OpenAI-compatible embedding endpoint; used only when the user names one."""

    base_url: str
    """Address up to and without `/embeddings`, such as `https://host/v1`."""
    model: str
    """Name that the endpoint knows the model by."""
    api_key_env: str | None
    """Name of the environment variable that holds the key; the key itself is never stored. None sends no key."""
    dim: int | None
    """Width that the endpoint must answer with; None accepts the width of its first answer."""
    timeout_s: float
    """Longest wait for one answer."""
    retries: int
    """How often a failed request is repeated, with growing pauses."""
    batch: int
    """Most texts in one request."""
    max_chars: int
    """Longest text in characters; longer ones are sent in windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, resolved. Make one with `load_settings`."""

    index_path: Path
    db: Path | None
    """Bear database to read instead of the one that is found."""
    vaults: tuple[Path, ...]
    """Markdown folders."""
    model: str | None
    """Embedding model by name; None lets bearsearch choose."""
    model_path: Path | None
    """Folder that holds a model; None looks in the usual places."""
    query_prefix: str | None
    """Text put before a query; None is the model family's own, an empty string is none."""
    document_prefix: str | None
    """Text put before a passage; None is the model family's own, an empty string is none."""
    threads: int | None
    """Processor cores that inference may use; None takes what the process may use, at most 8."""
    semantic: bool
    """False never loads a model: words only."""
    index_locked_titles: bool
    """False leaves locked notes out entirely."""
    exclude_tags: tuple[str, ...]
    """Notes with one of these tags, or a child of one, never reach the index."""
    exclude: tuple[str, ...]
    """Path patterns, gitignore's, that never reach the index."""
    codec: str
    """Quantization of the vector scan; "auto" lets the engine choose."""
    data_path: Path
    """Folder of everything that bearsearch keeps."""
    models_path: Path
    """Folder of downloaded and prepared models."""
    config_path: Path
    """The user's settings file, whether or not it exists."""
    remote: RemoteSettings | None = None
    """A remote embedding endpoint; None, the default, never sends text anywhere."""
    origins: Mapping[str, str] = field(default_factory=lambda: {}, repr=False)
    """Origin by setting name, for those that are not defaults."""

    def origin(self, name: str) -> str:
        """Where a value comes from: "flag", "env BEARSEARCH_INDEX", "file '/path/config.toml'" or "default".

        Args:
            name: A setting's name as in `SETTINGS`, such as "index_path" or "remote.model".

        Raises:
            UsageError: No setting has that name.
        """
        if name not in _BY_NAME:
            raise UsageError(_unknown(name, "there is no setting", _BY_NAME))
        return self.origins.get(name, "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Definition of one setting."""

    name: str
    """Name in `Settings`; a dot leads into `RemoteSettings`."""
    key: str
    """Key in the settings file; a dot leads into a table."""
    env: str
    """Environment variable."""
    help: str
    """One line for help texts."""
    parse: Callable[[object, str, Path], Any]
    """Value as given, its place for error sentences, folder that relative paths start from -> value."""
    empty_means_unset: bool = True
    """Whether an empty environment variable counts as absent."""


# Parsers. A value comes as TOML's own type, as an environment string, or as Python's from a flag.


def _text(value: object, place: str, _base: Path) -> str:
    if isinstance(value, str):
        return value
    raise UsageError(f"{place} must be text, got {value!r}")


def _path(value: object, place: str, base: Path) -> Path:
    if not isinstance(value, (str, os.PathLike)) or not str(cast("str | os.PathLike[str]", value)):
        raise UsageError(f"{place} must be a path, got {value!r}")
    try:
        path = Path(cast("str | os.PathLike[str]", value)).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{place} names a home folder that cannot be found: {value!r}") from error
    if "\0" in str(path):
        raise UsageError(f"{place} holds a NUL byte, which no path can have")
    # Made absolute without resolving links: the user sees the path that was given.
    return Path(os.path.abspath(base / path))


def _paths(value: object, place: str, base: Path) -> tuple[Path, ...]:
    if isinstance(value, str):
        parts: Sequence[object] = [part for part in value.split(os.pathsep) if part]
    elif isinstance(value, os.PathLike):
        parts = [cast("object", value)]
    elif isinstance(value, (list, tuple)):
        parts = cast("Sequence[object]", value)
    else:
        raise UsageError(f"{place} must be a path or a list of paths, got {value!r}")
    return tuple(_path(part, place, base) for part in parts)


def _texts(value: object, place: str, _base: Path) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        if all(isinstance(item, str) for item in items):
            return tuple(cast("Sequence[str]", items))
    raise UsageError(f"{place} must be a list of texts, got {value!r}")


_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _flag(value: object, place: str, _base: Path) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    raise UsageError(f"{place} must be true or false, got {value!r}")


def _count(lowest: int) -> Callable[[object, str, Path], int]:
    def parse(value: object, place: str, _base: Path) -> int:
        number: int | None = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, str):
            try:
                number = int(value)
            except ValueError:
                number = None
        if number is None or number < lowest:
            raise UsageError(f"{place} must be a whole number of {lowest} or more, got {value!r}")
        return number

    return parse


def _seconds(value: object, place: str, _base: Path) -> float:
    number = 0.0
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            number = 0.0
    if not 0 < number < 86_400:
        raise UsageError(f"{place} must be a number of seconds above 0 and below 86400, got {value!r}")
    return number


def _endpoint(value: object, place: str, base: Path) -> str:
    address = _text(value, place, base).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise UsageError(f"{place} must start with http:// or https://, got {value!r}")
    return address


SETTINGS: tuple[Setting, ...] = (
    Setting(name="index_path", key="index", env="BEARSEARCH_INDEX", help="the index file", parse=_path),
    Setting(name="db", key="db", env="BEARSEARCH_BEAR_DB", help="Bear's database", parse=_path),
    Setting(name="vaults", key="vaults", env="BEARSEARCH_VAULTS", help="folders of Markdown", parse=_paths),
    Setting(name="model", key="model", env="BEARSEARCH_MODEL", help="embedding model by name", parse=_text),
    Setting(
        name="model_path", key="model_path", env="BEARSEARCH_MODEL_PATH", help="folder that holds a model", parse=_path
    ),
    Setting(
        name="query_prefix",
        key="query_prefix",
        env="BEARSEARCH_QUERY_PREFIX",
        help="text before a query; empty for none",
        parse=_text,
        empty_means_unset=False,
    ),
    Setting(
        name="document_prefix",
        key="document_prefix",
        env="BEARSEARCH_DOCUMENT_PREFIX",
        help="text before a passage; empty for none",
        parse=_text,
        empty_means_unset=False,
    ),
    Setting(
        name="threads", key="threads", env="BEARSEARCH_THREADS", help="cores that inference may use", parse=_count(1)
    ),
    Setting(
        name="semantic", key="semantic", env="BEARSEARCH_SEMANTIC", help="false: words only, no model", parse=_flag
    ),
    Setting(
        name="index_locked_titles",
        key="index_locked_titles",
        env="BEARSEARCH_INDEX_LOCKED_TITLES",
        help="false: locked notes are left out entirely",
        parse=_flag,
    ),
    Setting(
        name="exclude_tags",
        key="exclude_tags",
        env="BEARSEARCH_EXCLUDE_TAGS",
        help="tags whose notes are never indexed",
        parse=_texts,
    ),
    Setting(
        name="exclude",
        key="exclude",
        env="BEARSEARCH_EXCLUDE",
        help="path patterns that are never indexed",
        parse=_texts,
    ),
    Setting(name="codec", key="codec", env="BEARSEARCH_CODEC", help="quantization of the vector scan", parse=_text),
    Setting(
        name="models_path",
        key="models",
        env="BEARSEARCH_MODELS",
        help="folder of downloaded and prepared models",
        parse=_path,
    ),
    Setting(
        name="remote.base_url",
        key="remote.base_url",
        env="BEARSEARCH_REMOTE_BASE_URL",
        help="address of an OpenAI-compatible endpoint; note text is sent there",
        parse=_endpoint,
    ),
    Setting(
        name="remote.model",
        key="remote.model",
        env="BEARSEARCH_REMOTE_MODEL",
        help="the endpoint's model",
        parse=_text,
    ),
    Setting(
        name="remote.api_key_env",
        key="remote.api_key_env",
        env="BEARSEARCH_REMOTE_API_KEY_ENV",
        help="name of the variable that holds the endpoint's key",
        parse=_text,
    ),
    Setting(
        name="remote.dim",
        key="remote.dim",
        env="BEARSEARCH_REMOTE_DIM",
        help="width of the endpoint's vectors",
        parse=_count(1),
    ),
    Setting(
        name="remote.timeout_s",
        key="remote.timeout_s",
        env="BEARSEARCH_REMOTE_TIMEOUT_S",
        help="longest wait for one answer, in seconds",
        parse=_seconds,
    ),
    Setting(
        name="remote.retries",
        key="remote.retries",
        env="BEARSEARCH_REMOTE_RETRIES",
        help="how often a failed request is repeated",
        parse=_count(0),
    ),
    Setting(
        name="remote.batch",
        key="remote.batch",
        env="BEARSEARCH_REMOTE_BATCH",
        help="most texts in one request",
        parse=_count(1),
    ),
    Setting(
        name="remote.max_chars",
        key="remote.max_chars",
        env="BEARSEARCH_REMOTE_MAX_CHARS",
        help="longest text in characters; longer ones are sent in windows",
        parse=_count(64),
    ),
)

_BY_NAME = {setting.name: setting for setting in SETTINGS}
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_TABLES = {setting.key.split(".")[0] for setting in SETTINGS if "." in setting.key}
# A caller of `load_settings` may use a setting's name or the key that a user writes in the file.
_BY_EITHER = {**_BY_KEY, **_BY_NAME, "vault": _BY_NAME["vaults"]}


def load_settings(
    overrides: Mapping[str, object] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Resolves every setting: flag, then environment, then the user's file, then the default.

    Relative paths start from the current folder when they come from a flag or the environment, and from the
    file's own folder when they come from the file.

    Args:
        overrides: Values from flags or keyword arguments, by setting name or file key; None counts as not given.
        environ: Environment to read; None reads the process's.

    Raises:
        UsageError: A value has no meaning, a key is unknown, or the file cannot be read.
    """
    env = os.environ if environ is None else environ
    data_path, config_path = _folders(env)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}

    for key, value in _read_file(config_path).items():
        setting = _BY_KEY.get(key)
        if setting is None:
            raise UsageError(_unknown(key, f"the settings file '{config_path}' has no use for", _BY_KEY))
        values[setting.name] = setting.parse(value, f"{key} in '{config_path}'", config_path.parent)
        origins[setting.name] = f"file '{config_path}'"

    here = Path.cwd
    for setting in SETTINGS:
        raw = env.get(setting.env)
        if raw is None or (raw == "" and setting.empty_means_unset):
            continue
        values[setting.name] = setting.parse(raw, setting.env, here())
        origins[setting.name] = f"env {setting.env}"

    for key, value in (overrides or {}).items():
        setting = _BY_EITHER.get(key)
        if setting is None:
            raise UsageError(_unknown(key, "there is no setting", _BY_EITHER))
        if value is not None:
            values[setting.name] = setting.parse(value, setting.key, here())
            origins[setting.name] = "flag"

    return Settings(
        index_path=values.get("index_path", data_path / INDEX_NAME),
        db=values.get("db"),
        vaults=values.get("vaults", ()),
        model=values.get("model") or None,
        model_path=values.get("model_path"),
        query_prefix=values.get("query_prefix"),
        document_prefix=values.get("document_prefix"),
        threads=values.get("threads"),
        semantic=values.get("semantic", True),
        index_locked_titles=values.get("index_locked_titles", True),
        exclude_tags=values.get("exclude_tags", ()),
        exclude=values.get("exclude", ()),
        codec=values.get("codec", "auto"),
        data_path=data_path,
        models_path=values.get("models_path", data_path / "models"),
        config_path=config_path,
        remote=_remote(values),
        origins=origins,
    )


def make_private_folder(path: Path) -> Path:
    """Makes a folder that only its owner can enter; parents that are missing get the usual mode.

    Raises:
        UsageError: The folder cannot be made, or something else has its name.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"the folder '{path}' cannot be made ({reason}); choose another place with BEARSEARCH_HOME"
        ) from error
    return path


def _folders(env: Mapping[str, str]) -> tuple[Path, Path]:
    """The data folder and the settings file."""
    home = env.get("BEARSEARCH_HOME")
    if home:
        folder = _path(home, "BEARSEARCH_HOME", Path.cwd())
        return folder, folder / CONFIG_NAME
    from platformdirs import PlatformDirs

    folders = PlatformDirs("bearsearch", appauthor=False)
    return Path(folders.user_data_dir), Path(folders.user_config_dir) / CONFIG_NAME


def _read_file(path: Path) -> dict[str, object]:
    """The file's values with tables flattened to dotted keys; empty when there is no file."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"the settings file '{path}' cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the settings file '{path}' is not UTF-8 text (byte {error.start})") from error
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the settings file '{path}' is not valid TOML: {error}") from error
    flat: dict[str, object] = {}
    for key, value in document.items():
        if key in _TABLES and isinstance(value, dict):
            table = cast("dict[str, object]", value)
            flat.update({f"{key}.{inner}": inner_value for inner, inner_value in table.items()})
        else:
            flat[key] = value
    return flat


def _remote(values: Mapping[str, Any]) -> RemoteSettings | None:
    given = [name for name in values if name.startswith("remote.")]
    if not given:
        return None
    for needed in ("remote.base_url", "remote.model"):
        if not values.get(needed):
            raise UsageError(f"a remote endpoint needs {needed}; set it, or remove {given[0]}")
    return RemoteSettings(
        base_url=values["remote.base_url"],
        model=values["remote.model"],
        api_key_env=values.get("remote.api_key_env") or None,
        dim=values.get("remote.dim"),
        timeout_s=values.get("remote.timeout_s", 30.0),
        retries=values.get("remote.retries", 4),
        batch=values.get("remote.batch", 64),
        max_chars=values.get("remote.max_chars", 8_000),
    )


def _unknown(name: str, beginning: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    advice = f"did you mean '{near[0]}'?" if near else "known are " + ", ".join(sorted(known))
    return f"{beginning} '{name}'; {advice}"

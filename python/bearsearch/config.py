"""Settings: where each comes from, in what order, and what it may be.

One value is taken from the first place that names it: a flag, the environment, the user's TOML file, the default.
`Settings.origin` tells which. One table, `SETTINGS`, defines every key, its variable and its meaning, and is what
help texts and `bearsearch config` print; `bearsearch.config_edit` changes the file. Nothing here opens an index, looks
for a model or makes a folder, apart from `make_private_folder`, which callers use before they write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from bearsearch.errors import UsageError

__all__ = [
    "SETTINGS",
    "RemoteSettings",
    "Setting",
    "Settings",
    "find_setting",
    "find_settings_file",
    "load_settings",
    "make_private_folder",
]

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

    index: Path
    """The index file."""
    db: Path | None
    """Bear database to read instead of the one that is found."""
    vault: Path | None
    """Folder of Markdown to read."""
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
            name: A setting's name as in `SETTINGS`, such as "index" or "remote.model".

        Raises:
            UsageError: No setting has that name.
        """
        find_setting(name)
        return self.origins.get(name, "default")

    def value(self, name: str) -> Any:
        """The value of a setting; None when it has none.

        Args:
            name: A setting's name as in `SETTINGS`, such as "index" or "remote.model".

        Raises:
            UsageError: No setting has that name.
        """
        find_setting(name)
        table, dot, inner = name.partition(".")
        holder = getattr(self, table)
        return holder if not dot else getattr(holder, inner, None)

    def override(self, overrides: Mapping[str, object]) -> Settings:
        """These settings with some values replaced, as by flags.

        Args:
            overrides: Values by setting name; None leaves a value as it is.

        Raises:
            UsageError: A value has no meaning, or a name is unknown.
        """
        values, origins = _given(overrides)
        plain = {name: value for name, value in values.items() if "." not in name}
        nested = {name.partition(".")[2]: value for name, value in values.items() if "." in name}
        remote = self.remote
        if nested:
            remote = replace(remote, **nested) if remote else _remote(values)
        return replace(self, **plain, remote=remote, origins={**self.origins, **origins})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Definition of one setting."""

    name: str
    """Name in `Settings` and in the file; a dot leads into `RemoteSettings` and into a table of the file."""
    env: str
    """Environment variable."""
    help: str
    """One line for help texts."""
    parse: Callable[[object, str, Path], Any]
    """Value as given, its place for error sentences, folder that relative paths start from -> value."""
    empty_means_unset: bool = True
    """Whether an empty environment variable counts as absent."""

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return self.parse is _texts


# Parsers. A value comes as TOML's own type, as an environment string, or as Python's from a flag.


def _text(value: object, place: str, _base: Path) -> str:
    if isinstance(value, str):
        return value
    raise UsageError(f"{place} must be text, got {value!r}")


_CODECS = ("auto", "rabitq", "rabitq4", "int8", "none")


def _codec(value: object, place: str, base: Path) -> str:
    word = _text(value, place, base)
    if word not in _CODECS:
        raise UsageError(f"{place} must be one of {', '.join(_CODECS)}; got {word!r}")
    return word


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
    return Path(os.path.abspath(base / path))  # noqa: PTH100


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


def _setting(name: str, parse: Callable[[object, str, Path], Any], text: str, *, empty: bool = False) -> Setting:
    variable = {"db": "BEARSEARCH_BEAR_DB", "models_path": "BEARSEARCH_MODELS"}.get(name)
    variable = variable or "BEARSEARCH_" + name.upper().replace(".", "_")
    return Setting(name=name, env=variable, help=text, parse=parse, empty_means_unset=not empty)


SETTINGS: tuple[Setting, ...] = (
    _setting("index", _path, "the index file"),
    _setting("db", _path, "Bear's database"),
    _setting("vault", _path, "a folder of Markdown"),
    _setting("model", _text, "embedding model by name"),
    _setting("model_path", _path, "folder that holds a model"),
    _setting("query_prefix", _text, "text before a query; empty for none", empty=True),
    _setting("document_prefix", _text, "text before a passage; empty for none", empty=True),
    _setting("threads", _count(1), "processor cores that inference may use"),
    _setting("semantic", _flag, "false: words only, no model"),
    _setting("index_locked_titles", _flag, "false: locked notes are left out entirely"),
    _setting("exclude_tags", _texts, "tags whose notes are never indexed"),
    _setting("exclude", _texts, "path patterns that are never indexed"),
    _setting("codec", _codec, "quantization of the vector scan: auto, rabitq, rabitq4, int8 or none"),
    _setting("models_path", _path, "folder of downloaded and prepared models"),
    _setting("remote.base_url", _endpoint, "address of an OpenAI-compatible endpoint; note text is sent there"),
    _setting("remote.model", _text, "the endpoint's model"),
    _setting("remote.api_key_env", _text, "name of the variable that holds the endpoint's key"),
    _setting("remote.dim", _count(1), "width of the endpoint's vectors"),
    _setting("remote.timeout_s", _seconds, "longest wait for one answer, in seconds"),
    _setting("remote.retries", _count(0), "how often a failed request is repeated"),
    _setting("remote.batch", _count(1), "most texts in one request"),
    _setting("remote.max_chars", _count(64), "longest text in characters; longer ones are sent in windows"),
)

_BY_NAME = {setting.name: setting for setting in SETTINGS}
_TABLES = {setting.name.split(".")[0] for setting in SETTINGS if "." in setting.name}


def find_setting(name: str) -> Setting:
    """The definition of a setting.

    Raises:
        UsageError: No setting has that name.
    """
    if name not in _BY_NAME:
        raise UsageError(_unknown(name, "there is no setting"))
    return _BY_NAME[name]


def find_settings_file(environ: Mapping[str, str] | None = None) -> Path:
    """The user's settings file, whether or not it exists; it is not read.

    Args:
        environ: Environment to read; None reads the process's.
    """
    return _folders(os.environ if environ is None else environ)[1]


def load_settings(
    overrides: Mapping[str, object] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Resolves every setting: flag, then environment, then the user's file, then the default.

    Relative paths start from the current folder when they come from a flag or the environment, and from the
    file's own folder when they come from the file.

    Args:
        overrides: Values from flags or keyword arguments, by setting name; None counts as not given.
        environ: Environment to read; None reads the process's.

    Raises:
        UsageError: A value has no meaning, a key is unknown, or the file cannot be read.
    """
    env = os.environ if environ is None else environ
    data_path, config_path = _folders(env)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}

    for name, value in _read_file(config_path).items():
        if name not in _BY_NAME:
            raise UsageError(_unknown(name, f"the settings file '{config_path}' has no use for"))
        values[name] = _BY_NAME[name].parse(value, f"{name} in '{config_path}'", config_path.parent)
        origins[name] = f"file '{config_path}'"

    here = Path.cwd()
    for setting in SETTINGS:
        raw = env.get(setting.env)
        if raw is None or (raw == "" and setting.empty_means_unset):
            continue
        values[setting.name] = setting.parse(raw, setting.env, here)
        origins[setting.name] = f"env {setting.env}"

    from_flags, flag_origins = _given(overrides or {})
    values |= from_flags
    origins |= flag_origins

    return Settings(
        index=values.get("index", data_path / INDEX_NAME),
        db=values.get("db"),
        vault=values.get("vault"),
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


def _given(overrides: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values and origins of flags."""
    values: dict[str, Any] = {}
    for name, value in overrides.items():
        setting = find_setting(name)
        if value is not None:
            values[name] = setting.parse(value, name, Path.cwd())
    return values, dict.fromkeys(values, "flag")


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


def _unknown(name: str, beginning: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    advice = f"did you mean '{near[0]}'?" if near else "known are " + ", ".join(sorted(_BY_NAME))
    return f"{beginning} '{name}'; {advice}"

"""A program's settings file: read it, back it up, change our entry in it, and put it back if that did not work."""

import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bearsearch.errors import HostError
from bearsearch.install import jsonc, toml_table
from bearsearch.install.hosts import NAME, Host

__all__ = ["Change", "added", "fragment", "read_entry", "removed"]


class Change:
    """One change of a settings file, written already.

    Args:
        path: The file, links resolved.
        before: What it held; None when there was none.
        after: What it holds.
        backup: The copy of what it held; None when there was nothing to copy.
    """

    def __init__(self, path: Path, before: bytes | None, after: bytes, backup: Path | None) -> None:
        self.path = path
        self.backup = backup
        self._before = before
        self._after = after

    def undo(self) -> bool:
        """Puts back what the file held; False when something else changed it meanwhile, and it is left alone."""
        if _bytes_of(self.path) != self._after:
            return False
        if self._before is None:
            self.path.unlink()
        else:
            _write(self.path, self._before)
        return True


def added(host: Host, entry: Mapping[str, Any]) -> Change | None:
    """Writes our entry; None when it stands there already, word for word.

    Raises:
        HostError: The file cannot be read, understood or written. It is as it was.
    """
    return _change(host, entry)


def removed(host: Host) -> Change | None:
    """Takes our entry out; None when there is none.

    Raises:
        HostError: As `added`.
    """
    return _change(host, None)


def _change(host: Host, entry: Mapping[str, Any] | None) -> Change | None:
    path = _resolved(host)
    before = _bytes_of(path)
    text = _text_of(host, path, before)
    keys = (*host.keys, NAME)
    try:
        if host.toml:
            new = toml_table.without_table(text, keys) if entry is None else toml_table.with_table(text, keys, entry)
        else:
            new = jsonc.without_member(text, keys) if entry is None else jsonc.with_member(text, keys, entry)
            _compare(text, new, keys, entry)
    except (jsonc.JsoncError, toml_table.TomlError) as error:
        raise HostError(
            f"{host.title}'s settings '{path}' cannot be changed: {error}; mend the file, or add by hand what "
            f"`bearsearch install {host.name} --print` shows"
        ) from error
    if new == text:
        return None
    if entry is not None and _entry_in(host, text) == dict(entry):
        return None
    after = new.encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None if before is None else _back_up(path, before)
        if _bytes_of(path) != before:
            raise HostError(f"{host.title} changed its settings '{path}' at this moment; try again")
        _write(path, after)
    except OSError as error:
        raise HostError(f"{host.title}'s settings '{path}' cannot be written: {error.strerror}") from error
    return Change(path, before, after, backup)


def _compare(before: str, after: str, keys: tuple[str, ...], entry: Mapping[str, Any] | None) -> None:
    """The edit changed our entry and nothing else; a fault of ours must not cost a person's settings."""
    expected = parent = jsonc.parse(before)
    for key in keys[:-1]:
        parent = parent.setdefault(key, {}) if entry is not None else parent.get(key, {})
    if entry is None:
        parent.pop(keys[-1], None)
    else:
        parent[keys[-1]] = dict(entry)
    if jsonc.parse(after) != expected:
        raise jsonc.JsoncError("the file is written in a way that only a person can change")


def _member(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
    return value  # pyright: ignore[reportUnknownVariableType]


def _entry_in(host: Host, text: str) -> Any:
    value = toml_table.parse(text) if host.toml else jsonc.parse(text)
    return _member(value, (*host.keys, NAME))


def read_entry(host: Host) -> Mapping[str, Any] | None:
    """Our entry as the program will read it; None when there is none.

    Raises:
        HostError: The file cannot be read or understood.
    """
    path = _resolved(host)
    try:
        return _entry_in(host, _text_of(host, path, _bytes_of(path)))
    except (jsonc.JsoncError, toml_table.TomlError) as error:
        raise HostError(f"{host.title}'s settings '{path}' cannot be read: {error}") from error


def fragment(host: Host, entry: Mapping[str, Any]) -> str:
    """What a person adds by hand: the smallest settings file with our entry."""
    if host.toml:
        return toml_table.with_table("", (*host.keys, NAME), entry)
    return jsonc.with_member("", (*host.keys, NAME), entry)


def _resolved(host: Host) -> Path:
    # A link to a file that is kept elsewhere stays a link.
    return Path(os.path.realpath(host.path()))


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostError(f"'{path}' cannot be read: {error.strerror}") from error


def _text_of(host: Host, path: Path, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HostError(f"{host.title}'s settings '{path}' are not UTF-8; save them as UTF-8 first") from error


def _back_up(path: Path, content: bytes) -> Path:
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for number in range(1000):
        backup = path.with_name(f"{path.name}.{moment}{f'-{number}' if number else ''}.bak")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return backup
    raise HostError(f"there are too many backups of '{path}'; remove some")


def _write(path: Path, content: bytes) -> None:
    """Replaces the file in one step, so that the program never reads half of it."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

"""Changes of the user's settings file: one value set or removed, every other line and comment kept.

What a setting may be is `bearsearch.config`'s business; the value is checked there before anything is written.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bearsearch.config import find_setting, make_private_folder
from bearsearch.errors import UsageError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["set_value", "unset_value"]


def set_value(path: Path, name: str, values: tuple[str, ...]) -> object:
    """Write a setting into the file, which is made when it is missing.

    Args:
        path: The settings file.
        name: A setting's name, such as "model" or "remote.model".
        values: The value as words; several only where the setting is a list. A relative path starts from the current
            folder and is written whole.

    Returns:
        The value as it now stands in the file.

    Raises:
        UsageError: There is no such setting, the value has no meaning, or the file cannot be read or written.
    """
    setting = find_setting(name)
    if not values:
        raise UsageError(f"{name} needs a value; `bearsearch config unset {name}` removes it")
    first, *more = values
    if more and not setting.is_list:
        raise UsageError(f"{name} takes one value, got {len(values)}; put a value with spaces in quotes")
    value = setting.parse(values if more else first, name, Path.cwd())
    plain: Any = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
    plain = str(cast("object", plain)) if isinstance(plain, Path) else plain
    document = _read(path)
    table, key = _place(document, name, make=True)
    table[key] = plain
    _write(path, document)
    return plain


def unset_value(path: Path, name: str) -> bool:
    """Remove a setting from the file.

    Returns:
        Whether it stood there.

    Raises:
        UsageError: There is no such setting, or the file cannot be read or written.
    """
    find_setting(name)
    document = _read(path)
    table, key = _place(document, name, make=False)
    if key not in table:
        return False
    del table[key]
    if table is not document and not table:
        del document[name.partition(".")[0]]
    _write(path, document)
    return True


def _place(document: TOMLDocument, name: str, *, make: bool) -> tuple[Any, str]:
    """The table that holds a setting, and the key in it; an empty table when there is none and none is made."""
    outer, dot, inner = name.partition(".")
    if not dot:
        return document, outer
    if outer not in document:
        if not make:
            return {}, inner
        import tomlkit

        document[outer] = tomlkit.table()
    return document[outer], inner


def _read(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise UsageError(f"the settings file '{path}' cannot be changed as it is: {error}") from error


def _write(path: Path, document: TOMLDocument) -> None:
    """Replaces the file in one step, so that nobody reads half of it; a link keeps pointing where it did."""
    target = path.resolve()
    make_private_folder(target.parent)
    temporary: str | None = None
    try:
        # Made 0600: an address of a private endpoint is nobody else's business.
        number, temporary = tempfile.mkstemp(dir=target.parent, prefix=".config-")
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
            file.write(document.as_string())
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"the settings file '{path}' cannot be written: {error.strerror or error}") from error

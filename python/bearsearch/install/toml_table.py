"""Changes one table of a TOML file and leaves every other line as it was.

The file is read before and after with Python's own reader; an edit that changes anything else is refused.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["TomlError", "parse", "with_table", "without_table"]


class TomlError(ValueError):
    """The text is no TOML, or the table stands there in a way that only a person can change."""


def parse(text: str) -> dict[str, Any]:
    """The value of a TOML text.

    Raises:
        TomlError: It is no TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from error


def with_table(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The text with one table set, at the end if it was not there.

    Args:
        text: A TOML text.
        path: Names, outermost first.
        value: Strings, lists of strings, and tables of strings.

    Raises:
        TomlError: The text is no TOML, or the table is written inline.
    """
    before, position = _cut(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{_dotted(path)}]"]
    lines += (f"{_key(key)} = {_value(item)}" for key, item in value.items() if not isinstance(item, Mapping))
    for key, item in value.items():
        if isinstance(item, Mapping):
            lines += ["", f"[{_dotted([*path, key])}]"]
            table = cast("Mapping[str, Any]", item)
            lines += (f"{_key(inner)} = {_value(table[inner])}" for inner in table)
    block = newline.join(lines) + newline
    head, tail = before[:position], before[position:]
    if head.strip("\ufeff \t\r\n"):
        head = head.rstrip("\r\n") + newline * 2
    if tail.strip():
        block += newline
    result = head + block + tail.lstrip("\r\n")
    expected = parse(text)
    table = expected
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value
    return _checked(result, expected)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without one table and the tables below it.

    Raises:
        TomlError: The text is no TOML, or the table is written inline.
    """
    expected = parse(text)
    table = expected
    for name in path[:-1]:
        table = table.get(name, {})
    if path[-1] not in table:
        return text
    del table[path[-1]]
    result, _ = _cut(text, path)
    if parse(result) != expected and not table:
        # The table above came to be by this one alone.
        above = expected
        for name in path[:-2]:
            above = above[name]
        above.pop(path[-2], None)
    return _checked(result, expected)


def _checked(result: str, expected: Mapping[str, Any]) -> str:
    try:
        same = parse(result) == expected
    except TomlError:
        same = False
    if not same:
        raise TomlError("the table is written in a way that only a person can change")
    return result


def _cut(text: str, path: Sequence[str]) -> tuple[str, int]:
    """The text without the table's lines, and the offset where they stood, or the end."""
    parse(text)
    name = r"\s*\.\s*".join(rf'(?:{re.escape(part)}|"{re.escape(part)}"|\'{re.escape(part)}\')' for part in path)
    ours = re.compile(rf"[ \t]*\[\s*{name}\s*(?:\.[^\]]*)?\][ \t]*(?:#.*)?\r?\n?")
    header = re.compile(r"[ \t]*\[")
    kept: list[str] = []
    position: int | None = None
    inside = False
    for line in text.splitlines(keepends=True):
        if header.match(line):
            inside = bool(ours.fullmatch(line))
            if inside and position is None:
                position = sum(map(len, kept))
        if not inside:
            kept.append(line)
    rest = "".join(kept)
    return rest, len(rest) if position is None else position


def _dotted(path: Sequence[str]) -> str:
    return ".".join(map(_key, path))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, cast("list[object]", value))) + "]"
    # JSON's escapes are TOML's, but for the one control character that JSON lets stand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

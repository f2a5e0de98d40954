"""What a model sent -> what a tool's input schema says, or a sentence that the model can act on.

Models name arguments almost right, send one string where a list is asked for, a list as a JSON string, numbers as
strings, and null for "not given". What can mean one thing only is put right; an unknown name is refused with the
nearest one, because an argument that is ignored gives an answer to another question.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, cast

__all__ = ["ArgumentsError", "nearest", "normalized"]

_COMMA_SEPARATED = frozenset({"ids", "tags", "any_tags", "sources", "lines"})
"""Lists of single words: one string is split at its commas."""

_TAKES_LIST = {"query": "queries"}
"""A string argument, and the list argument that takes a list sent in its place."""


class ArgumentsError(ValueError):
    """The arguments cannot be understood; the message says which, and what would be."""


def nearest(word: str, words: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: `; did you mean 'x'?`, or a full stop when nothing is near."""
    near = get_close_matches(word, list(words), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def normalized(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the schema's own names and types.

    Args:
        tool: The tool's name, for messages.
        schema: Its input schema: an object whose properties are strings, integers, booleans, enumerations of
            strings, or arrays of strings.
        arguments: What came.

    Returns:
        New arguments; what was null is left out.

    Raises:
        ArgumentsError: A name is unknown, came twice or is missing, or a value cannot be read as its type.
    """
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    # One thing is often sent as `tag` instead of `tags`; the list's own name wins where both exist.
    folded = {_folded(name).removesuffix("s"): name for name, schema in properties.items() if "items" in schema}
    folded |= {_folded(name): name for name in properties}
    result: dict[str, Any] = {}
    for given, value in arguments.items():
        name = given if given in properties else folded.get(_folded(given))
        if name is None:
            takes = ", ".join(properties) or "no arguments"
            raise ArgumentsError(f"{tool} has no argument {given!r}{nearest(given, properties)} It takes: {takes}.")
        if value is None:
            continue
        if isinstance(value, list) and _TAKES_LIST.get(name) in properties:
            name = _TAKES_LIST[name]
        if name in result:
            raise ArgumentsError(f"{tool} got the argument {name!r} twice; send it once.")
        result[name] = _value(tool, name, properties[name], value)
    for name in schema.get("required", ()):
        if name not in result:
            raise ArgumentsError(
                f"{tool} needs the argument {name!r}. {properties[name].get('description', '')}".strip()
            )
    return result


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _value(tool: str, name: str, schema: Mapping[str, Any], value: Any) -> Any:
    if "enum" in schema:
        return _choice(tool, name, schema["enum"], value)
    read = _READERS.get(schema.get("type", ""))
    return value if read is None else read(tool, name, value)


def _choice(tool: str, name: str, choices: list[str], value: Any) -> str:
    if isinstance(value, str):
        for choice in choices:
            if choice.casefold() == value.strip().casefold():
                return choice
    raise _wrong(tool, name, "one of " + ", ".join(choices), value)


def _string(tool: str, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(items) == 1:
            return _string(tool, name, items[0])
    raise _wrong(tool, name, "a string", cast("object", value))


def _integer(tool: str, name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value.strip())
        except ValueError:
            pass
    raise _wrong(tool, name, "a whole number", value)


def _boolean(tool: str, name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().casefold() if isinstance(value, str) else value
    if word in ("true", "yes", "1", 1):
        return True
    if word in ("false", "no", "0", "", 0):
        return False
    raise _wrong(tool, name, "true or false", value)


def _strings(tool: str, name: str, value: object) -> list[str]:
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                parsed = None
            if isinstance(parsed, list):
                return _strings(tool, name, cast("list[object]", parsed))
        if not text:
            return []
        return _split(value) if name in _COMMA_SEPARATED else [value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, list):
        items = cast("list[object]", value)
        if all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in items):
            return [str(item) for item in items]
    raise _wrong(tool, name, "a list of strings", cast("object", value))


def _split(value: str) -> list[str]:
    """Split at commas, unless a part is more than one word: `Rome, the plan` is a title, `work,travel` two tags."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    return parts if all(len(part.split()) == 1 for part in parts) else [value.strip()]


_READERS: Mapping[str, Callable[[str, str, object], Any]] = {
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
    "array": _strings,
}


def _wrong(tool: str, name: str, expected: str, value: object) -> ArgumentsError:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return ArgumentsError(f"{tool} expects {expected} as {name!r}, but {shown} came.")

"""Changes one member of a JSON file and leaves every other byte as it was.

Programs let people write comments and trailing commas into their settings, and people keep them in an order and a form
of their own. So the text is edited where the member stands, instead of being read and written again.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["JsoncError", "parse", "with_member", "without_member"]

MAXIMUM_DEPTH = 200


class JsoncError(ValueError):
    """The text is no JSON, even with comments; the message says where."""


@dataclass(slots=True)
class _Member:
    key: str
    start: int
    """Offset of the key's quote."""
    value: "_Node"


@dataclass(slots=True)
class _Node:
    start: int
    end: int
    value: Any
    members: list[_Member] = field(default_factory=lambda: [])
    """In order, for an object."""
    is_object: bool = False
    trailing_comma: bool = False

    def member(self, key: str) -> _Member | None:
        """The member of that key; of two the last, which is the one that programs take."""
        return next((member for member in reversed(self.members) if member.key == key), None)


_TRIVIA = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> str:
        """Skips white space and comments, and gives the character behind them; empty at the end."""
        found = _TRIVIA.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def fail(self, expected: str) -> JsoncError:
        line = self.text.count("\n", 0, self.at) + 1
        return JsoncError(f"line {line} should have {expected}")

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.fail("a string in double quotes")
        self.at = found.end()
        try:
            return json.loads(found[0])
        except ValueError:
            raise self.fail("a string without unknown escapes") from None

    def node(self, depth: int = 0) -> _Node:
        if depth > MAXIMUM_DEPTH:
            raise self.fail("less nesting")
        first = self.skip()
        start = self.at
        if first == "{":
            return self._object(start, depth)
        if first == "[":
            return self._array(start, depth)
        if first == '"':
            value: Any = self.string()
        elif scalar := _SCALAR.match(self.text, self.at):
            self.at = scalar.end()
            value = json.loads(scalar[0])
        else:
            raise self.fail("a value")
        return _Node(start, self.at, value)

    def _object(self, start: int, depth: int) -> _Node:
        node = _Node(start, start, {}, is_object=True)
        self.at += 1
        while self.skip() != "}":
            if node.members and not node.trailing_comma:
                raise self.fail("a comma or a closing brace")
            key_start = self.at
            key = self.string()
            if self.skip() != ":":
                raise self.fail("a colon")
            self.at += 1
            value = self.node(depth + 1)
            node.members.append(_Member(key, key_start, value))
            node.value[key] = value.value
            node.trailing_comma = self._comma()
        self.at += 1
        node.end = self.at
        return node

    def _array(self, start: int, depth: int) -> _Node:
        node = _Node(start, start, [])
        self.at += 1
        while self.skip() != "]":
            if node.value and not node.trailing_comma:
                raise self.fail("a comma or a closing bracket")
            node.value.append(self.node(depth + 1).value)
            node.trailing_comma = self._comma()
        self.at += 1
        node.end = self.at
        return node

    def _comma(self) -> bool:
        if self.skip() != ",":
            return False
        self.at += 1
        return True


def _read(text: str) -> _Node:
    reader = _Reader(text)
    if reader.skip() == "":
        return _Node(0, 0, {}, is_object=True)
    node = reader.node()
    if reader.skip() != "":
        raise reader.fail("nothing more")
    return node


def parse(text: str) -> Any:
    """The value of a JSON text with comments and trailing commas; an empty text is an empty object.

    Raises:
        JsoncError: It is no JSON.

    >>> parse('{"a": [1, 2,], // two\\n}')
    {'a': [1, 2]}
    """
    return _read(text).value


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with one member set; objects on the way to it are made.

    Args:
        text: A JSON text whose value is an object.
        path: Keys, outermost first.
        value: The member's new value.

    Raises:
        JsoncError: The text is no JSON, or something on the path is no object.

    >>> with_member('{"a": 1}', ["b"], True)
    '{"a": 1, "b": true}'
    """
    node = _read(text)
    if node.end == 0:
        remarks = text.strip("\ufeff \t\r\n")
        text = "{}\n" + (remarks + "\n" if remarks else "")
        node = _read(text)
    rest = list(path)
    where = "the file"
    while True:
        if not node.is_object:
            raise JsoncError(f'"{where}" is no object')
        member = node.member(rest[0])
        if member is None:
            break
        if len(rest) == 1:
            shown = _dumped(value, _indent_at(text, member.start), _unit(text), _newline(text))
            return text[: member.value.start] + shown + text[member.value.end :]
        node = member.value
        where = rest.pop(0)
    for key in reversed(rest[1:]):
        value = {key: value}
    return _inserted(text, node, rest[0], value)


def _inserted(text: str, node: _Node, key: str, value: Any) -> str:
    """The text with one more member at the end of an object, in the object's own form."""
    close = node.end - 1
    name = json.dumps(key, ensure_ascii=False) + ": "
    newline, unit = _newline(text), _unit(text)
    last = node.members[-1].value.end if node.members else node.start + 1
    comma = "," if node.members and not node.trailing_comma else ""
    # Where a comma stands behind the last member, people want one behind the next last one too.
    trail = "," if node.trailing_comma else ""
    # Behind the last member's own comments, before the closing brace.
    before = text[:last] + comma + text[last:close].rstrip()
    if node.members and "\n" not in text[node.start : close]:
        return before + " " + name + json.dumps(value, ensure_ascii=False) + trail + text[close:]
    outer = _indent_at(text, close if node.members else node.start)
    indent = _indent_at(text, node.members[-1].start) if node.members else outer + unit
    body = name + _dumped(value, indent, unit, newline) + trail
    return before + newline + indent + body + newline + outer + text[close:]


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without one member; the text itself when it is not there.

    Raises:
        JsoncError: The text is no JSON.

    >>> without_member('{"a": 1, "b": 2}', ["b"])
    '{"a": 1}'
    """
    while True:
        node = _read(text)
        for key in path[:-1]:
            member = node.member(key)
            if member is None:
                return text
            node = member.value
        member = node.member(path[-1])
        if member is None:
            return text
        text = _removed(text, node, node.members.index(member))


def _removed(text: str, node: _Node, position: int) -> str:
    member = node.members[position]
    if position + 1 < len(node.members):
        # Up to the next member, so that what stands before this one keeps its place.
        after = _comma_after(text, member.value.end) + 1
        white = re.compile(r"[ \t\r\n]*").match(text, after)
        return text[: member.start] + text[white.end() if white else after :]
    head, end = text[: member.start], member.value.end
    if node.trailing_comma:
        end = _comma_after(text, end) + 1
    elif position:
        # The comma of the member before, which may have a comment behind it.
        comma = _comma_after(text, node.members[position - 1].value.end)
        head = text[:comma] + text[comma + 1 : member.start]
    head, tail = head.rstrip(" \t"), text[end:]
    blank = re.match(r"[ \t]*\r?\n", tail)
    if head.endswith("\n") and blank:
        tail = tail[blank.end() :]
    if not text[node.start + 1 : member.start].strip() and not text[end : node.end - 1].strip():
        return text[: node.start] + "{}" + text[node.end :]
    return head + tail


def _comma_after(text: str, at: int) -> int:
    reader = _Reader(text)
    reader.at = at
    reader.skip()
    return reader.at


def _indent_at(text: str, offset: int) -> str:
    line = text.rfind("\n", 0, offset) + 1
    found = re.compile(r"[ \t]*").match(text, line)
    return found[0] if found else ""


def _unit(text: str) -> str:
    """One step of indentation, as the file has it."""
    found = re.search(r"\n([ \t]+)\"", text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)

"""One member of a JSON file with comments is changed; every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearsearch.install.jsonc import JsoncError, parse, with_member, without_member

SETTINGS = """// my settings
{
    "theme": "One Dark", // dark
    /* servers */
    "context_servers": {
        "other": { "command": "x", "args": ["// no comment", "}"] }, // keep me
    },
    "vim_mode": true
}
"""


def test_an_entry_joins_the_others_and_comments_stay() -> None:
    new = with_member(SETTINGS, ["context_servers", "bearsearch"], {"command": "/bin/b", "args": []})

    assert new == SETTINGS.replace(
        "// keep me\n",
        '// keep me\n        "bearsearch": {\n            "command": "/bin/b",\n            "args": []\n        },\n',
    )
    assert without_member(new, ["context_servers", "bearsearch"]) == SETTINGS


def test_what_is_missing_on_the_way_is_made() -> None:
    assert parse(with_member('{"a": 1}', ["b", "c"], 2)) == {"a": 1, "b": {"c": 2}}
    assert with_member("", ["b", "c"], 2) == '{\n  "b": {\n    "c": 2\n  }\n}\n'
    assert with_member("// nothing yet\n", ["a"], 2) == '{\n  "a": 2\n}\n// nothing yet\n'
    assert with_member('{\n\t"a": {}\n}\n', ["a", "b"], {"c": 1}) == (
        '{\n\t"a": {\n\t\t"b": {\n\t\t\t"c": 1\n\t\t}\n\t}\n}\n'
    )


def test_line_ends_and_indentation_are_the_files_own() -> None:
    new = with_member('{\r\n\t"a": 1\r\n}\r\n', ["b"], {"c": 1})

    assert new == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 1\r\n\t}\r\n}\r\n'


def test_an_entry_that_is_there_is_replaced_where_it_stands() -> None:
    text = '{\n  "m": {\n    "b": {"old": 1}, // ours\n    "z": 0\n  }\n}\n'

    assert with_member(text, ["m", "b"], 5) == '{\n  "m": {\n    "b": 5, // ours\n    "z": 0\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{"b": 2}', "{}"),
        ('{"a": 1, "b": 2,}', '{"a": 1,}'),
        ('{"a": 1, // one\n "b": 2}', '{"a": 1 // one\n}'),
        ('{\n  "a": 1, // one\n  "b": 2\n}', '{\n  "a": 1 // one\n}'),
        ('{\n  // none\n  "b": 2\n}', "{\n  // none\n}"),
        ('{"b": 1, "b": 2}', "{}"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_member_is_taken_out_with_its_comma(text: str, left: str) -> None:
    result = without_member(text, ["b"])

    assert result == left
    assert parse(result) == {key: value for key, value in parse(text).items() if key != "b"}


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "{'a': 1}", '{"a": 1} x', '{"a": 1 "b": 2}', "[" * 1000, '{"a": 01}'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(JsoncError, match="line"):
        parse(text)


def test_a_list_on_the_way_is_refused() -> None:
    with pytest.raises(JsoncError, match='"a" is no object'):
        with_member('{"a": []}', ["a", "b"], 1)
    with pytest.raises(JsoncError, match="is no object"):
        with_member("[]", ["a"], 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["a", "b", "é", 'q"', ""])


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    KEYS,
    st.sampled_from(["x", "y"]),
    VALUES,
    st.sampled_from([None, 2, "\t"]),
)
def test_setting_and_taking_out_do_what_they_say_to_any_object(
    settings: dict[str, Any], key: str, inner: str, value: Any, indent: int | str | None
) -> None:
    settings[key] = {"x": 1}
    text = json.dumps(settings, indent=indent, ensure_ascii=False)

    new = with_member(text, [key, inner], value)

    assert parse(new) == {**settings, key: {"x": 1, inner: value}}
    assert parse(without_member(new, [key, inner])) == {
        **settings,
        key: {name: 1 for name in ("x",) if name != inner},
    }
    assert parse(without_member(text, ["none", "there"])) == settings

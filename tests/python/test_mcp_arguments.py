"""What models send instead of what a schema says."""

from collections.abc import Sequence
from typing import Any

import pytest

from bearsearch.errors import UsageError
from bearsearch.mcp_server.answer import fitted
from bearsearch.mcp_server.arguments import ArgumentsError, normalized
from bearsearch.mcp_server.budget import Rest, shortened, size_of, tokens
from bearsearch.mcp_server.cursor import next_cursor, offset_of
from bearsearch.types import Note

SCHEMA: dict[str, Any] = {
    "properties": {
        "query": {"type": "string"},
        "queries": {"type": "array", "items": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ids": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
        "archived": {"type": "boolean"},
        "max_tokens": {"type": "integer"},
        "mode": {"type": "string", "enum": ["auto", "fts"]},
    }
}


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        ({"query": "a, b"}, {"query": "a, b"}),
        ({"query": "null"}, {"query": "null"}),
        ({"query": 2026}, {"query": "2026"}),
        ({"query": ["one", "two"]}, {"queries": ["one", "two"]}),
        ({"tags": "work"}, {"tags": ["work"]}),
        ({"tags": "work, travel/rail"}, {"tags": ["work", "travel/rail"]}),
        ({"tags": '["work", "two words"]'}, {"tags": ["work", "two words"]}),
        ({"tags": ""}, {"tags": []}),
        ({"tags": ["a,b"]}, {"tags": ["a,b"]}),
        ({"ids": "Rome, the plan"}, {"ids": ["Rome, the plan"]}),
        ({"ids": "[draft"}, {"ids": ["[draft"]}),
        ({"ids": [12, "x"]}, {"ids": ["12", "x"]}),
        ({"queries": "a, b"}, {"queries": ["a, b"]}),
        ({"limit": "10"}, {"limit": 10}),
        ({"limit": 10.0}, {"limit": 10}),
        ({"archived": "True"}, {"archived": True}),
        ({"archived": 0}, {"archived": False}),
        ({"mode": "FTS"}, {"mode": "fts"}),
        ({"maxTokens": 5, "Limit": 3}, {"max_tokens": 5, "limit": 3}),
        ({"limit": None, "tags": None}, {}),
        ({"tag": "work", "id": 7}, {"tags": ["work"], "ids": ["7"]}),
        ({"tags": "#work, #two words#"}, {"tags": ["#work, #two words#"]}),
    ],
)
def test_what_can_mean_one_thing_only_is_put_right(sent: dict[str, Any], understood: dict[str, Any]) -> None:
    assert normalized("note_search", SCHEMA, sent) == understood


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"tgas": "work"}, r"note_search has no argument 'tgas'; did you mean 'tags'\? It takes: query, queries, tags"),
        ({"tag": "work", "tags": "x"}, r"got the argument 'tags' twice"),
        ({"collection": "x"}, r"no argument 'collection'\. It takes"),
        ({"limit": "ten"}, r"expects a whole number as 'limit', but \"ten\" came"),
        ({"limit": True}, r"expects a whole number as 'limit', but true came"),
        ({"limit": 1.5}, r"but 1\.5 came"),
        ({"archived": "maybe"}, r"expects true or false"),
        ({"mode": "semantic"}, r"expects one of auto, fts as 'mode'"),
        ({"tags": {"all": "x"}}, r"expects a list of strings as 'tags'"),
        ({"tags": [["x"]]}, r"expects a list of strings"),
        ({"limit": 1, "Limit": 2}, r"got the argument 'limit' twice"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_a_sentence(sent: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentsError, match=sentence):
        normalized("note_search", SCHEMA, sent)


def test_a_missing_argument_is_named_with_what_it_is() -> None:
    schema = {"properties": {"ids": {"type": "array", "description": "Ids."}}, "required": ["ids"]}

    with pytest.raises(ArgumentsError, match=r"note_get needs the argument 'ids'\. Ids\."):
        normalized("note_get", schema, {})


def test_a_complaint_never_repeats_a_long_value() -> None:
    with pytest.raises(ArgumentsError) as caught:
        normalized("note_search", SCHEMA, {"limit": "x" * 1_000_000})

    assert len(str(caught.value)) < 200


def note(text: str, *, first: int = 1) -> Note:
    return Note(
        id="x", title="x", source="x", url=None, tags=(), created_at=None, updated_at=None, archived=False,
        pinned=False, locked=False, text=text, lines=(first, first + text.count("\n") - 1), total_lines=1000,
    )  # fmt: skip


def test_a_note_is_cut_after_a_whole_line_and_says_which_lines_it_lost() -> None:
    [(kept, left_out)] = shortened([note("a b c d e\n" * 100, first=11)], tokens("a b c d e\n") * 7 + 1)

    assert left_out == Rest(18, 0, 110)
    assert kept.text == "a b c d e\n" * 7
    assert kept.lines == (11, 17)


def test_notes_share_the_budget_and_the_first_ones_are_whole() -> None:
    kept = shortened([note("short\n"), note("line\n" * 100), note("line\n" * 100)], 20)

    assert kept[0][1] is None
    assert kept[2][1] == Rest(1, 0, 100)
    assert kept[2][0].text == ""


def test_a_line_longer_than_the_budget_is_cut_inside() -> None:
    [(kept, left_out)] = shortened([note("駅" * 10_000 + "\nnext\n")], 100)

    assert 0 < tokens(kept.text) <= 100
    assert left_out == Rest(1, len(kept.text), 2)
    assert left_out.lines == f"1+{len(kept.text)}-2"


def test_a_form_feed_is_not_the_end_of_a_line() -> None:
    [(kept, _)] = shortened([note("a\x0cb\n" * 10)], 6)

    assert kept.lines == (1, kept.text.count("\n"))


def test_a_reply_keeps_as_many_items_as_fit_and_one_always() -> None:
    def render(items: Sequence[str]) -> tuple[str, dict[str, Any]]:
        return "".join(items), {"items": list(items)}

    def shown(items: list[str], budget: int) -> int:
        document = fitted(items, budget, render).structured_content
        assert document is not None
        return len(document["items"])

    items = ["x" * 300] * 50
    for budget in range(1, 12_000, 137):
        count = shown(items, budget)
        assert count == 1 or size_of(*render(items[:count])) <= budget
        assert count == 50 or size_of(*render(items[: count + 1])) > budget
    assert shown([], 1) == 0


def test_a_cursor_goes_on_with_the_same_arguments_only() -> None:
    arguments = {"queries": ["train"], "tags": ("a",)}
    cursor = next_cursor(10, 11, arguments)

    assert cursor is not None
    assert offset_of(cursor, {"tags": ["a"], "queries": ["train"]}) == 10
    with pytest.raises(UsageError, match="belongs to other arguments"):
        offset_of(cursor, {**arguments, "tags": ["b"]})
    with pytest.raises(UsageError, match="pass the cursor"):
        offset_of("page 2", arguments)
    assert offset_of("", arguments) == 0
    assert next_cursor(11, 11, arguments) is None

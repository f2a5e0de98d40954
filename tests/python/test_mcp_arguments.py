"""What models send instead of what a schema says."""

from typing import Any

import pytest

from bearsearch.mcp_server.arguments import ArgumentsError, normalized
from bearsearch.mcp_server.budget import fitting, shortened, tokens
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
    ],
)
def test_what_can_mean_one_thing_only_is_put_right(sent: dict[str, Any], understood: dict[str, Any]) -> None:
    assert normalized("note_search", SCHEMA, sent) == understood


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"tag": "work"}, r"note_search has no argument 'tag'; did you mean 'tags'\? It takes: query, queries, tags"),
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


def test_a_note_is_cut_after_a_whole_line_and_says_which_lines_it_still_holds() -> None:
    [(kept, cut)] = shortened([note("a b c d e\n" * 100, first=11)], tokens("a b c d e\n") * 7 + 1)

    assert cut
    assert kept.text == "a b c d e\n" * 7
    assert kept.lines == (11, 17)


def test_notes_share_the_budget_and_the_first_ones_are_whole() -> None:
    kept = shortened([note("short\n"), note("line\n" * 100), note("line\n" * 100)], 20)

    assert [cut for _, cut in kept] == [False, True, True]
    assert kept[2][0].text == ""


def test_a_line_longer_than_the_budget_is_cut_inside() -> None:
    [(kept, cut)] = shortened([note("駅" * 10_000)], 100)

    assert cut
    assert 0 < tokens(kept.text) <= 100


def test_a_form_feed_is_not_the_end_of_a_line() -> None:
    [(kept, _)] = shortened([note("a\x0cb\n" * 10)], 6)

    assert kept.lines == (1, kept.text.count("\n"))


def test_hits_are_kept_from_the_first_on_and_one_always_is() -> None:
    hits: list[dict[str, Any]] = [{"snippet": "x" * 300}] * 5

    assert fitting(hits, tokens('{"snippet": "' + "x" * 300 + '"}') * 3) == 3
    assert fitting(hits, 1) == 1
    assert fitting([], 1) == 0

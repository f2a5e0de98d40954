"""What a hit shows and in which order: neighbours, passages by token, copies, diversity, a cross-encoder; `similar`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bearsearch import Document, Index, UsageError
from bearsearch.answer import estimated_tokens
from bearsearch.cli.app import bearsearch
from tiny_reranker import write_tiny_reranker

LONG = "\n\n".join(
    f"## Day {day}\n\n" + " ".join(f"{word}{day}" for word in ("walk", "rain", "hut", "bread", "map") for _ in range(9))
    for day in range(1, 7)
)
NOTES = [
    Document(id="long", title="Diary", text=LONG, tags=("trips",)),
    Document(
        id="a",
        title="Ferry",
        text="The ferry leaves at nine. Buy the ticket at the harbour kiosk before.",
        tags=("trips",),
    ),
    Document(
        id="b",
        title="Ferry copy",
        text="The ferry leaves at nine. Buy the ticket at the harbour kiosk before.",
        tags=("trips",),
    ),
    Document(
        id="c", title="Ferry timetable", text="Ferry: nine, noon, four. In winter the ferry rests.", tags=("tables",)
    ),
    Document(id="d", title="Script", text="Begin with\n\n    set -euo pipefail\n\nand quote every variable."),
    Document(id="e", title="Shells", text="The set of options: pipefail and euo are two of them."),
]


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with Index(semantic=False) as opened:
        opened.index_documents("notes", NOTES)
        yield opened


def ids(index: Index, query: str, **options: object) -> list[str]:
    return [hit.id for hit in index.search(query, **options).hits]  # type: ignore[arg-type]


def test_neighbours_of_a_passage_come_in_the_notes_order_and_without_itself(index: Index) -> None:
    [hit] = index.search("hut3", context=1).hits

    assert [passage.heading for passage in hit.context] == ["Day 2", "Day 4"]
    assert hit.context[0].lines[1] < hit.lines[0] <= hit.lines[1] < hit.context[1].lines[0]
    note = index.get("long", lines="{}:{}".format(*hit.context[1].lines)).notes[0]
    assert note.text.strip() == hit.context[1].text.strip()


def test_whole_passages_fill_a_number_of_tokens_and_the_cursor_goes_on_to_the_end(index: Index) -> None:
    seen: list[str] = []
    cursor = None
    for _ in range(10):
        result = index.search("ferry hut1 pipefail", max_tokens=90, cursor=cursor)
        assert sum(estimated_tokens(hit.passage or "") for hit in result.hits) <= 90
        assert result.hits[0].rank > len(seen)
        seen += [hit.id for hit in result.hits]
        cursor = result.cursor
        if cursor is None:
            break

    assert cursor is None
    assert len(seen) == len(set(seen))
    assert {"long", "c", "d", "e"} <= set(seen)


def test_a_passage_that_alone_is_too_long_is_cut(index: Index) -> None:
    [hit] = index.search("hut3", max_tokens=40).hits

    assert hit.passage
    assert estimated_tokens(hit.passage) <= 40


def test_a_cursor_that_is_none_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="cursor"):
        index.search("ferry", cursor="page two")


def test_a_copy_is_named_below_the_note_that_it_repeats(index: Index) -> None:
    result = index.search("ferry harbour kiosk")
    shown = {hit.id: hit.duplicates for hit in result.hits}

    assert shown in ({"a": ("b",), "c": ()}, {"b": ("a",), "c": ()})


def test_diversity_over_tags_lifts_what_is_of_another_kind(home: Path) -> None:
    with Index(semantic=False) as index:
        same = [
            Document(id=f"s{n}", title=f"Soup {n}", text=f"soup soup number{n} x{n} y{n}", tags=("kitchen",))
            for n in range(4)
        ]
        other = Document(
            id="other",
            title="Words",
            text="A soup of letters, that is what the poem is, and a long one.",
            tags=("poems",),
        )
        index.index_documents("notes", [*same, other])

        assert ids(index, "soup")[-1] == "other"
        assert ids(index, "soup", diverse="tags").index("other") < 4
        assert sorted(ids(index, "soup", diverse="tags")) == sorted(ids(index, "soup"))
        with pytest.raises(UsageError, match="diverse"):
            index.search("soup", diverse="colour")


@pytest.mark.parametrize("options", [{"diverse": "tags"}, {"rerank": True}, {"rerank": True, "diverse": "tags"}, {}])
def test_pages_of_any_order_hold_every_note_once_and_in_the_order_of_one_page(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("BEARSEARCH_RERANK_PATH", str(write_tiny_reranker(tmp_path / "reranker")))
    with Index(semantic=False) as index:
        notes = [
            Document(
                id=f"s{n}",
                title=f"Soup {n}",
                text=f"soup number{n} " + " ".join(f"w{n}x{m}" for m in range(n % 7)),
                tags=("kitchen" if n % 3 else "poems",),
            )
            for n in range(40)
        ]
        index.index_documents("notes", notes)
        pages: list[str] = []
        ranks: list[int] = []
        cursor = None
        while True:
            page = index.search("soup", limit=4, cursor=cursor, **options)
            pages += [hit.id for hit in page.hits]
            ranks += [hit.rank for hit in page.hits]
            cursor = page.cursor
            if cursor is None:
                break
            assert page.hits

        assert sorted(pages) == sorted(note.id for note in notes)
        assert ranks == list(range(1, 41))
        window = 30 if options.get("rerank") else 12 if options else 4
        whole = index.search("soup", limit=window, **options)
        if not options.get("diverse"):
            assert pages[:window] == [hit.id for hit in whole.hits]
        if options:
            with pytest.raises(UsageError, match="same options"):
                index.search("soup", cursor="after:0+4")


def test_a_line_of_a_script_is_text_where_a_note_holds_it(index: Index) -> None:
    result = index.search("set -euo pipefail", explain=True)

    assert result.hits[0].id == "d"
    assert result.explanation is not None
    assert "searched as text" in result.explanation.understood[0]
    assert "e" not in ids(index, "options -euo"), "elsewhere a dash excludes"


def test_a_query_of_exclusions_alone_is_text(index: Index) -> None:
    assert set(ids(index, "-pipefail")) == {"d", "e"}


def test_the_syntax_of_fts5_is_understood_on_request_and_refused_in_a_sentence(index: Index) -> None:
    assert ids(index, "ferry NOT harbour", fts_syntax=True) == ["c"]
    assert set(ids(index, "pipe* AND euo", fts_syntax=True)) == {"d", "e"}
    with pytest.raises(UsageError, match="FTS5"):
        index.search("ferry AND (", fts_syntax=True)
    with pytest.raises(UsageError, match="mode"):
        index.search("ferry", fts_syntax=True, mode="vector")


def test_nonsense_finds_nothing_and_says_so(index: Index) -> None:
    result = index.search("xqzvk wrtplm")

    assert (result.good_match, result.hits, result.total) == (False, (), 0)


def test_a_cross_encoder_orders_the_first_hits_again(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = index.search("ferry map1")
    monkeypatch.setenv("BEARSEARCH_RERANK_PATH", str(write_tiny_reranker(tmp_path / "reranker")))
    result = index.search("ferry map1", rerank=True)

    assert result.legs["rerank"].ran, result.legs["rerank"].reason
    assert result.hits[0].id == "long", "the tiny model prefers long passages"
    assert {hit.id for hit in result.hits} == {hit.id for hit in plain.hits}
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))


def test_without_its_weights_a_cross_encoder_is_a_sentence_and_the_answer_the_same(index: Index) -> None:
    result = index.search("ferry", rerank=True)

    assert not result.legs["rerank"].ran
    assert "weights" in (result.legs["rerank"].reason or "")
    assert [hit.id for hit in result.hits] == ids(index, "ferry")


def test_similar_without_vectors_says_what_to_do(index: Index) -> None:
    result = index.similar("a")

    assert result.hits == ()
    assert "bearsearch index" in result.notices[0]
    with pytest.raises(UsageError, match="no note"):
        index.similar("nobody")


@pytest.mark.timeout(300)  # embeds
def test_similar_finds_what_is_near_in_meaning_and_never_the_note_itself(home: Path) -> None:
    with Index() as index:
        index.index_documents("notes", NOTES)
        assert index.embed().pending == 0
        result = index.similar("c", limit=2)

    assert {hit.id for hit in result.hits} == {"a", "b"}
    assert result.hits[0].cosine is not None
    assert result.query == "Ferry timetable"


def test_the_command_line_has_them_all(home: Path, vault: Path) -> None:
    run = CliRunner().invoke
    common = ["--vault", str(vault), "--no-semantic", "--json"]
    done = run(bearsearch, ["search", "earplugs", "--context", "1", "--max-tokens", "200", "--explain", *common])
    document = json.loads(done.stdout)

    assert done.exit_code == 0
    assert "Earplugs and a blanket." in document["hits"][0]["passage"]
    assert document["explanation"]["words"] == [{"word": "earplugs", "documents": 1}]
    assert run(bearsearch, ["similar", "Bread.md", *common]).exit_code == 1
    assert run(bearsearch, ["search", "zzkqx vvwqz", *common]).exit_code == 1
    assert run(bearsearch, ["search", "--fts-syntax", "bread OR", *common]).exit_code == 2

"""Documents that a program hands over: indexed, searched and replaced like notes, compared with nothing."""

from pathlib import Path

from bearsearch import Document, Index

BREAD = Document(id="a/1", title="Bread", text="Feed the sourdough starter.", tags=("kitchen/bread",))
TRAIN = Document(id="b:2", title="Night train", text="From Vienna to Venice.")


def ids(index: Index, query: str, **options: object) -> list[str]:
    return [hit.id for hit in index.search(query, mode="fts", **options).hits]  # type: ignore[arg-type]


def test_documents_are_found_by_their_own_ids_titles_and_tags(home: Path) -> None:
    with Index(semantic=False) as index:
        report = index.index_documents("collection", [BREAD, TRAIN])
        assert (report.added, report.documents, report.source) == (2, 2, "collection")
        assert ids(index, "starter") == ["a/1"]
        assert ids(index, "train") == ["b:2"]
        assert ids(index, "starter", tags=["kitchen"]) == ["a/1"]
        assert index.get("b:2").notes[0].text == "From Vienna to Venice."


def test_handing_over_again_replaces_what_was_there_and_keeps_what_is_equal(home: Path) -> None:
    with Index(semantic=False) as index:
        index.index_documents("collection", [BREAD, TRAIN])
        report = index.index_documents("collection", [TRAIN, Document(id="c", title="Rye", text="A dark loaf.")])
        assert (report.added, report.changed, report.removed) == (1, 0, 1)
        assert ids(index, "starter") == []
        assert ids(index, "loaf") == ["c"]


def test_neither_a_search_nor_a_sync_misses_a_source_that_has_no_place(home: Path, vault: Path) -> None:
    with Index(semantic=False) as index:
        index.index_documents("collection", [TRAIN])
        assert not index.search("train").index.stale
        assert index.sync().sources == ()
    with Index(vault=vault, semantic=False) as index:
        index.sync()
    with Index(semantic=False) as index:
        assert [report.kind for report in index.sync().sources] == ["markdown"]
        assert {hit.source for hit in index.search("night train").hits} == {"collection", vault.name}

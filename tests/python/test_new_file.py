"""New notes as files: names that every system takes, and nothing that was there is touched."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearsearch.errors import SourceNotFoundError, UsageError
from bearsearch.new_file import MAXIMUM_NAME_BYTES, create_file, file_stem, note_text


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Night train", "Night train"),
        ("../../etc/passwd", "etc passwd"),
        ("a/b\\c:d", "a b c d"),
        ("  .hidden.  ", "hidden"),
        ("con", "con_"),
        ("COM1.txt", "COM1.txt_"),
        ("what? [[link]] #1", "what link 1"),
        ("\u202eevil\u200b", "evil"),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("line\nbreak\ttab\0nul", "line break tab nul"),
        ("?", "Untitled"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_takes(title: str, stem: str) -> None:
    assert file_stem(title) == stem


@given(st.text(max_size=300))
def test_no_title_leaves_the_folder_or_makes_a_name_too_long(title: str) -> None:
    stem = file_stem(title)

    assert stem
    assert len(stem.encode("utf-8")) <= MAXIMUM_NAME_BYTES + 1
    assert Path(stem).name == stem
    assert stem not in {".", ".."}
    assert file_stem(stem) == stem


def test_a_note_has_its_title_tags_and_content(tmp_path: Path) -> None:
    path = create_file(tmp_path, title="Trip", content="Pack.\n", tags=["travel/night trains", "#Rome", "Rome"])

    assert path == tmp_path / "Trip.md"
    assert path.read_text(encoding="utf-8") == "# Trip\n\n#travel/night-trains #Rome\n\nPack.\n"


def test_a_note_without_a_title_is_named_after_its_first_line(tmp_path: Path) -> None:
    assert create_file(tmp_path, title="", content="\n## Milk\nand bread").name == "Milk.md"


@pytest.mark.parametrize(("title", "tags"), [("", ()), ("x", ("",)), ("x", ("!!",)), ("x", ("2026",))])
def test_what_makes_no_note_is_refused_before_a_file_exists(tmp_path: Path, title: str, tags: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        create_file(tmp_path, title=title, content=" \n", tags=tags)

    assert list(tmp_path.iterdir()) == []


def test_a_file_of_that_name_is_never_touched_nor_followed(tmp_path: Path) -> None:
    (tmp_path / "Trip.md").write_text("mine", encoding="utf-8")
    outside = tmp_path / "outside"
    (tmp_path / "Trip 2.md").symlink_to(outside)

    path = create_file(tmp_path, title="Trip", content="new")

    assert path.name == "Trip 3.md"
    assert (tmp_path / "Trip.md").read_text(encoding="utf-8") == "mine"
    assert not outside.exists()


def test_writers_at_the_same_moment_each_get_a_file_of_their_own(tmp_path: Path) -> None:
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda n=n: paths.append(create_file(tmp_path, title="Same", content=f"text {n}")))
        for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(paths)) == 16
    assert {path.read_text(encoding="utf-8") for path in paths} == {f"# Same\n\ntext {n}\n" for n in range(16)}


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="gone"):
        create_file(tmp_path / "gone", title="x")


def test_text_is_whole_lines() -> None:
    assert note_text(title=" a\nb ", content="\n\nc\n\n", tags=()) == "# a b\n\nc\n"

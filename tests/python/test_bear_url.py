"""The URL that asks Bear for a note. Handing it over needs macOS, so here only its text and the refusals are tested."""

import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from bearsearch.bear_url import MAXIMUM_URL_BYTES, create_note, create_note_url, tag_markup
from bearsearch.errors import SourceNotFoundError, UsageError


def text_of(url: str) -> str:
    # Bear does not read a plus as a space, so neither may this.
    return parse_qs(urlsplit(url).query.replace("+", "%2B"))["text"][0]


def test_title_tags_and_content_become_one_note() -> None:
    url = create_note_url(title="Night  train\n", content="To Venice & back\n", tags=["travel/rail", "two words"])

    assert url.startswith("bear://x-callback-url/create?text=")
    assert text_of(url) == "# Night train\n#travel/rail #two words#\n\nTo Venice & back\n"


def test_every_value_is_percent_encoded_and_a_space_is_never_a_plus() -> None:
    url = create_note_url(title="a b+c&d=e#f/日本\u2028", content="100%")

    assert "+" not in url
    assert url.isascii()
    assert "open_note=no" in url
    assert "show_window=no" in url
    assert text_of(url) == "# a b+c&d=e#f/日本\n\n100%"


@pytest.mark.parametrize(
    ("tag", "markup"),
    [("work", "#work"), ("#work", "#work"), ("two words", "#two words#"), ("日本語", "#日本語"), ("c++", "#c++#")],
)
def test_a_tag_is_closed_where_its_end_would_not_be_clear(tag: str, markup: str) -> None:
    assert tag_markup(tag) == markup


@pytest.mark.parametrize("tag", ["", "  ", "#", "a\nb", "a#b"])
def test_what_cannot_be_a_tag_is_refused(tag: str) -> None:
    with pytest.raises(UsageError, match="a tag is one line"):
        tag_markup(tag)


def test_an_empty_note_is_refused_because_bear_would_ignore_it() -> None:
    with pytest.raises(UsageError, match="needs a title or some content"):
        create_note_url(title=" ", content="\n")


def test_a_note_too_long_for_a_url_is_refused_with_its_size() -> None:
    with pytest.raises(UsageError, match="too long to hand to Bear"):
        create_note_url(title="x", content="y" * MAXIMUM_URL_BYTES)


@pytest.mark.skipif(sys.platform == "darwin", reason="would create a note in the Bear of whoever runs the tests")
def test_without_macos_the_sentence_says_what_is_missing() -> None:
    with pytest.raises(SourceNotFoundError, match="Bear, which runs on macOS only"):
        create_note(title="x")

"""Ranges, sections and paragraphs of a note."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearsearch.errors import UsageError
from bearsearch.excerpt import headings, merged, parse_spans, section_spans, widened

TEXT = """---
title: # no heading
---
# Trip

First.
Still first.

## Packing ##

Earplugs.

```sh
# a comment
```

### Clothes

Socks.

Food
----

Bread.

## packing

Again.
""".splitlines()


@pytest.mark.parametrize(
    ("written", "spans"),
    [
        ("10", [(10, 10)]),
        ("10:20", [(10, 20)]),
        (" 10 - 20 ", [(10, 20)]),
        ("10..20", [(10, 20)]),
        ("10-", [(10, 10**9)]),
        ("30-40,1,5:6", [(1, 1), (5, 6), (30, 40)]),
        (["5", "6-7"], [(5, 7)]),
    ],
)
def test_ranges_are_read_in_every_spelling(written: str | list[str], spans: list[tuple[int, int]]) -> None:
    assert parse_spans(written) == spans


@pytest.mark.parametrize("written", ["", "ten", "0", "20-10", "-5", "1-2-3", "1.5", "9" * 50, "\u0663"])
def test_what_is_no_range_is_refused_in_a_sentence(written: str) -> None:
    with pytest.raises(UsageError, match=r"lines"):
        parse_spans(written)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))))
def test_merging_keeps_every_line_once(spans: list[tuple[int, int]]) -> None:
    result = merged(spans)

    def covered(some: list[tuple[int, int]]) -> list[int]:
        return [line for first, last in some for line in range(first, last + 1)]

    assert covered(result) == sorted(set(covered(spans)))
    assert all(earlier[1] + 1 < later[0] for earlier, later in pairwise(result))


def test_headings_are_found_outside_code_and_front_matter() -> None:
    assert [(heading.line, heading.level, heading.path) for heading in headings(TEXT)] == [
        (4, 1, ("Trip",)),
        (9, 2, ("Trip", "Packing")),
        (17, 3, ("Trip", "Packing", "Clothes")),
        (21, 2, ("Trip", "Food")),
        (26, 2, ("Trip", "packing")),
    ]


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("Food", [(21, 25)]),
        ("## food", [(21, 25)]),
        ("Packing", [(9, 20), (26, 28)]),
        ("Packing > Clothes", [(17, 20)]),
        ("Trip", [(4, 28)]),
        ("Food > Clothes", []),
        ("a comment", []),
    ],
)
def test_a_section_reaches_to_the_next_heading_of_its_level(name: str, spans: list[tuple[int, int]]) -> None:
    assert section_spans(TEXT, name) == spans


def test_a_heading_that_holds_the_sign_of_a_path_is_found_whole() -> None:
    assert section_spans(["# a > b", "text"], "a > b") == [(1, 2)]


@pytest.mark.parametrize(
    ("span", "paragraphs", "wide"),
    [
        ((7, 7), 0, (6, 7)),
        ((7, 7), 1, (1, 9)),
        ((6, 7), 1, (1, 9)),
        ((8, 8), 1, (6, 9)),
        ((4, 4), 5, (1, 17)),
        ((28, 28), 1, (26, 28)),
        ((90, 99), 1, (90, 99)),
    ],
)
def test_neighbours_are_whole_paragraphs(span: tuple[int, int], paragraphs: int, wide: tuple[int, int]) -> None:
    assert widened(TEXT, span, paragraphs=paragraphs) == wide


@given(st.lists(st.sampled_from(["", "a", "# h", "```", "---"])), st.integers(1, 30), st.integers(0, 4))
def test_widening_never_loses_a_line_and_never_leaves_the_note(lines: list[str], first: int, more: int) -> None:
    for span in [(first, first + more)]:
        wide = widened(lines, span, paragraphs=more)
        if first <= len(lines):
            assert 1 <= wide[0] <= first
            assert min(span[1], len(lines)) <= wide[1] <= len(lines)

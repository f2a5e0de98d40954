"""A Bear library of any size to measure on: notes of about 2.6 KB out of a skewed vocabulary, the same every time.

Word frequencies fall off like those of a language (Zipf), so that there are very common and very rare words. The texts
mean nothing: what is measured here is time, not quality.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from bearsearch.demo.library import DemoNote, note_id, write_bear_library

__all__ = ["COMMON_WORD", "RARE_WORD", "VOCABULARY", "make_library", "word"]

VOCABULARY = 40_000
WORDS_PER_NOTE = 490
_SYLLABLES = tuple(consonant + vowel for consonant in "bdklmnrst" for vowel in "aeio")[:35]


def word(number: int) -> str:
    """A pronounceable word of two or three syllables for each number below 42,875.

    >>> word(0), word(1), word(39_999)
    ('baba', 'beba', 'senita')
    """
    base = len(_SYLLABLES)
    places = [number % base, number // base % base]
    if number >= base * base:
        places.append(number // base**2)
    return "".join(_SYLLABLES[place] for place in places)


COMMON_WORD = word(1)
RARE_WORD = "quetzalcoatlus"
"""In the note numbered 7 and in no other."""


def make_library(path: Path, notes: int) -> None:
    """Write a library of `notes` notes to `path`, where nothing is yet."""
    rng = random.Random(1)
    words = [word(number) for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
    start = datetime(2020, 1, 1, tzinfo=UTC)
    made: list[DemoNote] = []
    for number in range(notes):
        drawn = rng.choices(words, cum_weights=weights, k=WORDS_PER_NOTE)
        title = f"{' '.join(drawn[:3])} {number}"
        paragraphs = [" ".join(drawn[at : at + 60]) + "." for at in range(3, WORDS_PER_NOTE, 60)]
        paragraphs.insert(3, f"## {drawn[0]} {drawn[1]}")
        if number == 7:
            paragraphs.append(RARE_WORD)
        tag = f"topic/{number % 40}"
        made.append(
            DemoNote(
                name=f"note {number}",
                id=note_id(f"bench {number}"),
                title=title,
                text=f"# {title}\n#{tag}\n\n" + "\n\n".join(paragraphs) + "\n",
                tags=(tag,),
                created_at=start + timedelta(minutes=number),
                updated_at=start + timedelta(minutes=number),
                state="archived" if number % 25 == 24 else "active",
                pinned=False,
                pinned_in=(),
            )
        )
    write_bear_library(path, made)

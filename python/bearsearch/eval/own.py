"""Questions about a person's own notes, made from the notes themselves: each is known to be answered by one of them.

They are easier than real questions, because they use the notes' own words; a kind that falls far below 1 shows where
search fails on this library. Nothing leaves the machine, and nothing is kept.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from bearsearch import Index
from bearsearch.eval.datasets import Query
from bearsearch.types import Note

__all__ = ["misspelt", "own_queries"]

SEED = 20_240_229
MAX_NOTES = 100
"""Notes that are asked about."""
RARE_WORDS = 3
"""Words of a question of rare words."""
MIN_TYPO_LETTERS = 5
"""Shorter words stay as they are: a changed letter makes another word of them."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def own_queries(index: Index, *, seed: int = SEED, max_notes: int = MAX_NOTES) -> list[Query]:
    """Questions about a sample of the notes: titles, headings, rare words, and titles and rare words misspelt.

    Args:
        index: The user's index; archived and locked notes are not asked about.
        seed: Chooses the notes and the misspellings.
        max_notes: Size of the sample.

    Returns:
        Up to five questions a note. All notes of the same title count as answers to it, and so for headings.
    """
    listed = [note for note in index.list(limit=10**9).notes if not note.locked]
    notes = [note for note in index.get([note.id for note in listed]).notes if note.text.strip()]
    chosen = random.Random(seed)
    frequency = Counter(word for note in notes for word in {word.lower() for word in _WORD.findall(note.text)})
    titled: dict[str, set[str]] = {}
    headed: dict[str, set[str]] = {}
    for note in notes:
        titled.setdefault(note.title.strip().lower(), set()).add(note.id)
        for heading in _headings(note):
            headed.setdefault(heading.lower(), set()).add(note.id)
    queries: list[Query] = []

    def ask(kind: str, text: str, answers: set[str]) -> None:
        if text:
            gains = dict.fromkeys(answers, 1)
            queries.append(Query(id=f"{kind}-{len(queries)}", text=_plain(text), gains=gains, kind=kind))

    for note in chosen.sample(notes, min(max_notes, len(notes))):
        title = note.title.strip()
        words = _rarest(note, frequency)
        ask("title", title, titled[title.lower()])
        headings = _headings(note)
        if headings:
            heading = chosen.choice(headings)
            ask("heading", heading, headed[heading.lower()])
        ask("rare words", " ".join(words), {note.id})
        for text, answers in ((title, titled[title.lower()]), (" ".join(words), {note.id})):
            typo = misspelt(text, chosen)
            if typo != text:
                ask("typo", typo, answers)
    return queries


def _headings(note: Note) -> list[str]:
    """Headings with words in them, without the one that is the title."""
    found = (match.group(1).strip() for match in _HEADING.finditer(note.text))
    return [heading for heading in found if _WORD.search(heading) and heading.lower() != note.title.strip().lower()]


def _rarest(note: Note, frequency: Counter[str]) -> list[str]:
    """The note's rarest words in the order of the text; of equally rare ones the longer."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(note.text)))
    rarest = sorted(words, key=lambda word: (frequency[word], -len(word), word))[:RARE_WORDS]
    return sorted(rarest, key=words.index)


def misspelt(text: str, chosen: random.Random) -> str:
    """The text with one of its longer words misspelt: a letter dropped, doubled, or two neighbours exchanged.

    >>> misspelt("a cat", random.Random(1))
    'a cat'
    >>> misspelt("sourdough starter", random.Random(1)) != "sourdough starter"
    True
    """
    words: Sequence[re.Match[str]] = [w for w in _WORD.finditer(text) if len(w.group()) >= MIN_TYPO_LETTERS]
    if not words:
        return text
    word = chosen.choice(words)
    letters = word.group()
    place = chosen.randrange(1, len(letters) - 1)
    edits = [letters[:place] + letters[place + 1 :], letters[:place] + letters[place] + letters[place:]]
    if letters[place] != letters[place + 1]:
        edits.append(letters[:place] + letters[place + 1] + letters[place] + letters[place + 2 :])
    return text[: word.start()] + chosen.choice(edits) + text[word.end() :]


def _plain(text: str) -> str:
    """One line without the signs that a query gives a meaning to."""
    return " ".join(re.sub(r'["#*()|:]', " ", text).replace(" -", " ").split())

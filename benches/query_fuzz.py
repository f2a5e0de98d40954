"""Random, mangled and hostile queries against an index: none may raise, and a word that a note holds finds something.

Corpus: the demo's library. Words are drawn from its notes, from random Unicode and from the query language's own
signs, and strung together with mistakes. Run:

    python benches/query_fuzz.py --queries 100000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from bearsearch import Index
from bearsearch.demo.library import create_bear_library

SIGNS = [
    '"',
    "'",
    "(",
    ")",
    "-",
    "--",
    "*",
    ":",
    "^",
    "+",
    "|",
    "&",
    "#",
    "~",
    "\\",
    "/",
    "[[",
    "]]",
    "{",
    "}",
    "\0",
    "\t",
    "\n",
]
OPERATORS = [
    "OR",
    "AND",
    "NOT",
    "NEAR",
    "or",
    "title:",
    "tag:",
    "#",
    "after:",
    "before:",
    "created:",
    "in:",
    "is:",
    "prop:",
    "updated:>=",
]
VALUES = ["2024-05", "yesterday", "2024-99-99", "work/jp", "pinned", "status=draft", "*", "30d", "", "9" * 40]
RANGES = [
    (0, 32), (32, 127), (160, 880), (0x300, 0x370), (0x400, 0x500), (0x590, 0x700), (0x900, 0x980), (0xE00, 0xE80),
    (0x2000, 0x2070), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xE000), (0x1F300, 0x1F700),
]  # fmt: skip
"""Code points: scripts, marks, surrogates, emoji, control characters."""


def written(text: str) -> list[str]:
    """The words of a text: letters, digits and the marks that belong to them."""
    is_word = (c.isalnum() or c == "_" or unicodedata.category(c).startswith("M") for c in text)
    return "".join(c if held else " " for c, held in zip(text, is_word, strict=True)).split()


def random_word(chosen: random.Random) -> str:
    first, last = chosen.choice(RANGES)
    letters = "".join(chr(chosen.randrange(first, last)) for _ in range(chosen.randint(1, 12)))
    return letters.encode("utf-8", "replace").decode("utf-8")


def mangled(word: str, chosen: random.Random) -> str:
    place = chosen.randrange(len(word) + 1)
    sign = chosen.choice([*SIGNS, chosen.choice("abcxyz"), random_word(chosen)])
    return word[:place] + sign + word[place + chosen.randint(0, 1) :]


def query(words: list[str], chosen: random.Random) -> str:
    parts: list[str] = []
    for _ in range(chosen.choice([1, 1, 2, 3, 4, 6, 10])):
        kind = chosen.random()
        if kind < 0.45:
            parts.append(chosen.choice(words))
        elif kind < 0.6:
            parts.append(mangled(chosen.choice(words), chosen))
        elif kind < 0.7:
            parts.append(random_word(chosen))
        elif kind < 0.85:
            parts.append(chosen.choice(OPERATORS) + chosen.choice([*VALUES, chosen.choice(words)]))
        else:
            parts.append(chosen.choice(SIGNS))
    return chosen.choice(["", " ", " ", " ", " "]).join(parts)


def main() -> int:
    """Returns 0 when nothing raised and no plain word of a note found nothing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chosen = random.Random(given.seed)
    raised = empty = plain = 0
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.sqlite"
        create_bear_library(library)
        with Index(Path(folder) / "index.sqlite", db=library, semantic=False) as index:
            index.sync()
            listed = index.list(limit=10**9).notes
            notes = index.get([note.id for note in listed if not note.locked]).notes
            words = sorted({word for note in notes for word in written(note.text)})
            started = time.perf_counter()
            for number in range(given.queries):
                is_plain = number % 4 == 0
                asked = " ".join(chosen.sample(words, chosen.randint(1, 4))) if is_plain else query(words, chosen)
                if not asked.strip(" \0\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"):
                    continue
                try:
                    found = index.search(asked, mode="fts", limit=3, fresh=False).hits
                except Exception as error:
                    if "the query is empty" in str(error):
                        continue
                    raised += 1
                    print(f"raised {type(error).__name__}: {error} for {asked!r}", file=sys.stderr)
                    continue
                plain += is_plain
                # A bare operator word and a dash have meanings of their own; everything else is a word that is there.
                if is_plain and not found and not {"NOT", "OR", "AND"} & set(asked.split()):
                    empty += 1
                    print(f"nothing for {asked!r}", file=sys.stderr)
            elapsed = time.perf_counter() - started
    print(
        f"{given.queries:,} queries, seed {given.seed}: {raised} raised, {empty} of {plain:,} plain ones found nothing"
        f", {elapsed / given.queries * 1000:.2f} ms each"
    )
    return 1 if raised or empty else 0


if __name__ == "__main__":
    sys.exit(main())

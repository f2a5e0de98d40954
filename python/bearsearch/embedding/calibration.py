"""What a model's numbers mean: the cosine of unrelated texts, and how well a model reads a query.

Models differ: some give unrelated texts a cosine near 0, others one of 0.7. Search weighs words against meaning, so it
needs to know. Nothing here loads a model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedder import Embedder

__all__ = ["measured_floor", "readable"]

UNRELATED = (
    "The kettle whistles while the tea leaves wait in the pot.",
    "Interest on the loan is due at the end of each quarter.",
    "The glacier has retreated four hundred metres since 1950.",
    "A bishop moves diagonally and keeps to its colour.",
    "Restart the router after the firmware has been written.",
    "Her grandmother's violin hung above the stairs.",
)
"""One subject each."""

TOKENS_PER_WORD = 1.6
"""Up to so many tokens a word is one that the model knows; an unknown word falls apart into more."""

_WORD = re.compile(r"\w+")
# Scripts that write no blanks: a character is as good as a word.
_CHARACTERS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def measured_floor(embedder: Embedder) -> float:
    """The mean cosine that a model gives to a query and a passage that have nothing to do with each other.

    Costs the embedding of six short queries and six short passages.

    Raises:
        ModelError: The model failed.
    """
    import numpy as np

    queries = np.stack([embedder.embed_query(text) for text in UNRELATED])
    cosines = queries @ embedder.embed_documents(UNRELATED).T
    return float(cosines[~np.eye(len(UNRELATED), dtype=bool)].mean())


def readable(text: str, *, n_tokens: int, n_unknown: int) -> float:
    """How well a model's vocabulary covers a text, from how it is cut into tokens.

    Args:
        text: What was cut.
        n_tokens: Its tokens, special ones not counted.
        n_unknown: Those of them that stand for what the vocabulary does not hold.

    Returns:
        1.0 for a text of known words, towards 0 for one that is spelled out letter by letter or unknown.

    >>> readable("to bake bread", n_tokens=3, n_unknown=0)
    1.0
    >>> readable("qwxz", n_tokens=4, n_unknown=0)
    0.4
    """
    words = max(len(_WORD.findall(text)), len(_CHARACTERS.findall(text)), 1)
    known = 1 - n_unknown / max(1, n_tokens)
    return known**2 * min(1.0, TOKENS_PER_WORD * words / max(1, n_tokens))

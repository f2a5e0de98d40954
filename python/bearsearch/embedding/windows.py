"""Texts that are longer than a model takes: cut into windows that fit, so that no part stays unseen.

The vector of such a text is the normalized mean of its windows' vectors. The windows are equal in length, so each
counts the same and no short rest pulls the mean. Inference is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

__all__ = ["Encoding", "Tokenizer", "split"]

SLICE_CHARS = 32_768
"""Longest text that is tokenized at once; the token lists of longer ones would take more memory than the model."""


class Encoding(Protocol):
    """What `tokenizers` returns for one text, as far as it is used here."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """For each token, where in the text it begins and ends, in characters."""
        ...


class Tokenizer(Protocol):
    """`tokenizers.Tokenizer`, as far as it is used here."""

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> Encoding:
        """One text."""
        ...

    def encode_batch_fast(self, texts: list[str], /) -> Sequence[Encoding]:
        """Many texts, special tokens added, without offsets."""
        ...

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None when the vocabulary does not hold it."""
        ...

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many special tokens stand around a text."""
        ...


def split(text: str, tokenizer: Tokenizer, *, limit: int) -> list[str]:
    """Cuts a text into windows of at most `limit` tokens each, equal in length, that together are the whole text.

    Args:
        text: Any text.
        tokenizer: Without truncation or padding.
        limit: Most tokens of a window, special tokens not counted; at least 1.

    Returns:
        Windows in order; only the text itself when it fits.
    """
    return [window for piece in _slices(text) for window in _windows(piece, tokenizer, limit)]


def _slices(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > SLICE_CHARS:
        # Between two words where there are some, else anywhere.
        end = text.rfind(" ", start + SLICE_CHARS // 2, start + SLICE_CHARS) + 1 or start + SLICE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def _windows(text: str, tokenizer: Tokenizer, limit: int) -> Iterator[str]:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    size = len(encoding.ids)
    if size <= limit or len(text) <= 1:
        yield text
        return
    parts = -(-size // limit)
    offsets = encoding.offsets
    cuts = {offsets[part * size // parts][0] for part in range(1, parts)} - {0, len(text)}
    # Tokens that do not say where they come from leave no place to cut at: halve the characters then.
    bounds = [0, *sorted(cuts or {len(text) // 2}), len(text)]
    for start, end in pairwise(bounds):
        # A word that was cut can become more tokens than it had, so each window is measured again.
        yield from _windows(text[start:end], tokenizer, limit)

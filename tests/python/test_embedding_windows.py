"""Texts longer than a model takes become windows that together are the whole text."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bearsearch.embedding.windows import SLICE_CHARS, split
from tiny_model import TOKENIZER

FIXED = settings(derandomize=True, deadline=None)


@functools.cache
def tokenizer() -> Tokenizer:
    made = Tokenizer.from_file(str(TOKENIZER))
    made.no_truncation()
    made.no_padding()
    return made


def size(text: str) -> int:
    return len(tokenizer().encode(text, add_special_tokens=False).ids)


@FIXED
@given(text=st.text(max_size=400), limit=st.integers(1, 40))
def test_windows_are_the_text_and_each_fits(text: str, limit: int) -> None:
    windows = split(text, tokenizer(), limit=limit)
    assert "".join(windows) == text
    assert all(size(window) <= limit or len(window) == 1 for window in windows)
    assert len(windows) == 1 or all(windows)


def test_a_text_that_fits_is_its_own_window() -> None:
    assert split("a short text", tokenizer(), limit=3) == ["a short text"]
    assert split("", tokenizer(), limit=3) == [""]


def test_windows_are_nearly_equal_in_length() -> None:
    windows = split("word " * 1000, tokenizer(), limit=254)
    assert len(windows) == 4
    assert max(map(size, windows)) - min(map(size, windows)) <= 1


@pytest.mark.parametrize("text", ["x" * 200_000, "日本語" * 30_000, "a b " * 40_000, "\0" * 100_000, "🐻" * 40_000])
def test_texts_of_any_size_and_script_are_cut_without_loss(text: str) -> None:
    windows = split(text, tokenizer(), limit=254)
    assert "".join(windows) == text
    assert all(size(window) <= 254 for window in windows)
    assert len(windows) >= len(text) // SLICE_CHARS

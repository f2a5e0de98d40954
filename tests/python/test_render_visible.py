"""Characters that nobody sees are shown to a model, and none reaches a terminal that could obey it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearsearch.render.visible import for_model, for_terminal, from_model, on_one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200bme", "pay⟨U+200B⟩me"),
        ("\u202eevil\u202c", "⟨U+202E⟩evil⟨U+202C⟩"),
        ("a\U000e0041\U000e0042b", "a⟨U+E0041⟩⟨U+E0042⟩b"),
        ("joined\u200dletters", "joined⟨U+200D⟩letters"),
        ("a\ufe01\ufe02\ufe03", "a\ufe01⟨U+FE02⟩⟨U+FE03⟩"),
        ("nul\x00bell\x07", "nul⟨U+0000⟩bell⟨U+0007⟩"),
        ("\ufeffstart", "⟨U+FEFF⟩start"),
        ("line\u2028line", "line⟨U+2028⟩line"),
    ],
)
def test_hidden_characters_become_code_points(text: str, shown: str) -> None:
    assert for_model(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d👩\u200d👧 family",
        "❤\ufe0f and 1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100城",
        "tab\tline\r\nCafe\u0301",
    ],
)
def test_characters_that_a_script_or_an_emoji_needs_stay(text: str) -> None:
    assert for_model(text) == text


@given(st.text())
def test_what_a_model_sends_back_is_the_text_again(text: str) -> None:
    if "⟨U+" not in text:
        assert from_model(for_model(text)) == text


@given(st.text())
def test_terminal_text_keeps_its_length_so_that_ranges_stay_right(text: str) -> None:
    assert len(for_terminal(text)) == len(on_one_line(text)) == len(text)
    assert "\x1b" not in for_terminal(text)
    assert len(on_one_line(text).splitlines()) <= 1

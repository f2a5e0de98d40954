"""Control and invisible characters in note text, made harmless for a terminal and visible for a model.

A note can hold characters that nobody sees: terminal escapes that repaint the screen, and zero-width, bidi and tag
characters that hide instructions from a person but not from a model. Characters that a script or an emoji needs
(a joiner between Persian or Hindi letters, the parts of a flag) stay as they are.
"""

import re

__all__ = ["for_model", "for_terminal", "from_model", "on_one_line"]

# C0 without tab and line feed, DEL and C1; a carriage return only where it is not half of a line break.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")

_JOINERS = "\u200c\u200d"
_TAGS = "\U000e0000-\U000e0fff"
_SELECTORS = "\ufe00-\ufe0f"
# Default-ignorable and format characters of Unicode 16.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e"
    f"\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a{_TAGS}"
)
# Kept: a subdivision flag (black flag, tag letters, cancel tag), one variation selector after a character that it can
# choose the look of, and a joiner between two characters outside ASCII. A run of them is a hiding place, and shown.
_KEPT = (
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
    "|[\u3400-\u9fff\U00020000-\U0003ffff][\U000e0100-\U000e01ef]"
    f"|(?<=[^\x00-\x22{_INVISIBLE}{_JOINERS}{_SELECTORS}])[{_SELECTORS}]"
    f"|(?<=[^\x00-\x7f{_INVISIBLE}{_JOINERS}])[{_JOINERS}](?=[^\x00-\x7f{_INVISIBLE}{_JOINERS}])"
)
_FOR_MODEL = re.compile(f"(?P<kept>{_KEPT})|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_INVISIBLE}{_JOINERS}{_SELECTORS}]")


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def for_terminal(text: str) -> str:
    """Replace each control character but tab and line feed by one printable character, so no escape survives.

    The length in characters stays the same, so ranges into the text stay right.
    """
    return _CONTROLS.sub(_picture, text)


def on_one_line(text: str) -> str:
    """`for_terminal`, and line breaks and tabs as spaces; the length in characters stays the same."""
    return for_terminal(re.sub(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]", " ", text))


def _code_point(match: re.Match[str]) -> str:
    return match[0] if match["kept"] else f"\u27e8U+{ord(match[0]):04X}\u27e9"


def for_model(text: str) -> str:
    """Write invisible characters as their code points, such as a zero-width space as U+200B in angle brackets.

    >>> for_model("pay\\u200bme") == "pay\\u27e8U+200B\\u27e9me"
    True
    """
    return _FOR_MODEL.sub(_code_point, text)


def from_model(text: str) -> str:
    """Undo `for_model`: an id that a model read in a reply becomes the note's id again."""
    return re.sub("\u27e8U\\+([0-9A-F]{4,6})\u27e9", lambda match: chr(int(match[1], 16)), text)

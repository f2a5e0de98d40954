"""In which languages notes are written, roughly: enough to tell a model in which language to ask.

By script where that decides it, else by the commonest little words. A guess over many notes, never over one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["guess"]

SHARE = 0.1
"""A language that fewer of the texts are in is not named."""

# Little words that are frequent in their language and rare, or of another meaning, in the others of this list.
_LITTLE_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": "the and of to is that with for was this are not have from you",
        "German": "und der die das nicht ist mit ein eine auf für sich auch wird den",
        "French": "et les des est une dans pour que qui sur pas avec sont nous vous",
        "Spanish": "el los las una por para como pero más está muy este del sus y",
        "Italian": "il gli che di una per non sono come della nel più anche questo è",
        "Portuguese": "os uma não para com mais mas dos foi são você isso também está ao",
        "Dutch": "het een van niet dat voor zijn met ook maar aan naar wordt bij ik",
        "Swedish": "och att det som inte på är för med jag från till har ett om",
        "Danish": "og det ikke jeg på af til som med har fra er for der kan",
        "Polish": "nie jest się na do że to jak oraz przez dla od ale czy po",
        "Turkish": "ve bir bu için ile de da çok daha gibi olarak olan kadar ama ne",
        "Czech": "je se na že to jako pro ale jsem není také byl podle nebo které",
        "Russian": "и не что на это как по но из для так все он от было",
        "Ukrainian": "і не що на це як та але для до від також був є за",
    }.items()
}

_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Japanese", re.compile("[\u3040-\u30ff]")),
    ("Korean", re.compile("[\uac00-\ud7af]")),
    ("Chinese", re.compile("[\u4e00-\u9fff]")),
    ("Arabic", re.compile("[\u0620-\u06ff]")),
    ("Hebrew", re.compile("[\u05d0-\u05ea]")),
    ("Greek", re.compile("[\u0391-\u03ce]")),
    ("Hindi", re.compile("[\u0900-\u097f]")),
    ("Thai", re.compile("[\u0e01-\u0e4f]")),
)

_WORD = re.compile(r"[^\W\d_]+")


def _language(text: str) -> str | None:
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS:
        # A tenth of kana makes a text with many ideographs Japanese.
        if letters and len(script.findall(text)) >= letters / 10:
            return language
    words = Counter(_WORD.findall(text.casefold()))
    scores = {language: sum(words[word] for word in little) for language, little in _LITTLE_WORDS.items()}
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] >= 2 else None


def guess(texts: Iterable[str]) -> tuple[str, ...]:
    """English names of the languages of the texts, the commonest first; empty when nothing can be told.

    >>> guess(["The train to Venice was late and full.", "Der Zug ist spät und die Gleise sind voll."])
    ('English', 'German')
    """
    found = Counter(language for text in texts if (language := _language(text)))
    total = sum(found.values())
    return tuple(language for language, count in found.most_common() if count >= total * SHARE)

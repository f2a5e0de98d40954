"""The guess at what notes are written in."""

import pytest

from bearsearch.languages import guess


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The starter is fed daily and kept in the fridge for the week.", "English"),
        ("Der Teig wird nicht geknetet, und die Form ist für das Brot zu klein.", "German"),
        ("Les trains de nuit sont en retard et nous avons pris une couchette pour Venise.", "French"),
        ("El tren de la noche está muy lleno, pero las literas son para una persona.", "Spanish"),
        ("Il treno di notte è anche per chi non dorme, come nel libro della nonna.", "Italian"),
        ("Поезд не пришёл, и это было на станции, где все ждали его из города.", "Russian"),
        ("今日は夜行列車でヴェネツィアへ行きます。", "Japanese"),
        ("今天坐夜车去威尼斯。", "Chinese"),
        ("오늘 밤 기차로 베네치아에 갑니다.", "Korean"),
        ("قطار الليل إلى البندقية", "Arabic"),
        ("รถไฟกลางคืนไปเวนิส", "Thai"),
    ],
)
def test_a_text_is_told_by_its_script_or_its_little_words(text: str, language: str) -> None:
    assert guess([text]) == (language,)


def test_what_cannot_be_told_is_not_named_and_rare_languages_are_left_out() -> None:
    assert guess(["", "x = 1", "2026-01-31"]) == ()
    english = ["The starter is fed daily and kept in the fridge."] * 20
    assert guess([*english, "Der Teig wird nicht geknetet."]) == ("English",)

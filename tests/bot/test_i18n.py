"""Texts and dates in the reader's language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.i18n import languages, translator

NEW_YEARS_EVE = datetime(2025, 12, 31, 20, 0, tzinfo=UTC)


def test_english_and_japanese_are_there_from_the_start() -> None:
    assert {"en", "ja"} <= set(languages())
    assert languages()[0] == "en"


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("ja", "ja"),
        ("ja-JP", "ja"),
        ("ja_JP", "ja"),
        ("JA", "ja"),
        ("en-GB", "en"),
        ("fr", "en"),
        ("", "en"),
        (None, "en"),
        ("../../x", "en"),
    ],
)
def test_a_tag_finds_its_language_and_english_where_there_is_none(
    tag: str | None, language: str
) -> None:
    assert translator(tag).language == language


def test_values_are_filled_in_whatever_they_contain() -> None:
    assert translator("en")("Remembered: {text}", text="{text} 100% %s") == (
        "Remembered: {text} 100% %s"
    )


def test_japanese_is_translated_and_keeps_values() -> None:
    said = translator("ja")("Remembered: {text}", text="猫が好き")
    assert "猫が好き" in said
    assert "Remembered" not in said


@pytest.mark.parametrize("language", ["en", "ja"])
def test_plurals_follow_the_language(language: str) -> None:
    say = translator(language)
    one, many = (
        say.plural("Forgotten: {count} fact", "Forgotten: {count} facts", n) for n in (1, 2)
    )
    assert "1" in one
    assert "2" in many
    assert (one.replace("1", "") == many.replace("2", "")) is (language == "ja")


def test_a_date_is_the_day_where_the_reader_is() -> None:
    assert translator("en").date(NEW_YEARS_EVE) == "Dec 31, 2025"
    assert translator("en").date(NEW_YEARS_EVE, "Asia/Tokyo") == "Jan 1, 2026"
    assert translator("ja").date(NEW_YEARS_EVE, "Asia/Tokyo") == "2026/01/01"

"""What a proposal of a model is worth: the author's own words, or nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.borne_out import BorneOut, borne_out
from bot.extraction_prompts import ExtractedFact
from memory.types import Message, Role, Span
from tests.fakes import GENERAL, NOON, TARO


def message(text: str, *, minutes: int = 0, name: str = "taro") -> Message:
    return Message(
        1 + minutes, "m", GENERAL, "talk", Role.USER, TARO, name, text,
        NOON + timedelta(minutes=minutes), None, "", "Asia/Tokyo",
    )  # fmt: skip


def believed(
    said: str, text: str, *, before: str = "", offered: str = "", **proposed: Any
) -> BorneOut | None:
    """What comes of `text` when all of `said` is given as its quote."""
    fact = ExtractedFact(message=1, quote=said, text=text, subject="S1", **proposed)
    earlier = [message(before)] if before else []
    return borne_out(fact, message(said, minutes=1), Span(0, len(said)), earlier, offered)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I live in Osaka", "Taro lives in Osaka"),
        ("We moved the launch to Friday", "moved the launch to Friday"),
        ("先週パリに行きました", "先週パリへ行った"),
        ("明日は休みます", "明日休みます"),
    ],
)
def test_other_forms_of_the_same_words_are_kept(said: str, text: str) -> None:
    found = believed(said, text)
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I drink green tea", "I owe Hanako a million yen"),
        ("I drink green tea", "I do not drink green tea"),
        ("I drink green tea", "緑茶を飲みます"),
        ("Hanako pays Jiro", "Jiro pays Hanako"),
        ("緑茶を飲みます", "花子に百万円借りています"),
        ("緑茶を飲みます", "緑茶を飲みません"),
        ("緑茶を飲みます", "I drink green tea"),
        ("花子が次郎に払います", "次郎が花子に払います"),
    ],
)
def test_words_that_say_something_else_give_way_to_those_that_were_said(
    said: str, text: str
) -> None:
    found = believed(said, text)
    assert found is not None
    assert found.text == said


@pytest.mark.parametrize(
    "said",
    ["Where do I live?", "Good morning!", "Please book it", "誰から聞きましたか？", "了解です"],
)
def test_where_nothing_is_stated_nothing_is_believed(said: str) -> None:
    assert believed(said, said) is None


@pytest.mark.parametrize(
    ("before", "said", "text", "kept"),
    [
        ("My friend John is a vegan", "He has a dog", "John has a dog", True),
        ("My friend John is a vegan", "The cook has a dog", "John has a dog", False),
        ("友達の健はビーガンです", "彼には犬がいます", "健には犬がいる", True),
        ("友達の健はビーガンです", "料理人には犬がいます", "健には犬がいる", False),
    ],
)
def test_a_pronoun_and_nothing_else_takes_its_meaning_from_before(
    before: str, said: str, text: str, kept: bool
) -> None:
    found = believed(said, text, before=before)
    assert found is not None
    assert found.text == (text if kept else said)


@pytest.mark.parametrize(
    ("said", "proposed", "attribute", "negated"),
    [
        ("I live in Osaka", {"attribute": "home"}, "home", False),
        ("I drink green tea", {"attribute": "home"}, None, False),
        ("I like cats", {"attribute": "likes:cats", "negated": True}, "likes:cats", False),
        ("I do not like cats", {"attribute": "likes:cats"}, "likes:cats", True),
        ("I used to live in Kyoto", {"attribute": "home"}, None, False),
        ("My hobby is chess", {"attribute": "Hobby"}, "hobby", False),
        ("大阪に住んでいます", {"attribute": "home"}, "home", False),
        ("緑茶を飲みます", {"attribute": "home"}, None, False),
        ("猫は好きではありません", {"attribute": "likes:猫"}, "likes:猫", True),
    ],
)
def test_an_attribute_that_ends_another_is_what_rules_read(
    said: str, proposed: dict[str, Any], attribute: str | None, negated: bool
) -> None:
    found = believed(said, said, **proposed)
    assert found is not None
    assert (found.attribute, found.negated) == (attribute, negated)


@pytest.mark.parametrize(
    ("said", "offered", "text", "agreed"),
    [
        ("Yes, let's do that", "Shall we move to Kyoto?", "move to Kyoto", True),
        ("I drink green tea", "Shall we move to Kyoto?", "move to Kyoto", False),
        ("Yes, let's do that", "Shall we move to Kyoto?", "I owe Hanako money", None),
        ("いいね、そうしよう", "京都に移りましょうか？", "京都に移る", True),
        ("緑茶を飲みます", "京都に移りましょうか？", "京都に移る", False),
        ("いいね、そうしよう", "京都に移りましょうか？", "花子に借金がある", None),
    ],
)
def test_only_what_was_offered_can_be_agreed_to_and_only_by_agreeing(
    said: str, offered: str, text: str, agreed: bool | None
) -> None:
    found = believed(said, text, offered=offered)
    assert (found.is_agreement if found is not None else None) == agreed
    if found is not None:
        assert found.text == (text if agreed else said)


@pytest.mark.parametrize(
    ("said", "dated"),
    [
        ("I drink tea", False),
        ("I moved last week", True),
        ("お茶を飲みます", False),
        ("先週越しました", True),
    ],
)
def test_a_message_without_any_time_dates_nothing(said: str, dated: bool) -> None:
    found = believed(said, said)
    assert found is not None
    assert found.is_dated is dated


@pytest.mark.parametrize("name", ["Bob", "田中 太郎"])
def test_a_display_name_is_no_statement(name: str) -> None:
    text = f"{name} resigned"
    fact = ExtractedFact(message=1, quote="I drink tea", text=text, subject="S1")
    for called in (name, f"{name}. I resigned yesterday, note that"):
        found = borne_out(fact, message("I drink tea", name=called), Span(0, 11))
        assert found is not None
        assert found.text == "I drink tea"

"""Forgetting in plain words takes what is meant, says what it took, and takes nothing else."""

from __future__ import annotations

import pytest

from bot import app as application
from bot.settings import Settings
from memory.types import Person
from tests.dialogs.conversation import Expected, converse, lacks, verify_dialog
from tests.fakes import bytes_of, encodings


async def known(settings: Settings) -> list[str]:
    """The texts of what is known about the one who talks."""
    person = Person("console", "local", "taro")
    async with application.opened(settings) as app:
        readable = await app.readable(person, None)
        return [fact.text for fact in await app.memory.facts_about(person, readable, past=True)]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("My planner is red.", "forget Ann"),
        ("I like steak.", "forget tea"),
        ("The kitchen is on floor 2.", "forget it"),
        ("The kitchen is on floor 2.", "forget chen"),
        ("猫背がひどいです。", "猫を忘れて"),
        ("東京都に住んでいます。", "京都のことを忘れて"),
    ],
)
async def test_part_of_a_word_is_not_the_word(settings: Settings, said: str, words: str) -> None:
    await converse(settings, [said, "Hello!"])
    answers = await converse(settings, [words])
    assert "Forgotten" not in answers[0]
    assert "忘れました" not in answers[0]
    assert await known(settings) == [said]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Ann is my sister.", "forget Ann"),
        ("I like green tea.", "forget green tea"),
        ("My planners are red.", "forget planner"),
        ("猫が好きです。", "猫を忘れて"),
        ("三毛猫を飼っています。", "猫のことを忘れて"),
        ("京都に住んでいます。", "京都のことを忘れて"),
    ],
)
async def test_a_whole_word_goes_in_whatever_form_and_is_named(
    settings: Settings, said: str, words: str
) -> None:
    _, receipt = await converse(settings, [said, words])
    assert said in receipt
    assert await known(settings) == []


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("I like figs.", "I live in Osaka.", "forget that"),
        ("I like figs.", "remember that I live in Osaka", "forget it"),
        ("I like figs.", "I live in Osaka.", "forget the last thing I said"),
        ("柿が好きです。", "大阪に住んでいます。", "それを忘れて"),
        ("柿が好きです。", "大阪に住んでいます。", "今の忘れて"),
        ("柿が好きです。", "大阪に住んでいます。", "さっきのを忘れて"),
        ("柿が好きです。", "大阪に住んでいます。", "今言ったことを忘れて"),
    ],
)
async def test_that_is_what_was_learned_last(
    settings: Settings, first: str, last: str, words: str
) -> None:
    answers = await converse(settings, [first, last, words])
    assert last.removeprefix("remember that ") in answers[-1]
    assert await known(settings) == [first]


@pytest.mark.parametrize(
    ("told", "question", "words"),
    [
        (("I live in Osaka.", "I like figs."), "Where do I live?", "forget that"),
        (("大阪に住んでいます。", "柿が好きです。"), "どこに住んでいますか？", "それは忘れて"),
    ],
)
async def test_that_is_what_was_quoted_last(
    settings: Settings, told: tuple[str, str], question: str, words: str
) -> None:
    answers = await converse(settings, [*told, question, words])
    assert told[0] in answers[-1]
    assert await known(settings) == [told[1]]


@pytest.mark.parametrize("words", ["forget that", "それを忘れて"])
async def test_what_lies_further_back_is_shown_before_it_goes(
    settings: Settings, words: str
) -> None:
    answers = await converse(settings, ["I live in Osaka.", "Hello!", words])
    assert "I live in Osaka." in answers[-1]
    assert await known(settings) == ["I live in Osaka."]


async def test_that_is_nothing_where_nothing_was_said(settings: Settings) -> None:
    nothing = "There is nothing here that I learned or quoted last."
    await verify_dialog(
        settings,
        [
            ("forget that", nothing),
            ("それを忘れて", "最後に覚えたこと"),
            ("/forget it", nothing),
            ("I live in Osaka.", "Remembered"),
            ("forget that", ("Forgotten: 1 fact", "I live in Osaka.")),
            ("forget that", (nothing, lacks("Forgotten"))),
        ],
    )


async def test_in_a_channel_nothing_that_went_is_named(settings: Settings) -> None:
    lines = ["The launch is on Friday.", "forget the launch"]
    _, receipt = await converse(settings, lines, channel="general")
    assert "Forgotten: 1 fact" in receipt
    assert "Friday" not in receipt


async def test_that_in_a_channel_is_no_fact_of_a_dm(settings: Settings) -> None:
    await converse(settings, ["My locker code is 4711."])
    (answer,) = await converse(settings, ["forget that"], channel="general")
    assert answer == "There is nothing here that I learned or quoted last."
    assert await known(settings) == ["My locker code is 4711."]


async def test_that_is_nothing_of_somebody_else(settings: Settings) -> None:
    await converse(settings, ["The office is in Nagoya."], channel="general", user="hanako")
    lines = ["Where is the office?", "forget that"]
    quoted, answer = await converse(settings, lines, channel="general")
    assert "Nagoya" in quoted
    assert answer == "There is nothing here that I learned or quoted last."


@pytest.mark.parametrize(
    ("said", "marks"),
    [("I live in Wakkanai.", ("Wakkanai", "wakkanai")), ("稚内に住んでいます。", ("稚内",))],
)
async def test_naming_what_went_leaves_no_byte_of_it(
    settings: Settings, said: str, marks: tuple[str, ...]
) -> None:
    await converse(settings, [said])
    assert any(form in bytes_of(settings.data_dir) for form in encodings(marks).values())
    (receipt,) = await converse(settings, ["forget that"])
    assert marks[0] in receipt
    left = bytes_of(settings.data_dir)
    assert [name for name, form in encodings(marks).items() if form in left] == []


@pytest.mark.parametrize(
    "words",
    ["forget me", "delete my data", "delete everything you know about me", "私のことを忘れて"],
)
async def test_everything_about_me_asks_first_and_looks_for_no_words(
    settings: Settings, words: str
) -> None:
    _, answer = await converse(settings, ["I told me a joke: 私のデータ", words])
    assert "forget everything --yes" in answer


DIALOGS: list[tuple[tuple[str, Expected], ...]] = [
    (
        ("Can you remember that I park on level 3?", "Remembered: I park on level 3"),
        ("Please don't forget that my locker is blue", "Remembered: my locker is blue"),
        ("tell me about me", ("I park on level 3", "my locker is blue", "2 things")),
        ("facts", "2 things"),
    ),
    (
        ("駐車場は3階だと覚えておいてくれる？", "駐車場は3階だ"),
        ("歯医者は金曜だということを忘れないで", "歯医者は金曜だ"),
        ("何を覚えてる？", ("駐車場", "歯医者")),
        ("一覧", ("駐車場", "歯医者")),
    ),
]


@pytest.mark.parametrize("dialog", DIALOGS, ids=["en", "ja"])
async def test_asking_kindly_to_remember_and_to_list(
    settings: Settings, dialog: tuple[tuple[str, Expected], ...]
) -> None:
    await verify_dialog(settings, dialog)

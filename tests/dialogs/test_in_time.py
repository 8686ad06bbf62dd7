"""When things were: what happened then, what was so before, and what is said about it."""

from __future__ import annotations

import pytest

from bot.settings import Settings
from tests.dialogs.conversation import lacks, verify_dialog


@pytest.mark.parametrize(
    ("yesterday", "long_ago", "asked"),
    [
        (
            ("I met Suzuki in Kyoto yesterday.", "Suzuki"),
            ("I sold my boat in 2019.", "boat"),
            ("What did I do yesterday?", "What happened yesterday?"),
        ),
        (
            ("昨日、京都で鈴木さんに会った。", "鈴木"),
            ("2019年に船を売った。", "船"),
            ("昨日何をした？", "昨日は何がありましたか？"),
        ),
    ],
)
async def test_what_happened_then_is_what_was_said_of_that_time(
    settings: Settings,
    yesterday: tuple[str, str],
    long_ago: tuple[str, str],
    asked: tuple[str, str],
) -> None:
    told = [(said, word) for said, word in (yesterday, long_ago)]
    answered = [(question, (yesterday[1], lacks(long_ago[1]))) for question in asked]
    await verify_dialog(settings, [*told, *answered])


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("昨日、京都で鈴木さんに会った。", "京都で誰に会った？", "鈴木"),
        ("先週、田中さんと新しい予算を決めた。", "先週何を決めた？", "予算"),
        ("I met Suzuki in Kyoto yesterday.", "Who did I meet in Kyoto?", "Suzuki"),
    ],
)
async def test_what_happened_once_is_told_whatever_the_tense_of_the_question(
    settings: Settings, said: str, question: str, answer: str
) -> None:
    await verify_dialog(settings, [(said, answer), (question, answer)])


@pytest.mark.parametrize(
    ("lines", "asked", "known", "before"),
    [
        (
            ("I live in Osaka.", "I live in Kyoto.", "I met Suzuki yesterday."),
            "What do you know about me?",
            "Kyoto",
            ("What was so before:", "Osaka", "Suzuki", "until"),
        ),
        (
            ("大阪に住んでいます。", "京都に住んでいます。", "昨日鈴木さんに会った。"),
            "私について何を知っていますか？",
            "京都",
            ("以前のこと：", "大阪", "鈴木", "まで"),
        ),
    ],
)
async def test_what_is_known_about_somebody_is_all_of_it_in_the_language_of_the_question(
    settings: Settings, lines: tuple[str, ...], asked: str, known: str, before: tuple[str, ...]
) -> None:
    await verify_dialog(settings, [*((line, "") for line in lines), (asked, (known, *before))])

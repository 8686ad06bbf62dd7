"""Commands in plain words: said as a whole message, and nothing else."""

from __future__ import annotations

import pytest

from bot.phrases import Phrase, phrase

COMMANDS = {
    "remember that the budget is 300 yen": Phrase("remember", "the budget is 300 yen"),
    "Please remember: my flight is at 9": Phrase("remember", "my flight is at 9"),
    "会議は午後3時だと覚えておいて": Phrase("remember", "会議は午後3時だ"),
    "猫が好きなことを覚えておいてください。": Phrase("remember", "猫が好きな"),
    "覚えておいて、会議は毎週月曜の10時です": Phrase("remember", "会議は毎週月曜の10時です"),
    "覚えてください：予算は300円です": Phrase("remember", "予算は300円です"),
    "forget that I live in Osaka": Phrase("forget", "I live in Osaka"),
    "Forget about the budget.": Phrase("forget", "the budget"),
    "大阪に住んでいることは忘れて": Phrase("forget", "大阪に住んでいる"),
    "予算のことを忘れてください": Phrase("forget", "予算"),
    "forget everything": Phrase("forget everything"),
    "Forget everything about me!": Phrase("forget everything"),
    "全部忘れて": Phrase("forget everything"),
    "私のことは全部忘れてください": Phrase("forget everything"),
    "what do you know about me?": Phrase("list"),
    "私について何を知っていますか？": Phrase("list"),
    "私のことを何か覚えてる？": Phrase("list"),
    "undo": Phrase("undo"),
    "取り消して": Phrase("undo"),
    "why?": Phrase("why"),
    "なぜ？": Phrase("why"),
    "export my data": Phrase("export"),
    "That's wrong, it's Kyoto.": Phrase("correct", "Kyoto"),
    "違います、京都です": Phrase("correct", "京都"),
    "That's wrong, I work at Initech": Phrase("remember", "I work at Initech"),
    "No, that's not right: my name is Jiro.": Phrase("remember", "my name is Jiro."),
    "help": Phrase("help"),
    "What can you do?": Phrase("help"),
    "使い方を教えて": Phrase("help"),
    "何ができますか？": Phrase("help"),
}

TALK = [
    "I often forget my keys",
    "That's wrong, isn't it?",
    "help Emi with the report",
    "覚えておいてほしい",
    "Do you remember my name?",
    "Why is the sky blue?",
    "I remember that day",
    "何を覚えていますか？",
    "私の名前を覚えてる？",
    "Remember when we went to Kyoto?",
    "Don't forget to call me",
    "",
    "   ",
    "猫",
    "忘れ物をした",
    "The undo button is broken",
]


@pytest.mark.parametrize(("said", "expected"), COMMANDS.items())
def test_a_command_is_understood(said: str, expected: Phrase) -> None:
    assert phrase(said) == expected


@pytest.mark.parametrize("said", TALK)
def test_talk_is_no_command(said: str) -> None:
    assert phrase(said) is None


def test_a_very_long_message_is_read_in_no_time() -> None:
    assert phrase("猫が好きで" * 20_000) is None
    assert phrase("a " * 50_000) is None

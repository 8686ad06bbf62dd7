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
    "私の名前を覚えてる？",
    "Remember when we went to Kyoto?",
    "Don't forget to call me",
    "",
    "   ",
    "猫",
    "忘れ物をした",
    "The undo button is broken",
]


EVERYTHING = [
    "forget me",
    "Forget about me!",
    "forget all about me",
    "delete my data",
    "Please delete all my data.",
    "delete everything you know about me",
    "erase what you have stored about me",
    "Can you forget everything about me?",
    "私のことを忘れて",
    "私について全部忘れて",
    "僕のことを全部忘れてください",
    "私のデータを削除して",
    "私に関する情報をすべて消してください",
    "覚えていることを全部忘れて",
    "私のことを忘れてくれる？",
]
LAST = [
    "forget that",
    "forget it",
    "Forget this.",
    "Please forget about it",
    "forget those",
    "forget the last thing",
    "forget the last thing I said",
    "forget what I just told you",
    "could you forget that?",
    "それを忘れて",
    "これは忘れてください",
    "今の忘れて",
    "さっきのを忘れて",
    "さっきの話は忘れて",
    "今言ったことを忘れて",
    "それを忘れてくれますか？",
]
LISTS = [
    "tell me about me",
    "show me what you know",
    "show me everything you know about me",
    "What do you remember?",
    "list",
    "Facts",
    "show my facts",
    "私のことを教えて",
    "覚えていることを全部見せて",
    "記憶を見せて",
    "何を覚えてる？",
    "何を覚えていますか？",
    "一覧",
    "一覧を見せて",
]
CORRECTIONS = {
    "No, it's Friday.": "Friday",
    "no it’s friday": "friday",
    "No, it's at 10:30.": "at 10:30",
    "No, it is blue": "blue",
    "Actually, it's Kyoto.": "Kyoto",
    "That is wrong, it is level 5": "level 5",
    "You're wrong, it's Kyoto": "Kyoto",
    "That's not correct: it was Monday": "Monday",
    "that's wrong, the meeting with Dana is at 4pm": "the meeting with Dana is at 4pm",
    "That's wrong, Dana lives in Oslo": "Dana lives in Oslo",
    "Correction: the release is on Dec 15": "the release is on Dec 15",
    "I'm not Axel, I'm Max.": "I'm Max",
    "No, I am not Axel. I am Max": "I am Max",
    "My name is not Axel, it's Max": "Max",
    "いいえ、水曜日です": "水曜日",
    "いいえ、うどんです。": "うどん",
    "いや、田中だよ": "田中",
    "訂正：リリース日は12月15日です": "リリース日は12月15日です",
    "訂正：水曜です": "水曜",
    "それは間違いです、水曜です": "水曜",
    "間違っています。会議は4時です。": "会議は4時です",
    "それは違う、京都に住んでいます": "京都に住んでいます",
    "違います、ながさきです": "ながさき",
    "That's wrong.": "",
    "That's wrong!": "",
    "you are wrong": "",
    "No, that's not right": "",
    "それは違います": "",
    "それは間違いです": "",
    "いいえ、違います。": "",
    "間違ってるよ": "",
}
NO_CORRECTIONS = [
    "No, thanks",
    "No, I don't think so",
    "No worries",
    "No, it's fine",
    "No, it's OK",
    "No, it's raining",
    "No, it's not",
    "No, it's Friday, isn't it?",
    "That's wrong on so many levels, haha",
    "That's wrong, haha",
    "That's wrong, but the weather is nice",
    "wrong number",
    "I'm not sure, I'm tired",
    "いいえ、結構です",
    "いいえ、大丈夫です",
    "いいえ、まだです",
    "いいえ、楽しいです",
    "いいえ、そうではないです",
    "いいえ、行くんです",
    "違う話をしましょう",
    "間違い電話がありました",
]
REMEMBERED = {
    "Can you remember that I park on level 3?": "I park on level 3",
    "Could you please remember that my wife's name is Ann?": "my wife's name is Ann",
    "could you remember my badge is 4711?": "my badge is 4711",
    "Please don't forget that I park on level 4": "I park on level 4",
    "don't forget my dentist appointment on Friday": "my dentist appointment on Friday",
    "Don’t forget about the party at 3": "the party at 3",
    "会議が3時だということを忘れないで": "会議が3時だ",
    "歯医者の予約を忘れないでください": "歯医者の予約",
    "歯医者の予約を覚えておいてくれる？": "歯医者の予約",
    "駐車場は3階だと覚えておいてもらえますか？": "駐車場は3階だ",
    "忘れないで、鍵は引き出しの中です": "鍵は引き出しの中です",
}
NOT_REMEMBERED = [
    "Can you remember that day?",
    "Can you remember my name?",
    "Can you remember what I said?",
    "Can you remember that?",
    "Don't forget me",
    "Don't forget about me!",
    "Don't forget that",
    "Don't forget your umbrella!",
    "Don't forget!",
    "私のことを忘れないで",
    "それを忘れないでね",
    "忘れないで",
]
FORGOTTEN = {
    "forget that thing about cats": "thing about cats",
    "forget it was raining": "it was raining",
    "昨日言ったことを忘れて": "昨日言ったこと",
    "私の名前を忘れて": "私の名前",
    "forget my name": "my name",
}


@pytest.mark.parametrize("said", EVERYTHING)
def test_all_about_the_speaker_is_everything(said: str) -> None:
    assert phrase(said) == Phrase("forget everything")


@pytest.mark.parametrize("said", LAST)
def test_what_is_pointed_at_is_the_last_fact(said: str) -> None:
    assert phrase(said) == Phrase("forget that")


@pytest.mark.parametrize("said", LISTS)
def test_a_list_is_asked_for_in_many_words(said: str) -> None:
    assert phrase(said) == Phrase("list")


@pytest.mark.parametrize(("said", "right"), CORRECTIONS.items())
def test_a_correction_gives_the_words_that_are_right(said: str, right: str) -> None:
    assert phrase(said) == Phrase("correct", right)


@pytest.mark.parametrize(("said", "rest"), REMEMBERED.items())
def test_asking_kindly_is_asking(said: str, rest: str) -> None:
    assert phrase(said) == Phrase("remember", rest)


@pytest.mark.parametrize(("said", "rest"), FORGOTTEN.items())
def test_what_is_named_is_looked_for(said: str, rest: str) -> None:
    assert phrase(said) == Phrase("forget", rest)


@pytest.mark.parametrize("said", [*NO_CORRECTIONS, *NOT_REMEMBERED])
def test_talk_that_begins_like_a_command_is_none(said: str) -> None:
    assert phrase(said) is None


REPEATED = [
    *("no, ", "that's wrong", "that's wrong, the a ", "that's wrong, A is ", "don't forget ", "?"),
    *("can you remember that I ", "can you remember my is ", "forget the last thing "),
    *(
        "いいえ、",
        "違う",
        "違う、",
        "訂正：",
        "忘れないで",
        "覚えておいてくれる？",
        "私の",
        "全部",
        "それ",
    ),
]


@pytest.mark.parametrize("unit", REPEATED)
def test_words_of_commands_over_and_over_are_read_in_no_time(unit: str) -> None:
    for beginning in ("", unit, "no, it's ", "私は"):
        for ending in ("", "?", "x", "!x"):
            phrase(f"{beginning}{(unit * 40_000)[:40_000]}{ending}")


@pytest.mark.parametrize(("said", "expected"), COMMANDS.items())
def test_a_command_is_understood(said: str, expected: Phrase) -> None:
    assert phrase(said) == expected


@pytest.mark.parametrize("said", TALK)
def test_talk_is_no_command(said: str) -> None:
    assert phrase(said) is None


def test_a_very_long_message_is_read_in_no_time() -> None:
    assert phrase("猫が好きで" * 20_000) is None
    assert phrase("a " * 50_000) is None

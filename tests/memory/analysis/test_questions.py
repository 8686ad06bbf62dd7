"""`question`: is something asked, and about what?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.analysis import SELF, Question, Tense, asks, question


@pytest.mark.parametrize(
    ("text", "attribute", "about"),
    [
        ("Where do I live?", "home", SELF),
        ("where do i live", "home", SELF),
        ("What's my name", "name", SELF),
        ("Who am I?", "name", SELF),
        ("tell me my job", "job", SELF),
        ("What do I do for a living?", "job", SELF),
        ("Do you know where I work?", "employer", SELF),
        ("When is my birthday?", "birthday", SELF),
        ("How old am I?", "age", SELF),
        ("What do I like?", "likes", SELF),
        ("Do I like cats?", "likes:cats", SELF),
        ("What is my favourite colour?", "favourite:colour", SELF),
        ("Which team am I on?", "team", SELF),
        ("When is the report due?", "deadline:report", None),
        ("What did we decide?", "decision", None),
        ("Where does John live?", "home", "John"),
        ("What's my dog's name?", "name", "dog"),
        ("Who lives in Osaka?", "home", None),
        ("Hi! What is my name?", "name", SELF),
        ("When's the Apollo deadline", "deadline:apollo", None),
        ("So what's my favourite drink then?", "favourite:drink", SELF),
        ("誰が大阪に住んでる？", "home", None),
        ("プロジェクトの期限いつまで", "deadline:プロジェクト", None),
        ("私の名前は何ですか", "name", SELF),
        ("名前なんだっけ", "name", SELF),
        ("私の名前は？", "name", SELF),
        ("どこに住んでいますか。", "home", SELF),
        ("どこに住んでるか覚えてる？", "home", SELF),
        ("仕事を教えて", "job", SELF),
        ("誕生日いつだっけ", "birthday", SELF),
        ("私は何が好きですか", "likes", SELF),
        ("猫は好きかな", "likes:猫", SELF),
        ("好きな食べ物は何？", "favourite:食べ物", SELF),
        ("レポートの締め切りはいつですか", "deadline:レポート", None),
        ("田中さんはどこに住んでいますか", "home", "田中"),
        ("こんにちは。私の仕事は何ですか？", "job", SELF),
    ],
)
def test_reads_what_is_asked_and_about_whom(text: str, attribute: str, about: str | None) -> None:
    found = question(text)
    assert found.is_question
    assert (found.attribute, found.about) == (attribute, about)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Where did I live before?", Tense.PAST),
        ("What did I like in May?", Tense.PAST),
        ("Where do I live now?", Tense.NOW),
        ("Where do I live?", None),
        ("When was I born?", None),
        ("前はどこに住んでいましたか", Tense.PAST),
        ("今どこに住んでる", Tense.NOW),
        ("私の名前は何でしたっけ", None),
        ("名前は何ですか", None),
    ],
)
def test_reads_which_time_is_meant(text: str, time: Tense | None) -> None:
    assert question(text).time is time


@pytest.mark.parametrize(
    "text",
    [
        "I live in Osaka.",
        "When I was young I lived in Paris.",
        "What a nice day!",
        "My name is Will.",
        "Remember that I like tea",
        "大阪に住んでいます。",
        "猫が好きです",
        "何か食べました。",
        "どこかに行きたい",
        "我叫李明。",
        "",
    ],
)
def test_statements_are_not_questions(text: str) -> None:
    assert question(text) == Question(False, language=question(text).language)


@pytest.mark.parametrize(
    "text", ["我住在哪里？", "你知道我的名字吗", "제 이름이 뭐예요?", "¿Dónde vivo?"]
)
def test_questions_in_other_languages_are_seen(text: str) -> None:
    assert question(text).is_question


@pytest.mark.parametrize(
    "text", ["Hello", "thanks!", "ok, got it", "こんにちは！", "ありがとうございました", "了解です"]
)
def test_talk_asks_nothing(text: str) -> None:
    found = question(text)
    assert found.is_talk
    assert not found.is_question


@pytest.mark.parametrize(
    ("asked", "known", "fits"),
    [
        ("home", "home", True),
        ("home", "name", False),
        ("home", None, True),
        (None, "name", True),
        ("likes", "likes:cats", True),
        ("likes", "dislikes:cats", True),
        ("likes:cats", "dislikes:cats", True),
        ("likes:cats", "likes:dogs", False),
        ("favourite:colour", "favourite:food", False),
        ("deadline", "deadline:report", True),
    ],
)
def test_a_question_is_answered_only_by_facts_of_its_attribute(
    asked: str | None, known: str | None, fits: bool
) -> None:
    assert Question(True, asked).fits(known) is fits


def _sentences() -> list[str]:
    data = Path(__file__).parents[2] / "data"
    lines = [line for f in data.glob("pairs_*.jsonl") for line in f.read_text().splitlines()]
    values = [value for line in lines for value in json.loads(line).values()]
    stated = [value for value in values if isinstance(value, str)]
    return [each for text in stated for each in (text, f"{text}?", f"{text}か？", f"Is {text}")]


def test_whether_a_text_asks_is_told_without_telling_languages_apart() -> None:
    texts = _sentences()
    assert len(texts) > 1_000
    assert [t for t in texts if asks(t) is not question(t).is_question] == []


@given(st.text(max_size=60))
def test_that_holds_for_any_text(text: str) -> None:
    assert asks(text) is question(text).is_question

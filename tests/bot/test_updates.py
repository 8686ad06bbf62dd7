"""Values that change: the latest is found, and something is always left. A hundred and more
scripts of our own in English and Japanese, put together from templates.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memory.types import Person, Readable
from tests.fakes import Desk, Mind

ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class Kind:
    """One attribute: ways to state it, ways to ask for it, and values."""

    stated: tuple[str, ...]
    asked: tuple[str, ...]
    values: tuple[str, ...]
    noise: tuple[str, ...]


EN_NOISE = ("I like cats.", "Good morning!", "The printer on floor 3 is broken.", "Thanks a lot.")
JA_NOISE = ("猫が好きです。", "おはようございます。", "3階の扉が壊れています。", "ありがとう。")

EN = (
    Kind(
        ("I live in {}.", "I moved to {}.", "I'm based in {} now.", "Actually, I live in {}."),
        ("Where do I live?", "Where do I live now?", "Which city do I live in?"),
        ("Osaka", "Kyoto", "Lisbon", "Toronto", "Nairobi"),
        EN_NOISE,
    ),
    Kind(
        ("I work as a {}.", "I'm a {}.", "I am now a {}.", "My job is {}."),
        ("What is my job?", "What do I do for a living?", "What's my job?"),
        ("nurse", "teacher", "designer", "baker", "translator"),
        EN_NOISE,
    ),
    Kind(
        ("My name is {}.", "Call me {}.", "I go by {}.", "My name has changed to {}.", "I'm {}."),
        ("What is my name?", "What's my name?", "Who am I?"),
        ("Li", "Mika", "Oskar", "Aylin", "Tomas"),
        EN_NOISE,
    ),
    Kind(
        ("I'm on the {} team.", "I joined the {} team.", "I am now in the {} team."),
        ("Which team am I on?", "What team am I on?"),
        ("payments", "search", "design", "mobile", "security"),
        EN_NOISE,
    ),
    Kind(
        (
            "My favourite colour is {}.",
            "{} is my favourite colour.",
            "My favorite colour is now {}.",
            "My new favourite colour is {}.",
        ),
        ("What is my favourite colour?", "What's my favorite colour?"),
        ("Teal", "Crimson", "Olive", "Indigo", "Amber"),
        EN_NOISE,
    ),
    Kind(
        (
            "The deadline for the audit is {}.",
            "The audit is due on {}.",
            "The deadline for the audit has moved to {}.",
        ),
        ("When is the audit due?", "What is the deadline for the audit?"),
        ("June 3", "June 10", "July 1", "August 12", "May 30"),
        EN_NOISE,
    ),
    Kind(
        ("I work at {}.", "I work for {}.", "My company is {}.", "I'm working at {} now."),
        ("Where do I work?", "Which company do I work for?"),
        ("Acme", "Globex", "Initech", "Hooli", "Umbrella"),
        EN_NOISE,
    ),
)
JA = (
    Kind(
        ("{}に住んでいます。", "{}に引っ越しました。", "今は{}に住んでいます。", "{}在住です。"),
        ("どこに住んでいますか？", "私はどこに住んでる？", "私の住まいはどこ？"),
        ("大阪", "京都", "仙台", "金沢", "那覇"),
        JA_NOISE,
    ),
    Kind(
        ("仕事は{}です。", "{}として働いています。", "{}をしています。", "私は{}です。"),
        ("私の仕事は何ですか？", "私の職業は？"),
        ("看護師", "教師", "デザイナー", "翻訳者", "料理人"),
        JA_NOISE,
    ),
    Kind(
        ("私の名前は{}です。", "名前は{}です。", "{}と申します。", "{}と呼んでください。"),
        ("私の名前は何ですか？", "私の名前は？"),
        ("田中", "佐藤", "鈴木", "高橋", "伊藤"),
        JA_NOISE,
    ),
    Kind(
        ("{}チームに所属しています。", "部署は{}です。", "私のチームは{}です。"),
        ("私のチームはどこですか？", "所属はどこ？"),
        ("決済", "検索", "広報", "開発", "法務"),
        JA_NOISE,
    ),
    Kind(
        ("好きな色は{}です。", "一番好きな色は{}です。", "{}が私の一番好きな色です。"),
        ("好きな色は何ですか？", "私の好きな色は？"),
        ("紺色", "朱色", "若草色", "山吹色", "藤色"),
        JA_NOISE,
    ),
    Kind(
        ("監査の締め切りは{}です。", "監査の期限は{}になりました。", "監査の締切は{}に変わった。"),
        ("監査の締め切りはいつですか？", "監査の期限はいつ？"),
        ("6月3日", "6月10日", "7月1日", "8月12日", "5月30日"),
        JA_NOISE,
    ),
    Kind(
        ("勤務先は{}です。", "{}に勤めています。", "会社は{}です。", "{}で働いています。"),
        ("勤務先はどこですか？", "私はどこで働いていますか？"),
        ("青空商事", "みどり電機", "白樺印刷", "星野製作所", "若葉銀行"),
        JA_NOISE,
    ),
)
EACH = 8
"""Scripts of one kind: 7 kinds in each language."""


@dataclass(frozen=True, slots=True)
class Script:
    lines: tuple[str, ...]
    question: str
    latest: str
    outdated: frozenset[str]


def scripts(kinds: tuple[Kind, ...], seed: int) -> Iterator[Script]:
    chance = random.Random(seed)
    for kind in kinds:
        for _ in range(EACH):
            values = [chance.choice(kind.values) for _ in range(chance.randint(2, 5))]
            lines = [chance.choice(kind.stated).format(value) for value in values]
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(kind.noise))
            old = frozenset(values) - {values[-1]}
            yield Script(tuple(lines), chance.choice(kind.asked), values[-1], old)


@pytest.mark.parametrize(("kinds", "language"), [(EN, "en"), (JA, "ja")])
async def test_the_latest_value_is_found_and_something_is_always_left(
    mind: Mind, kinds: tuple[Kind, ...], language: str
) -> None:
    desk = Desk.over(mind)
    played = list(scripts(kinds, seed=7))
    assert len(played) >= 50
    missed, empty = [], []
    for number, script in enumerate(played):
        person = Person("console", language, f"p{number}")
        for line in script.lines:
            await desk.say(line, person)
            mind.clock.advance(days=1)
        reply = (await desk.say(script.question, person)).text
        if script.latest not in reply or any(old in reply for old in script.outdated):
            missed.append((script, reply))
        dm = Readable.of(desk.incoming("", person).audience)
        known = await mind.memory.facts_about(person, dm)
        if not any(script.latest in fact.text for fact in known):
            empty.append(script)
    assert empty == []
    assert len(missed) <= (1 - ENOUGH) * len(played), missed

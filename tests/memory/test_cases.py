"""Kinds of faults that people reported about memories like this one: what is the same, what is
superseded, and what one person may change. Cases 12 to 19, in English and Japanese.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memory import analysis
from memory.long_term import Actor
from memory.ports import Pair
from memory.store.changes import Change
from memory.types import Fact, Person, Readable, Verdict
from tests.fakes import GENERAL, HANAKO, TARO, TARO_DM, FakeEmbedder, Mind, new_fact

HERE = Readable.of(TARO_DM, GENERAL)
JIRO = Person("console", "local", "jiro")
GUARDED = ("negation", "number", "date", "name", "antonym", "role_swap", "uncertain")


@dataclass(slots=True)
class Always:
    """A judge of one opinion."""

    verdict: Verdict
    asked: list[Pair] = field(default_factory=list)

    async def judge(self, pairs: Any) -> list[Verdict]:
        self.asked += pairs
        return [self.verdict] * len(pairs)


async def say(
    mind: Mind, text: str, judge: Always | None = None, *, about: Any = None, **said: Any
) -> Fact:
    """Say it and have it remembered as `memory.analysis` reads it."""
    message = await mind.hear(text, **said)
    reading = analysis.read(text)
    new = new_fact(
        message,
        subject=about or message.author,
        attribute=reading.attribute,
        negated=reading.negated,
        language=analysis.language_of(text),
    )
    (outcome,) = await mind.memory.remember([new], judge=judge)
    mind.clock.advance(hours=1)
    return outcome.fact


async def current(mind: Mind, person: Person = TARO) -> list[str]:
    return [fact.text for fact in await mind.memory.facts_about(person, HERE)]


# -- 12 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("My name is Li", "My name is Lin"),
        ("I live in Osaka", "I moved to Kyoto"),
        ("私の名前は李です", "私の名前は林です"),
        ("大阪に住んでいます", "京都に引っ越しました"),
    ],
)
async def test_a_new_value_supersedes_the_old_one(mind: Mind, first: str, then: str) -> None:
    old = await say(mind, first)
    new = await say(mind, then)
    assert await current(mind) == [then]
    past = {f.id: f for f in await mind.memory.facts_about(TARO, HERE, past=True)}
    assert past[old.id].superseded_by == new.id
    assert past[old.id].valid_until == new.said_at
    (entry,) = await mind.memory.changes(old.id, HERE)
    assert (entry.change, entry.cause) == (Change.SUPERSEDED, new.id)


# -- 13 --------------------------------------------------------------------------------------------

APART = [
    ("I like cats", "I do not like cats"),
    ("The meeting is at 3 pm", "The meeting is at 4 pm"),
    ("Aya manages Ben", "Ben manages Aya"),
    ("I live in Osaka", "I may move to Osaka"),
    ("猫が好きです", "猫は好きではありません"),
    ("会議は3時です", "会議は4時です"),
    ("彩は健を指導している", "健は彩を指導している"),
    ("大阪に住んでいます", "大阪に引っ越すかもしれない"),
]


@pytest.mark.parametrize(("one", "other"), [*APART, *[(b, a) for a, b in APART]])
async def test_contradictions_are_never_the_same_whatever_a_judge_says(
    mind: Mind, embedder: FakeEmbedder, one: str, other: str
) -> None:
    embedder.answers[other] = embedder.vector(one)
    first = await say(mind, one, Always(Verdict.SAME))
    second = await say(mind, other, Always(Verdict.SAME))
    assert first.id != second.id
    assert second.confirmed == 1
    assert other in await current(mind), "the latest word stands"


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", GUARDED)
async def test_a_judge_who_always_says_same_merges_no_guarded_pair(
    mind: Mind, embedder: FakeEmbedder, language: str, kind: str
) -> None:
    data = Path(__file__).parents[1] / "data" / f"pairs_{language}.jsonl"
    pairs = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    guarded = [pair for pair in pairs if pair["kind"] == kind]
    assert len(guarded) >= 30
    judge = Always(Verdict.SAME)
    for number, pair in enumerate(guarded):
        a, b = pair["a"], pair["b"]
        embedder.answers[b] = embedder.vector(a)
        first = await mind.hear(a, audience=GENERAL)
        second = await mind.hear(b, audience=GENERAL)
        about = {"subject": f"pair {number}", "language": language}
        (known,) = await mind.memory.remember([new_fact(first, **about)], judge=judge)
        (new,) = await mind.memory.remember([new_fact(second, **about)], judge=judge)
        assert known.fact.id != new.fact.id, (a, b)


# -- 14 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like cats", "I love cats"),
        ("In Osaka I live", "I live in Osaka"),
        ("猫が好きです", "猫が大好きだ"),
        ("猫と犬を飼っています", "犬と猫を飼っている"),
    ],
)
async def test_the_same_in_other_words_is_one_fact(
    mind: Mind, embedder: FakeEmbedder, one: str, other: str
) -> None:
    embedder.answers[other] = embedder.vector(one)
    first = await say(mind, one)
    again = await say(mind, other)
    assert again.id == first.id
    assert again.confirmed == 2


# -- 15 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("I live in Osaka", "I live in Kyoto"), ("大阪に住んでいます", "京都に住んでいます")],
)
async def test_two_peoples_values_do_not_retire_each_other(
    mind: Mind, mine: str, theirs: str
) -> None:
    judge = Always(Verdict.SUPERSEDES)
    await say(mind, mine, judge, audience=GENERAL)
    await say(mind, theirs, judge, audience=GENERAL, author=HANAKO)
    assert (await current(mind), await current(mind, HANAKO)) == ([mine], [theirs])


@pytest.mark.parametrize(
    ("mine", "theirs", "relation"),
    [
        ("My wife is a nurse", "My wife is a teacher", "wife"),
        ("妻は看護師です", "妻は教師です", "妻"),
    ],
)
async def test_my_wife_is_not_yours(mind: Mind, mine: str, theirs: str, relation: str) -> None:
    judge = Always(Verdict.SUPERSEDES)
    first = await say(mind, mine, judge, about=relation, audience=GENERAL)
    await say(mind, theirs, judge, about=relation, audience=GENERAL, author=HANAKO)
    same = await say(mind, mine, judge, about=relation, audience=GENERAL, author=JIRO)
    assert same.id != first.id
    assert await current(mind) == [mine]
    assert await current(mind, HANAKO) == [theirs]
    assert await current(mind, JIRO) == [mine]


@pytest.mark.parametrize(
    ("own", "claim"),
    [
        ("I live in Osaka", "@taro lives in Atlantis"),
        ("大阪に住んでいます", "太郎さんは月に住んでいます"),
    ],
)
@pytest.mark.parametrize("verdict", [Verdict.SAME, Verdict.SUPERSEDES])
async def test_what_others_say_about_me_changes_nothing_that_i_said(
    mind: Mind, embedder: FakeEmbedder, own: str, claim: str, verdict: Verdict
) -> None:
    embedder.answers[claim] = embedder.vector(own)
    mine = await say(mind, own, audience=GENERAL)
    judge = Always(verdict)
    claimed = await say(mind, claim, judge, about=TARO, audience=GENERAL, author=HANAKO)
    assert claimed.id != mine.id
    known = await mind.memory.facts_about(TARO, HERE)
    assert [(f.text, f.speaker) for f in known] == [(own, TARO), (claim, HANAKO)]


@pytest.mark.parametrize(
    ("claim", "own"),
    [
        ("@taro lives in Atlantis", "I live in Osaka"),
        ("太郎さんは月に住んでいます", "大阪に住んでいます"),
    ],
)
async def test_what_i_say_about_myself_ends_what_others_said(
    mind: Mind, claim: str, own: str
) -> None:
    await say(mind, claim, about=TARO, audience=GENERAL, author=HANAKO)
    await say(mind, claim + "！", about=TARO, audience=GENERAL, author=JIRO)
    await say(mind, own, audience=GENERAL)
    assert await current(mind) == [own]


# -- 17 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("early", "late"),
    [("I live in Osaka", "I live in Kyoto"), ("大阪に住んでいます", "京都に住んでいます")],
)
async def test_a_message_that_arrives_late_supersedes_nothing_newer(
    mind: Mind, early: str, late: str
) -> None:
    sent = mind.clock()
    mind.clock.advance(days=1)
    newer = await say(mind, late)
    older = await say(mind, early, sent_at=sent)
    assert await current(mind) == [late]
    past = {f.id: f for f in await mind.memory.facts_about(TARO, HERE, past=True)}
    assert past[older.id].superseded_by == newer.id


# -- 18 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["I like cats", "猫が好きです"])
async def test_the_same_fact_five_hundred_times_is_one_fact(mind: Mind, text: str) -> None:
    judge = Always(Verdict.DIFFERENT)
    messages = [await mind.hear(text) for _ in range(500)]
    for start in range(0, 500, 50):
        batch = [new_fact(message) for message in messages[start : start + 50]]
        await mind.memory.remember(batch, judge=judge)
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.confirmed == 500
    assert len(fact.evidence) == 500
    assert judge.asked == []
    assert await mind.memory.changes(fact.id, HERE) == []


# -- 19 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "how"),
    [
        (("I live in Osaka", "I live in Kyoto", "I live in Nara"), "deleted"),
        (("I live in Osaka", "I live in Kyoto", "I live in Nara"), "edited"),
        (("大阪に住んでいます", "京都に住んでいます", "奈良に住んでいます"), "deleted"),
        (("大阪に住んでいます", "京都に住んでいます", "奈良に住んでいます"), "edited"),
    ],
)
async def test_without_its_source_a_value_gives_its_place_back(
    mind: Mind, texts: tuple[str, str, str], how: str
) -> None:
    facts = [await say(mind, text, platform_id=f"m{n}") for n, text in enumerate(texts)]

    async def undo(number: int) -> None:
        if how == "deleted":
            await mind.memory.source_deleted(TARO_DM, f"m{number}")
        else:
            await mind.hear("…", platform_id=f"m{number}", revision="2")

    await undo(1)
    assert await current(mind) == [texts[2]], "the one before waits behind the last"
    past = {f.id: f for f in await mind.memory.facts_about(TARO, HERE, past=True)}
    assert past[facts[0].id].superseded_by == facts[2].id
    assert past[facts[0].id].valid_until == facts[2].said_at
    await undo(2)
    assert await current(mind) == [texts[0]]
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.valid_until is None
    changes = [entry.change for entry in await mind.memory.changes(fact.id, HERE)]
    assert changes == [Change.SUPERSEDED, Change.SUPERSEDED, Change.REVIVED]
    (gone,) = await mind.memory.changes(facts[2].id, HERE)
    assert gone.change is Change.WITHDRAWN
    assert await mind.problems() == []


# -- never zero facts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "other", "first_again"),
    [
        ("I live in Osaka", "I live in Kyoto", "I live in Osaka"),
        ("大阪に住んでいます", "京都に住んでいます", "大阪に住んでいます"),
    ],
)
async def test_a_value_said_again_after_another_is_current(
    mind: Mind, first: str, other: str, first_again: str
) -> None:
    await say(mind, first)
    await say(mind, other)
    await say(mind, first_again)
    assert await current(mind) == [first_again]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("I live in Osaka", "I live in Kyoto"),
        ("大阪に住んでいます", "京都に住んでいます"),
    ],
)
async def test_a_value_said_again_after_its_successor_was_forgotten_is_current(
    mind: Mind, first: str, other: str
) -> None:
    await say(mind, first)
    later = await say(mind, other)
    await mind.memory.forget([later.id], Actor(TARO), HERE)
    assert await current(mind) == [], "an explicit forget revives nothing"
    mind.clock.advance(hours=1)
    await say(mind, first)
    assert await current(mind) == [first]


@pytest.mark.parametrize(
    ("so", "denied"),
    [
        ("I live in Osaka", "I don't live in Tokyo"),
        ("大阪に住んでいます", "東京に住んでいません"),
    ],
)
async def test_denying_another_value_leaves_the_present_one(
    mind: Mind, so: str, denied: str
) -> None:
    await say(mind, so)
    await say(mind, denied)
    assert await current(mind) == [so, denied]


@pytest.mark.parametrize(
    ("so", "denied"),
    [
        ("I live in Osaka", "I don't live in Osaka"),
        ("大阪に住んでいます", "大阪に住んでいません"),
    ],
)
async def test_denying_the_value_itself_ends_it(mind: Mind, so: str, denied: str) -> None:
    await say(mind, so)
    await say(mind, denied)
    assert await current(mind) == [denied]

"""Consolidation: duplicates become one, guarded pairs stay apart, a second round finds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.consolidate import Consolidator
from bot.errors import ModelUnavailable
from bot.summaries import Summaries
from memory import guards, records
from memory.long_term import Actor
from memory.ports import Judge, Pair
from memory.retention import Limits
from memory.store import audiences, facts
from memory.types import Fact, Kind, Origin, Readable, Ref, Verdict
from tests.fakes import GENERAL, HANAKO, NOON, TARO, TARO_DM, Mind, ScriptedChatModel, new_fact

HERE = Readable.of(TARO_DM)


def consolidator(
    mind: Mind,
    limits: Limits | None = None,
    judge: Judge | None = None,
    model: ScriptedChatModel | None = None,
) -> Consolidator:
    summaries = Summaries(mind.database, model, mind.clock)
    return Consolidator(
        mind.database, mind.embedding, summaries, judge, limits or Limits(), mind.clock
    )


async def insert(mind: Mind, text: str, **changed: Any) -> Fact:
    """Store a fact past reconciling, as an older Oboete, or one without vectors, would have."""
    message = await mind.hear(text, **changed.pop("said", {}))
    new = new_fact(message, **changed)

    def store(session: Any) -> Fact:
        fact = facts.insert(session, new, mind.clock())
        audience_id = audiences.ensure_id(session, new.audience)
        records.index(session, audience_id, Ref(Kind.FACT, fact.id), fact.text, mind.clock())
        return fact

    return await mind.database.write(store)


async def texts(mind: Mind, readable: Readable = HERE) -> list[str]:
    known = await mind.memory.facts_about(TARO, readable, past=True)
    return sorted(fact.text for fact in known)


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [
        ("I like cats", "I love cats", "en"),
        ("私は猫が好きです", "私は猫が好きだ", "ja"),
    ],
)
async def test_near_duplicates_become_one_with_all_evidence(
    mind: Mind, first: str, second: str, language: str
) -> None:
    kept = await insert(mind, first, language=language)
    await insert(mind, second, language=language)
    done = await consolidator(mind).run()
    assert done.merged == 1
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.id == kept.id
    assert fact.confirmed == 2
    assert len(fact.evidence) == 2
    assert await mind.problems() == []
    assert (await consolidator(mind).run(full=True)).merged == 0


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [
        ("I like cats", "I do not like cats", "en"),
        ("The meeting is at 3 pm", "The meeting is at 4 pm", "en"),
        ("Ken manages Mary", "Mary manages Ken", "en"),
        ("私は猫が好きです", "私は猫が好きではありません", "ja"),
        ("会議は3時です", "会議は4時です", "ja"),
    ],
)
async def test_what_a_guard_keeps_apart_stays_apart_whatever_a_judge_says(
    mind: Mind, first: str, second: str, language: str
) -> None:
    await insert(mind, first, language=language)
    await insert(mind, second, language=language)
    done = await consolidator(mind, judge=Says(Verdict.SAME)).run(full=True)
    assert done.merged == 0
    assert await texts(mind) == sorted([first, second])


async def test_the_same_words_about_two_people_or_in_two_places_stay_apart(mind: Mind) -> None:
    await insert(mind, "likes cats")
    await insert(mind, "likes cats", subject=HANAKO)
    await insert(mind, "likes cats", said={"audience": GENERAL})
    assert (await consolidator(mind).run()).merged == 0


async def test_two_intervals_stay_apart(mind: Mind) -> None:
    await insert(mind, "I like cats")
    await insert(mind, "I love cats", valid_until=NOON + timedelta(days=3))
    assert (await consolidator(mind).run()).merged == 0


async def test_a_third_fact_does_not_bring_two_guarded_ones_together(mind: Mind) -> None:
    await insert(mind, "The meeting is at 3 pm")
    await insert(mind, "The meeting is at 3 pm!")
    await insert(mind, "The meeting is at 4 pm")
    await consolidator(mind, judge=Says(Verdict.SAME)).run()
    left = await mind.memory.facts_about(TARO, HERE)
    assert {fact.text for fact in left} == {"The meeting is at 3 pm", "The meeting is at 4 pm"}


class Says:
    """A judge with one opinion."""

    def __init__(self, verdict: Verdict | Exception) -> None:
        self.verdict = verdict
        self.asked: list[Pair] = []

    async def judge(self, pairs: Sequence[Pair]) -> list[Verdict]:
        self.asked += pairs
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return [self.verdict] * len(pairs)


OPEN = ("I like cats", "I like fluffy cats")


async def test_a_judge_decides_what_words_leave_open(mind: Mind) -> None:
    for text in OPEN:
        await insert(mind, text)
    assert (await consolidator(mind, judge=Says(Verdict.DIFFERENT)).run(full=True)).merged == 0
    assert (await consolidator(mind, judge=Says(Verdict.SAME)).run(full=True)).merged == 1


async def test_a_judge_that_is_away_changes_nothing(mind: Mind) -> None:
    for text in OPEN:
        await insert(mind, text)
    assert (await consolidator(mind, judge=Says(ModelUnavailable("away"))).run()).merged == 0
    assert await texts(mind) == sorted(OPEN)


async def test_pairs_are_judged_once_and_not_every_night(mind: Mind) -> None:
    for text in OPEN:
        await insert(mind, text)
    judge = Says(Verdict.DIFFERENT)
    await consolidator(mind, judge=judge).run()
    assert len(judge.asked) == 1
    await consolidator(mind, judge=judge).run()
    assert len(judge.asked) == 1


async def test_a_dry_run_counts_and_changes_nothing(mind: Mind) -> None:
    await insert(mind, "I like cats")
    await insert(mind, "I love cats")
    await mind.embedding.drain()
    assert (await consolidator(mind).run(dry=True)).merged == 1
    assert await texts(mind) == ["I like cats", "I love cats"]


async def test_what_the_merged_fact_had_superseded_stays_superseded(mind: Mind) -> None:
    first = await insert(mind, "I like tea")
    await insert(mind, "I like cats")
    double = await insert(mind, "I love cats")
    await mind.database.write(lambda s: facts.supersede(s, first, double))
    assert (await consolidator(mind).run()).merged == 1
    known = {f.text: f for f in await mind.memory.facts_about(TARO, HERE, past=True)}
    assert known["I like tea"].superseded_by == known["I like cats"].id
    assert await mind.problems() == []


@pytest.mark.parametrize(
    ("text", "language"),
    [("The meeting is tomorrow", "en"), ("明日は会議です", "ja")],
)
async def test_what_has_passed_is_closed_and_not_before(
    mind: Mind, text: str, language: str
) -> None:
    await insert(mind, text, language=language)
    assert (await consolidator(mind).run()).closed == 0
    mind.clock.advance(days=1, hours=6)
    assert (await consolidator(mind).run()).closed == 0
    mind.clock.advance(days=2)
    assert (await consolidator(mind).run()).closed == 1
    assert await mind.memory.facts_about(TARO, HERE) == []
    assert await texts(mind) == [text]
    assert (await consolidator(mind).run()).closed == 0


@pytest.mark.parametrize(
    "text",
    [
        "I like cats",
        "I have worked here since 2020",
        "I bought a bike yesterday",
        "From tomorrow I work remotely",
        "2020年から働いています",
        "昨日自転車を買った",
        "毎週月曜に会議がある",
    ],
)
async def test_what_lasts_is_never_closed(mind: Mind, text: str) -> None:
    await insert(mind, text, language="en" if text.isascii() else "ja")
    mind.clock.advance(days=300)
    assert (await consolidator(mind).run()).closed == 0


WORDS = st.sampled_from(
    ["I like cats", "I love cats", "I like dogs", "I do not like cats", "I hate cats",
     "The meeting is at 3 pm", "The meeting is at 4 pm", "Ken manages Mary", "Mary manages Ken"]
)  # fmt: skip


@settings(max_examples=12)
@given(said=st.lists(WORDS, min_size=2, max_size=9))
async def test_no_two_merged_facts_are_guarded_and_a_second_round_changes_nothing(
    mind: Mind, said: list[str]
) -> None:
    await mind.memory.forget_person(TARO)
    for text in said:
        await insert(mind, text)
    await consolidator(mind).run(full=True)
    for fact in await mind.memory.facts_about(TARO, HERE, past=True):
        own = [said_in for said_in in await quotes(mind, fact) if said_in != fact.text]
        assert all(guards.compare(fact.text, other, "en").can_be_same for other in own)
    before = await mind.memory.facts_about(TARO, HERE, past=True)
    again = await consolidator(mind).run(full=True)
    assert again.merged == 0
    assert await mind.memory.facts_about(TARO, HERE, past=True) == before
    assert await mind.problems() == []


async def quotes(mind: Mind, fact: Fact) -> list[str]:
    said = {m.id: m.text for m in await mind.memory.messages_of(TARO, HERE)}
    return [said[e.message_id][e.span.start : e.span.end] for e in fact.evidence]


# -- retention -----------------------------------------------------------------------------------


async def test_an_expired_message_leaves_its_facts(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    await mind.hear("just talk, 雑談です")
    mind.clock.advance(days=31)
    await mind.hear("today's talk")
    done = await consolidator(mind, Limits(message_days=30)).run()
    assert done.expired_messages == 2
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.text == "I live in Osaka"
    left = [m.text for m in await mind.memory.messages_of(TARO, HERE)]
    assert [text for text in left if text] == ["today's talk"]
    assert await mind.problems() == []
    assert (await consolidator(mind, Limits(message_days=30)).run()).expired_messages == 0


async def test_what_waits_to_be_read_does_not_expire(mind: Mind) -> None:
    await mind.hear("I live in Osaka", learn=True)
    mind.clock.advance(days=31)
    assert (await consolidator(mind, Limits(message_days=30)).run()).expired_messages == 0


async def test_expired_facts_go_and_the_same_words_said_anew_are_learned(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=31)
    assert (await consolidator(mind, Limits(fact_days=30)).run()).expired_facts == 1
    assert await mind.memory.facts_about(TARO, HERE, past=True) == []
    again = await mind.hear("I live in Osaka")
    assert await mind.memory.facts_of_same_words(again) is None
    assert await mind.problems() == []


async def test_a_fact_that_was_said_again_lives_on(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=20)
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=20)
    assert (await consolidator(mind, Limits(fact_days=30)).run()).expired_facts == 0


async def test_without_limits_nothing_expires(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=10_000)
    done = await consolidator(mind).run()
    assert (done.expired_messages, done.expired_facts) == (0, 0)


# -- profiles and summaries ----------------------------------------------------------------------

FACTS = ("I live in Osaka", "I like cats", "I play tennis", "My sister is Mary", "I drink tea")


async def test_a_profile_names_its_evidence_and_goes_when_that_is_forgotten(mind: Mind) -> None:
    known = [await mind.state(text) for text in FACTS]
    model = ScriptedChatModel(shaped=['{"text": "Lives in Osaka [1]."}'])
    done = await consolidator(mind, model=model).run()
    assert done.summaries == 1
    summaries = Summaries(mind.database, model, mind.clock)
    (profile,) = await summaries.profile(TARO, HERE)
    assert {ref.id for ref in profile.sources} == {fact.id for fact in known}
    assert await summaries.profile(TARO, Readable.of(GENERAL)) == []
    await mind.memory.forget([known[0].id], Actor(TARO), HERE)
    assert await summaries.profile(TARO, HERE) == []


async def test_a_profile_is_made_anew_when_more_is_known_and_only_then(mind: Mind) -> None:
    for text in FACTS:
        await mind.state(text)
    model = ScriptedChatModel(shaped=['{"text": "One [1]."}', '{"text": "Two [6]."}'])
    await consolidator(mind, model=model).run()
    assert (await consolidator(mind, model=model).run()).summaries == 0
    await mind.state("I ride a bike")
    assert (await consolidator(mind, model=model).run()).summaries == 1
    (profile,) = await Summaries(mind.database, model, mind.clock).profile(TARO, HERE)
    assert profile.text == "Two [6]."


async def test_a_conversation_is_summarised_and_the_summary_goes_with_an_edit(mind: Mind) -> None:
    for number in range(12):
        await mind.hear(f"message {number}", platform_id=f"p{number}")
    model = ScriptedChatModel(shaped=['{"text": "They counted [1]."}'])
    assert (await consolidator(mind, model=model).run()).summaries == 1
    summaries = Summaries(mind.database, model, mind.clock)
    assert len(await summaries.of_conversation("talk", HERE)) == 1
    await mind.hear("changed", platform_id="p3", revision="2")
    assert await summaries.of_conversation("talk", HERE) == []


async def test_without_a_model_there_are_no_summaries(mind: Mind) -> None:
    for text in FACTS:
        await mind.state(text)
    assert (await consolidator(mind).run()).summaries == 0


async def test_extracted_facts_are_merged_by_their_own_words(mind: Mind) -> None:
    """What a model wrote stands for itself: its quotation may be a bare "yes"."""
    for text in ("Taro likes cats", "Taro loves cats"):
        message = await mind.hear("yes")
        new = new_fact(message, "yes", origin=Origin.EXTRACTED)
        object.__setattr__(new, "text", text)
        await mind.memory.remember([new])
    await consolidator(mind).run(full=True)
    assert len(await mind.memory.facts_about(TARO, HERE)) == 1

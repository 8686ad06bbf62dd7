"""Hear, remember, recall: what a write promises by the time it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session

from memory.store import extraction
from memory.store.messages import Change
from memory.types import (
    Audience,
    Evidence,
    Fact,
    Kind,
    NewFact,
    Origin,
    Person,
    Readable,
    Role,
    Span,
    Verdict,
)
from tests.fakes import (
    GENERAL,
    HANAKO,
    NOON,
    SECRET,
    TARO,
    TARO_DM,
    FakeEmbedder,
    Mind,
    new_fact,
    new_message,
)

HERE = Readable.of(TARO_DM)


async def current(mind: Mind, person: Person = TARO, readable: Readable = HERE) -> list[str]:
    return [fact.text for fact in await mind.memory.facts_about(person, readable)]


# -- hear ------------------------------------------------------------------------------------------


async def test_a_message_is_findable_by_its_words_at_once_and_by_meaning_after_draining(
    mind: Mind,
) -> None:
    message = await mind.hear("会議は午後3時です")
    hits = await mind.memory.recall("会議", HERE, 5)
    assert [hit.ref.id for hit in hits] == [message.id]
    await mind.embedding.drain()
    hits = await mind.memory.recall("午後の会議", HERE, 5)
    assert [hit.ref.id for hit in hits] == [message.id]


async def test_hearing_says_what_changed(mind: Mind) -> None:
    changes = []
    for text, revision in (("one", ""), ("one", ""), ("two", "1"), ("one", "")):
        said = new_message(text, platform_id="m", revision=revision)
        heard = await mind.memory.hear(said, learn=False)
        assert heard is not None
        changes.append(heard.change)
    assert changes == [Change.NEW, Change.UNCHANGED, Change.EDITED, Change.UNCHANGED]


async def test_only_what_is_to_be_learned_waits_to_be_read(mind: Mind) -> None:
    await mind.hear("kept only")
    learned = await mind.hear("to be learned", learn=True)
    await mind.hear("by Hanako", author=HANAKO, learn=True)
    assert await mind.memory.unread() == 2
    assert await mind.memory.unread(TARO) == 1
    waiting = await mind.memory.waiting()
    assert [message.text for _, message in waiting] == ["to be learned", "by Hanako"]
    await mind.memory.remember([new_fact(learned)], extracted_from=[learned])
    assert await mind.memory.unread(TARO) == 0


async def test_a_message_put_off_is_due_again_later(mind: Mind) -> None:
    message = await mind.hear("to be learned", learn=True)
    waits = []
    for _ in range(10):
        await mind.memory.postpone_extraction([message.id])
        waited = timedelta()
        while not await mind.memory.waiting():
            mind.clock.advance(seconds=10)
            waited += timedelta(seconds=10)
        waits.append(waited)
    assert waits == sorted(waits)
    assert waits[0] == timedelta(seconds=30)
    assert waits[-1] <= extraction.RETRY_MOST + timedelta(seconds=10)


async def test_an_edit_takes_back_what_the_earlier_words_taught(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka", said={"platform_id": "m"}, attribute="home")
    await mind.hear("I live in Kyoto", platform_id="m", revision="2", learn=True)
    assert await mind.memory.facts_by_id([fact.id], HERE) == []
    assert await mind.memory.unread() == 1
    hits = await mind.memory.recall("Osaka", HERE, 5)
    assert all("Osaka" not in hit.text for hit in hits)
    assert await mind.problems() == []


async def test_an_edit_makes_current_again_what_the_earlier_words_had_superseded(
    mind: Mind,
) -> None:
    first = await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(hours=1)
    await mind.state("I live in Kyoto", said={"platform_id": "m"}, attribute="home")
    assert await current(mind) == ["I live in Kyoto"]
    await mind.hear("never mind", platform_id="m", revision="2")
    assert await current(mind) == ["I live in Osaka"]
    (revived,) = await mind.memory.facts_by_id([first.id], HERE)
    assert (revived.superseded_by, revived.valid_until) == (None, None)


async def test_an_edit_leaves_facts_that_others_said_too(mind: Mind) -> None:
    await mind.state("party on friday", said={"platform_id": "m", "audience": GENERAL}, subject="p")
    again = await mind.hear("party on friday", author=HANAKO, audience=GENERAL)
    await mind.memory.remember([new_fact(again, subject="p")])
    await mind.hear("nothing", platform_id="m", revision="2", audience=GENERAL)
    hits = await mind.memory.recall("party", Readable.of(GENERAL), 5, kinds=(Kind.FACT,))
    assert len(hits) == 1
    assert hits[0].fact is not None
    assert [e.message_id for e in hits[0].fact.evidence] == [again.id]


async def test_the_bots_own_words_are_kept_verbatim_and_never_wait_to_be_read(mind: Mind) -> None:
    code = "```python\nprint('猫')\n```"
    reply = await mind.hear(code, author=None, role=Role.ASSISTANT, author_name="Oboete")
    (hit,) = await mind.memory.recall("print 猫", HERE, 1)
    assert (hit.text, hit.ref.id) == (code, reply.id)
    assert await mind.memory.unread() == 0


async def test_a_reply_can_be_found_by_the_id_that_it_got_when_it_was_sent(mind: Mind) -> None:
    reply = await mind.hear("answer", author=None, role=Role.ASSISTANT, platform_id="reply:1")
    await mind.memory.sent_as(reply.id, "1700000.42")
    found = await mind.memory.find_message(TARO_DM, "1700000.42")
    assert found is not None
    assert found.id == reply.id


# -- remember --------------------------------------------------------------------------------------


async def test_a_fact_is_findable_by_the_time_remembering_returns(mind: Mind) -> None:
    fact = await mind.state("猫が好きです")
    mind.embedder.asked.clear()
    for query in ("猫", "猫が好き"):
        hits = await mind.memory.recall(query, HERE, 5, kinds=(Kind.FACT,))
        assert [hit.ref.id for hit in hits] == [fact.id]
    assert mind.database.inline("SELECT count(*) FROM embedding WHERE owner = ?", (fact.id << 2,))


async def test_the_same_fact_500_times_is_one_fact_confirmed_500_times(mind: Mind) -> None:
    message = await mind.hear("I like cats")
    mind.embedder.asked.clear()
    outcomes = [(await mind.memory.remember([new_fact(message)]))[0] for _ in range(500)]
    assert [outcome.known for outcome in outcomes] == [False, *[True] * 499]
    assert outcomes[-1].fact.confirmed == 500
    assert len(await current(mind)) == 1
    assert mind.embedder.asked == [("document", "I like cats")]


async def test_saying_it_again_adds_evidence_and_is_dated_by_the_latest(mind: Mind) -> None:
    first = await mind.state("I like cats", said={"permalink": "https://c.example/1"})
    later = mind.clock.advance(days=1)
    second = await mind.hear("i like CATS!", permalink="https://c.example/2")
    (outcome,) = await mind.memory.remember([new_fact(second)])
    assert (outcome.known, outcome.fact.id, outcome.fact.text) == (True, first.id, "I like cats")
    assert outcome.fact.said_at == later
    assert [e.permalink for e in outcome.fact.evidence] == [
        "https://c.example/1",
        "https://c.example/2",
    ]


async def test_the_same_words_by_other_people_or_elsewhere_are_other_facts(mind: Mind) -> None:
    here = {"audience": GENERAL}
    facts = [
        await mind.state("I like cats", said=here),
        await mind.state("I like cats", said={**here, "author": HANAKO}),
        await mind.state("I like cats", said={"audience": SECRET}),
    ]
    assert len({fact.id for fact in facts}) == 3


async def test_a_later_value_supersedes_and_keeps_the_earlier_as_past(mind: Mind) -> None:
    await mind.state("My name is Li", attribute="name")
    moment = mind.clock.advance(hours=1)
    message = await mind.hear("My name is Lin")
    (outcome,) = await mind.memory.remember([new_fact(message, attribute="name")])
    assert outcome.replaced is not None
    assert outcome.replaced.text == "My name is Li"
    assert await current(mind) == ["My name is Lin"]
    past, present = await mind.memory.facts_about(TARO, HERE, past=True)
    assert (past.superseded_by, past.valid_until) == (present.id, moment)


async def test_a_value_said_earlier_that_arrives_late_is_past_from_the_start(mind: Mind) -> None:
    await mind.state("I live in Kyoto", attribute="home")
    late = await mind.hear("I live in Osaka", sent_at=NOON - timedelta(days=9))
    (outcome,) = await mind.memory.remember([new_fact(late, attribute="home")])
    assert (outcome.known, outcome.replaced) == (False, None)
    assert await current(mind) == ["I live in Kyoto"]
    (stored,) = await mind.memory.facts_by_id([outcome.fact.id], HERE)
    assert stored.valid_until == NOON


async def test_what_was_true_before_can_be_true_again(mind: Mind) -> None:
    for text in ("I live in Osaka", "I live in Kyoto", "I live in Osaka"):
        mind.clock.advance(days=1)
        await mind.state(text, attribute="home")
    assert await current(mind) == ["I live in Osaka"]
    assert len(await mind.memory.facts_about(TARO, HERE, past=True)) == 3


async def test_facts_about_two_people_do_not_retire_each_other(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home", said={"audience": GENERAL})
    mind.clock.advance(hours=1)
    said = {"audience": GENERAL, "author": HANAKO}
    await mind.state("I live in Kyoto", attribute="home", said=said)
    everywhere = Readable.of(GENERAL)
    assert await current(mind, TARO, everywhere) == ["I live in Osaka"]
    assert await current(mind, HANAKO, everywhere) == ["I live in Kyoto"]


async def test_a_value_in_another_place_supersedes_nothing_there(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home", said={"audience": GENERAL})
    mind.clock.advance(hours=1)
    await mind.state("I live in Kyoto", attribute="home", said={"audience": SECRET})
    assert await current(mind, readable=Readable.of(GENERAL)) == ["I live in Osaka"]
    assert await current(mind, readable=Readable.of(GENERAL, SECRET)) == ["I live in Kyoto"]


async def test_a_fact_whose_time_is_over_is_not_current(mind: Mind) -> None:
    await mind.state("I am on holiday", valid_until=NOON + timedelta(days=3))
    assert await current(mind) == ["I am on holiday"]
    mind.clock.advance(days=3)
    assert await current(mind) == []


async def test_a_fact_its_owner_calls_wrong_is_replaced(mind: Mind) -> None:
    wrong = await mind.state("The budget is 300", attribute=None)
    message = await mind.hear("The budget is 500")
    (outcome,) = await mind.memory.remember([new_fact(message)], replacing=wrong)
    assert await current(mind) == ["The budget is 500"]
    (old,) = await mind.memory.facts_by_id([wrong.id], HERE)
    assert old.superseded_by == outcome.fact.id


async def test_facts_of_one_call_see_each_other_in_order(mind: Mind) -> None:
    message = await mind.hear("I live in Osaka. I live in Osaka. I live in Kyoto.")
    facts = [
        new_fact(message, "I live in Osaka", attribute="home"),
        new_fact(message, "I live in Osaka", attribute="home"),
        new_fact(message, "I live in Kyoto", attribute="home"),
    ]
    outcome = await mind.memory.remember(facts)
    assert [item.known for item in outcome] == [False, True, False]
    assert await current(mind) == ["I live in Kyoto"]


async def test_a_batch_is_stored_whole_or_not_at_all(mind: Mind) -> None:
    message = await mind.hear("I like cats. I like dogs.", learn=True)
    good = new_fact(message, "I like cats.")
    nowhere = NewFact(
        text="I like dogs.",
        subject=TARO,
        speaker=TARO,
        audience=TARO_DM,
        language="en",
        origin=Origin.STATED,
        evidence=(Evidence(99_999, Span(0, 1)),),
        said_at=NOON,
    )
    with pytest.raises(Exception, match="database"):
        await mind.memory.remember([good, nowhere], extracted_from=[message])
    assert await current(mind) == []
    assert await mind.memory.unread() == 1
    assert await mind.problems() == []


async def test_remembering_at_once_makes_no_doubles(mind: Mind) -> None:
    message = await mind.hear("I like cats")
    outcome = await asyncio.gather(*(mind.memory.remember([new_fact(message)]) for _ in range(20)))
    assert sum(not item.known for (item,) in outcome) == 1
    (fact,) = await mind.memory.facts_about(TARO, HERE)
    assert fact.confirmed == 20


# -- with a judge ----------------------------------------------------------------------------------


class OneAnswerJudge:
    """Gives one verdict on every pair, and keeps what it was asked."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.asked: list[list[tuple[str, str]]] = []

    async def judge(self, pairs: Sequence[Any]) -> list[Verdict]:
        self.asked.append([(pair.new.text, pair.known.text) for pair in pairs])
        return [self._verdict] * len(pairs)


async def remember_judged(mind: Mind, judge: OneAnswerJudge, *texts: str) -> list[Any]:
    message = await mind.hear("\n".join(texts))
    new = [new_fact(message, text) for text in texts]
    return await mind.memory.remember(new, judge=judge)


async def test_one_call_judges_the_whole_batch(mind: Mind) -> None:
    await mind.state("I enjoy drinking green tea every morning")
    await mind.state("My bicycle is painted bright yellow")
    judge = OneAnswerJudge(Verdict.SAME)
    outcome = await remember_judged(
        mind,
        judge,
        "I enjoy drinking green tea every single morning",
        "My bicycle is freshly painted bright yellow",
    )
    assert len(judge.asked) == 1
    assert len(judge.asked[0]) == 2
    assert [item.known for item in outcome] == [True, True]
    assert len(await current(mind)) == 2


async def test_exact_repeats_and_what_is_not_near_cost_no_call(mind: Mind) -> None:
    await mind.state("I like green tea")
    judge = OneAnswerJudge(Verdict.SAME)
    await remember_judged(mind, judge, "I like green tea", "会議は午後3時です")
    assert judge.asked == []
    assert len(await current(mind)) == 2


async def test_when_the_judge_says_different_both_are_kept(mind: Mind) -> None:
    await mind.state("I enjoy drinking green tea every morning")
    judge = OneAnswerJudge(Verdict.DIFFERENT)
    await remember_judged(mind, judge, "I enjoy drinking green tea most mornings with my neighbour")
    assert len(judge.asked) == 1
    assert len(await current(mind)) == 2


async def test_a_fact_of_another_place_is_never_shown_to_the_judge(mind: Mind) -> None:
    text = "I enjoy drinking green tea every morning"
    await mind.state(text, said={"audience": SECRET})
    judge = OneAnswerJudge(Verdict.SAME)
    await remember_judged(mind, judge, f"{text} again")
    assert judge.asked == []


# -- lists -----------------------------------------------------------------------------------------


async def test_lists_hold_what_is_about_or_by_the_person_oldest_first(mind: Mind) -> None:
    said = {"audience": GENERAL}
    mine = await mind.state("I like cats", said=said)
    about_me = await mind.state("Taro likes dogs", said={**said, "author": HANAKO}, subject=TARO)
    by_me = await mind.state("Bob likes birds", said=said, subject="Bob")
    await mind.state("I like fish", said={**said, "author": HANAKO})
    found = await mind.memory.facts_about(TARO, Readable.of(GENERAL))
    assert [fact.id for fact in found] == [mine.id, about_me.id, by_me.id]


async def test_a_persons_messages_are_their_own_and_readable(mind: Mind) -> None:
    await mind.hear("mine here")
    await mind.hear("mine there", audience=SECRET)
    await mind.hear("not mine", author=HANAKO)
    found = await mind.memory.messages_of(TARO, HERE)
    assert [message.text for message in found] == ["mine here"]


async def test_facts_from_a_message_are_given_to_those_who_may_read_it(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka", said={"audience": SECRET})
    wanted = fact.evidence[0].message_id
    assert await mind.memory.facts_from(wanted, HERE) == []
    found = await mind.memory.facts_from(wanted, Readable.of(SECRET))
    assert [f.id for f in found] == [fact.id]


# -- odd input -------------------------------------------------------------------------------------

ODD = {
    "100 kB": "猫" * 20_000 + "a" * 40_000,
    "right to left": "\u202eאני גר באוסקה\u202c",
    "emoji": "👩‍👩‍👧👍🏽🇯🇵 I like 🍣",
    "zero width": "I\u200b like\u200d cats\ufeff",
    "combining": "か\u3099くせい",
    "control": "bell \x07 escape \x1b[31m",
    "only zero width": "\u200b\u200b",
    "one character": "猫",
    "many lines": "\n" * 1000 + "x",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
async def test_any_text_can_be_heard_remembered_found_and_forgotten(mind: Mind, text: str) -> None:
    query = text.strip()[:500]
    message = await mind.hear(text)
    (outcome,) = await mind.memory.remember([new_fact(message)])
    await mind.embedding.drain()
    stored = await mind.memory.find_message(TARO_DM, message.platform_id)
    assert stored is not None
    assert stored.text == text
    hits = await mind.memory.recall(query, HERE, 5, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [outcome.fact.id]
    assert await mind.problems() == []
    await mind.memory.source_deleted(TARO_DM, message.platform_id)
    assert await mind.memory.recall(query, HERE, 5) == []
    assert await mind.problems() == []


async def test_remembering_goes_on_while_the_embedder_refuses(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.refused = {"I like cats"}
    await mind.state("I like cats")
    await mind.state("I like dogs")
    assert len(await current(mind)) == 2
    assert await mind.embedding.waiting() >= 1
    assert await mind.problems() == []


async def test_nothing_of_one_tenant_reaches_another(mind: Mind) -> None:
    theirs = Audience("slack", "T2", "general")
    for number in range(4):
        await mind.state(f"Osaka {number}", said={"audience": theirs})
    mine = await mind.state("the weather", said={"audience": Audience("slack", "T1", "general")})
    readable = Readable.of(Audience("slack", "T1", "general"))
    hits = await mind.memory.recall("Osaka", readable, 1)
    assert len(hits) == 1
    assert isinstance(mine, Fact)
    everything = await mind.memory.recall("Osaka", readable, 50)
    assert all(hit.audience != theirs for hit in everything)


async def test_a_write_that_fails_leaves_index_and_sql_in_agreement(
    mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mind.state("I like cats")
    await mind.memory.recall("cats", HERE, 5)

    def broken(session: Session, message_ids: object) -> None:
        raise OSError("disk trouble")

    monkeypatch.setattr(extraction, "finish", broken)
    with pytest.raises(Exception, match="disk trouble"):
        await mind.state("I like dogs")
    monkeypatch.undo()
    hits = await mind.memory.recall("dogs", HERE, 5, kinds=(Kind.FACT,))
    assert [hit.text for hit in hits] == ["I like cats"]
    assert await mind.problems() == []

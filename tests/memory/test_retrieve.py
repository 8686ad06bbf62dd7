"""Search: meaning and words together, over what may be read and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory import retrieve
from memory.types import Fact, Kind, Message, Readable
from tests.fakes import (
    GENERAL,
    HANAKO,
    NOON,
    SECRET,
    TARO_DM,
    FakeEmbedder,
    Mind,
    new_fact,
)

EVERYWHERE = Readable.of(GENERAL, SECRET, TARO_DM)


async def test_the_best_of_both_signals_comes_first(mind: Mind) -> None:
    for text in ("the weather is fine", "猫が好きです", "I live in Osaka", "budget is 300"):
        await mind.state(text)
    await mind.embedding.drain()
    for query, expected in (("Osaka", "I live in Osaka"), ("猫が好き", "猫が好きです")):
        hits = await mind.memory.recall(query, EVERYWHERE, 4, kinds=(Kind.FACT,))
        assert hits[0].text == expected
        assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
        assert {name for name, _ in hits[0].signals} >= {"meaning", "words"}


async def test_k_come_back_when_k_exist_however_unlike_they_are(mind: Mind) -> None:
    for number in range(8):
        await mind.state(f"statement {number} about nothing in particular")
    hits = await mind.memory.recall("完全に別のこと", EVERYWHERE, 5, kinds=(Kind.FACT,))
    assert len(hits) == 5


async def test_better_matches_that_may_not_be_read_take_no_place(mind: Mind) -> None:
    for number in range(60):
        await mind.state(f"Osaka Osaka {number}", said={"audience": SECRET})
    await mind.state("nothing of the kind", said={"audience": GENERAL})
    await mind.state("我が家は大阪", said={"audience": TARO_DM})
    readable = Readable.of(GENERAL, TARO_DM)
    hits = await mind.memory.recall("Osaka", readable, 2, kinds=(Kind.FACT,))
    assert {hit.audience for hit in hits} == {GENERAL, TARO_DM}


@pytest.mark.parametrize("query", ["", "   ", "\n"])
async def test_nothing_is_found_for_nothing(mind: Mind, query: str) -> None:
    await mind.state("I live in Osaka")
    assert await mind.memory.recall(query, EVERYWHERE, 5) == []


async def test_nothing_is_found_where_nothing_may_be_read(mind: Mind) -> None:
    await mind.state("I live in Osaka")
    assert await mind.memory.recall("Osaka", Readable.of(), 5) == []
    assert await mind.memory.recall("Osaka", EVERYWHERE, 0) == []
    assert await mind.memory.recall("Osaka", Readable.of(GENERAL), 5) == []


@pytest.mark.parametrize(
    "query", ["?", "!!!", '"', "'; DROP TABLE fact; --", "NEAR(", "\0", "\ud800", "%", "🍣" * 300]
)
async def test_any_text_can_be_asked(mind: Mind, query: str) -> None:
    fact = await mind.state("I live in Osaka")
    hits = await mind.memory.recall(query, EVERYWHERE, 5, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [fact.id]


async def test_only_the_wanted_kinds_come_back(mind: Mind) -> None:
    await mind.state("I live in Osaka")
    await mind.embedding.drain()
    for kinds, found in (
        ((Kind.FACT,), [Kind.FACT]),
        ((Kind.MESSAGE,), [Kind.MESSAGE]),
        ((Kind.FACT, Kind.MESSAGE), [Kind.FACT]),  # the fact stands for what says the same
    ):
        hits = await mind.memory.recall("Osaka", EVERYWHERE, 5, kinds=kinds)
        assert [hit.ref.kind for hit in hits] == found


async def test_hits_say_what_they_are(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka")
    await mind.embedding.drain()
    (as_fact,) = await mind.memory.recall("Osaka", EVERYWHERE, 5, kinds=(Kind.FACT,))
    (as_message,) = await mind.memory.recall("Osaka", EVERYWHERE, 5, kinds=(Kind.MESSAGE,))
    assert (as_fact.fact, as_fact.message, as_fact.said_at) == (fact, None, NOON)
    assert as_message.fact is None
    assert isinstance(as_message.message, Message)
    assert as_message.message.id == fact.evidence[0].message_id


async def test_age_hides_no_match(mind: Mind) -> None:
    old = await mind.state("I live in Osaka")
    for number in range(50):
        mind.clock.advance(days=30)
        await mind.state(f"the weather is fine on day {number}")
    hits = await mind.memory.recall("Osaka", EVERYWHERE, 1, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [old.id]


async def test_of_two_equal_matches_the_newer_comes_first(mind: Mind) -> None:
    await mind.state("lunch is at noon", said={"audience": GENERAL}, subject="old")
    mind.clock.advance(days=1)
    newer = await mind.state("lunch is at noon", said={"audience": GENERAL}, subject="new")
    hits = await mind.memory.recall("lunch is at noon", EVERYWHERE, 2, kinds=(Kind.FACT,))
    assert hits[0].ref.id == newer.id


# -- the newest readable value ---------------------------------------------------------------------


async def home(mind: Mind, text: str, place: object) -> Fact:
    message = await mind.hear(text, audience=place)
    mind.clock.advance(hours=1)
    (outcome,) = await mind.memory.remember([new_fact(message, attribute="home")])
    return outcome.fact


async def test_a_narrower_value_replaces_a_wider_one_only_for_its_readers(mind: Mind) -> None:
    wide = await home(mind, "I live in Osaka", GENERAL)
    narrow = await home(mind, "I live in Kyoto", SECRET)

    async def seen(*places: object) -> dict[int, int | None]:
        readable = Readable(frozenset(places))  # type: ignore[arg-type]
        hits = await mind.memory.recall("live", readable, 5, kinds=(Kind.FACT,))
        return {hit.ref.id: hit.fact.superseded_by for hit in hits if hit.fact}

    assert await seen(GENERAL) == {wide.id: None}
    assert await seen(SECRET) == {narrow.id: None}
    assert await seen(GENERAL, SECRET) == {wide.id: narrow.id, narrow.id: None}


async def test_a_value_that_was_not_among_the_hits_still_makes_an_older_one_past(
    mind: Mind,
) -> None:
    await home(mind, "I live in Osaka", GENERAL)
    await home(mind, "京都に住んでいる", SECRET)
    (hit,) = await mind.memory.recall(
        "I live in Osaka", Readable.of(GENERAL, SECRET), 1, kinds=(Kind.FACT,)
    )
    assert hit.text == "I live in Osaka"
    assert hit.fact is not None
    assert hit.fact.superseded_by is not None
    assert hit.fact.valid_until == NOON + timedelta(hours=1)


async def test_values_of_two_people_do_not_replace_each_other(mind: Mind) -> None:
    await home(mind, "I live in Osaka", GENERAL)
    message = await mind.hear("I live in Kyoto", audience=SECRET, author=HANAKO)
    await mind.memory.remember([new_fact(message, attribute="home")])
    hits = await mind.memory.recall("live", EVERYWHERE, 5, kinds=(Kind.FACT,))
    assert [hit.fact.superseded_by for hit in hits if hit.fact] == [None, None]


async def test_settling_leaves_attributes_of_many_values_alone(mind: Mind) -> None:
    facts = [
        await mind.state("I like cats", attribute="likes:cats", said={"audience": GENERAL}),
        await mind.state("I like dogs", attribute="likes:dogs", said={"audience": SECRET}),
    ]
    assert retrieve.newest_readable(facts) == facts


async def test_when_no_model_can_be_asked_words_alone_decide(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    await mind.state("I live in Osaka")
    await mind.state("budget is 300")
    embedder.away = True
    hits = await mind.memory.recall("budget", EVERYWHERE, 5, kinds=(Kind.FACT,))
    assert [hit.text for hit in hits] == ["budget is 300"]

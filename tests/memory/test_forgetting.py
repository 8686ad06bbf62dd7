"""Forget means gone: the fact, the words it came from, and all that was made from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory import maintenance
from memory.errors import NotPermitted
from memory.long_term import Actor
from memory.store.database import Database
from memory.types import Fact, Kind, Person, Readable, Ref, Role
from tests.fakes import (
    GENERAL,
    HANAKO,
    NOON,
    SECRET,
    TARO,
    TARO_DM,
    FakeEmbedder,
    Mind,
    SettableClock,
    bytes_of,
    encodings,
    new_fact,
    new_message,
)

HERE = Readable.of(TARO_DM)
ME = Actor(TARO)
ADMIN = Actor(Person("console", "local", "boss"), is_admin=True)


async def texts(mind: Mind, query: str, readable: Readable = HERE) -> set[str]:
    return {hit.text for hit in await mind.memory.recall(query, readable, 50)}


async def message_text(mind: Mind, platform_id: str, audience: Any = TARO_DM) -> str:
    found = await mind.memory.find_message(audience, platform_id)
    assert found is not None
    return found.text


async def answered(mind: Mind, text: str, sources: list[Ref], asker: Person = TARO) -> int:
    """A stored reply made from `sources`, with its trace; gives its id."""
    reply = await mind.reply(text, sources, asker=asker)
    return reply.id


# -- one fact --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "gone", "word"),
    [
        ("I like cats. ", "I live in Zanzibar.", "Zanzibar"),
        ("猫が好きです。", "竜宮城に住んでいます。", "竜宮城"),
        ("\U0001f363 is my food. ", "My hat is \U0001f3a9 chartreuse.", "chartreuse"),
    ],
)
async def test_the_words_go_from_the_message_and_the_rest_stays_findable(
    mind: Mind, kept: str, gone: str, word: str
) -> None:
    message = await mind.hear(kept + gone, platform_id="m")
    stays, goes = [
        outcome.fact
        for outcome in await mind.memory.remember(
            [new_fact(message, kept.strip()), new_fact(message, gone)]
        )
    ]
    await mind.embedding.drain()
    receipt = await mind.memory.forget([goes.id], ME, HERE)
    assert (receipt.facts, receipt.messages, receipt.replies) == (1, 1, [])
    assert await message_text(mind, "m") == kept + " " * len(gone)
    assert not any(word in text for text in await texts(mind, word))
    assert [f.id for f in await mind.memory.facts_about(TARO, HERE)] == [stays.id]
    await mind.embedding.drain()
    hits = await mind.memory.recall(kept, HERE, 5, kinds=(Kind.MESSAGE,))
    assert [hit.ref.id for hit in hits] == [message.id]
    assert await mind.problems() == []


async def test_no_byte_of_it_is_left_in_any_file_while_the_program_runs(
    mind: Mind, database: Database
) -> None:
    words = ("Zanzibarqx", "竜宮城")
    for n in range(200):
        await mind.state(f"filler number {n} 猫が好き")
    goes = [
        await mind.state("I live in Zanzibarqx", attribute="home"),
        await mind.state("竜宮城に行きたい"),
    ]
    await answered(mind, "You live in Zanzibarqx 竜宮城", [Ref(Kind.FACT, f.id) for f in goes])
    await mind.embedding.drain()
    assert database.path is not None
    folder = database.path.parent
    before = bytes_of(folder)
    present = [name for name, form in encodings(words).items() if form in before]
    assert {"Zanzibarqx", "竜宮城"} <= set(present)
    await mind.memory.forget([fact.id for fact in goes], ME, HERE)
    after = bytes_of(folder)
    tokens = (*words, "zanzibarqx", "竜宮", "宮城")
    assert [name for name, form in encodings(tokens).items() if form in after] == []
    assert await mind.problems() == []


async def test_it_stays_gone_after_a_restart_and_after_reindexing(
    mind: Mind, database: Database, clock: SettableClock
) -> None:
    fact = await mind.state("I live in Zanzibar", attribute="home")
    await mind.state("I like cats")
    await mind.memory.forget([fact.id], ME, HERE)
    later = Mind.over(database, clock, FakeEmbedder())
    await later.embedding.open()
    assert await texts(later, "Zanzibar") == {"I like cats"}
    await later.database.write(lambda s: maintenance.reindex(s, clock()))
    await later.embedding.drain()
    assert await texts(later, "Zanzibar") == {"I like cats"}
    assert await later.problems() == []


async def test_every_message_that_supports_it_loses_the_words(mind: Mind) -> None:
    fact = await mind.state("I live in Osaka", said={"platform_id": "m1"})
    again = await mind.hear("You know, I live in Osaka. Bye", platform_id="m2")
    await mind.memory.remember([new_fact(again, "I live in Osaka")])
    receipt = await mind.memory.forget([fact.id], ME, HERE)
    assert (receipt.facts, receipt.messages) == (1, 2)
    assert await message_text(mind, "m1") == ""
    assert (await message_text(mind, "m2")).split() == ["You", "know,", ".", "Bye"]
    assert await mind.problems() == []


async def test_other_facts_read_off_the_same_words_go_too(mind: Mind) -> None:
    message = await mind.hear("I live in Osaka with my two cats")
    outcome = await mind.memory.remember(
        [new_fact(message), new_fact(message, "my two cats"), new_fact(message, "I live in Osaka")]
    )
    receipt = await mind.memory.forget([outcome[1].fact.id], ME, HERE)
    assert receipt.facts == 2
    left = [fact.text for fact in await mind.memory.facts_about(TARO, HERE)]
    assert left == ["I live in Osaka"]
    assert await mind.problems() == []


async def test_another_fact_that_rests_on_other_words_too_stays(mind: Mind) -> None:
    first = await mind.hear("I live in Osaka with my two cats")
    goes, stays = await mind.memory.remember(
        [new_fact(first), new_fact(first, "my two cats", subject="cats")]
    )
    second = await mind.hear("my two cats")
    await mind.memory.remember([new_fact(second, subject="cats")])
    await mind.memory.forget([goes.fact.id], ME, HERE)
    (left,) = await mind.memory.facts_about(TARO, HERE)
    assert left.id == stays.fact.id
    assert [item.message_id for item in left.evidence] == [second.id]
    assert await mind.problems() == []


async def test_replies_made_from_it_go_and_replies_made_from_those(mind: Mind) -> None:
    fact = await mind.state("I live in Zanzibar")
    first = await answered(mind, "You live in Zanzibar", [Ref(Kind.FACT, fact.id)])
    await answered(mind, "As I said, Zanzibar", [Ref(Kind.MESSAGE, first)])
    other = await answered(mind, "Nothing to do with it", [])
    receipt = await mind.memory.forget([fact.id], ME, HERE)
    assert [reply.text for reply in receipt.replies] == [
        "You live in Zanzibar",
        "As I said, Zanzibar",
    ]
    await mind.embedding.drain()
    assert await texts(mind, "Zanzibar") == {"Nothing to do with it"}
    trace = await mind.memory.trace(TARO, TARO_DM, None)
    assert trace is not None
    assert trace.reply_id == other
    assert mind.database.inline("SELECT count(*) FROM trace") == [(1,)]
    assert await mind.problems() == []


async def test_forgetting_never_makes_a_predecessor_current_again(mind: Mind) -> None:
    first = await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    second = await mind.state("I live in Kyoto", attribute="home")
    mind.clock.advance(days=1)
    await mind.memory.forget([second.id], ME, HERE)
    assert await mind.memory.facts_about(TARO, HERE) == []
    (past,) = await mind.memory.facts_about(TARO, HERE, past=True)
    assert past.id == first.id
    hits = await mind.memory.recall("Where do I live?", HERE, 5, kinds=(Kind.FACT,))
    assert not any(hit.fact.is_current(mind.clock()) for hit in hits if hit.fact)
    assert await mind.problems() == []


async def test_forgetting_what_was_superseded_leaves_the_present_value(mind: Mind) -> None:
    first = await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    second = await mind.state("I live in Kyoto", attribute="home")
    await mind.memory.forget([first.id], ME, HERE)
    assert [f.id for f in await mind.memory.facts_about(TARO, HERE, past=True)] == [second.id]


async def test_the_same_message_is_not_learned_again_and_the_same_words_anew_are(
    mind: Mind,
) -> None:
    said = new_message("I live in Zanzibar", platform_id="m")
    heard = await mind.memory.hear(said, learn=True)
    assert heard is not None
    (outcome,) = await mind.memory.remember([new_fact(heard.message)])
    await mind.memory.forget([outcome.fact.id], ME, HERE)
    assert await mind.memory.hear(said, learn=True) is None
    assert await message_text(mind, "m") == ""
    assert await mind.memory.unread() == 0
    anew = await mind.state("I live in Zanzibar")
    assert [f.id for f in await mind.memory.facts_about(TARO, HERE)] == [anew.id]


async def test_a_message_that_still_waits_to_be_read_does_not_bring_it_back(mind: Mind) -> None:
    fact = await mind.state("I live in Zanzibar", said={"learn": True})
    await mind.memory.forget([fact.id], ME, HERE)
    assert await mind.memory.waiting() == []


# -- who may ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", [ME, Actor(HANAKO), ADMIN], ids=["speaker", "subject", "admin"])
async def test_speaker_subject_and_admin_may_forget(mind: Mind, actor: Actor) -> None:
    readable = Readable.of(GENERAL)
    fact = await mind.state("Hanako likes cats", said={"audience": GENERAL}, subject=HANAKO)
    receipt = await mind.memory.forget([fact.id], actor, readable)
    assert receipt.facts == 1


async def test_others_are_refused_without_learning_whether_it_exists(mind: Mind) -> None:
    public = await mind.state("I like cats", said={"audience": GENERAL})
    hidden = await mind.state("I like dogs", said={"audience": SECRET})
    mine = await mind.state("I am Hanako", said={"audience": GENERAL, "author": HANAKO})
    said = set()
    for ids in ([public.id], [hidden.id], [99_999], [mine.id, public.id], [mine.id, 99_999]):
        with pytest.raises(NotPermitted) as caught:
            await mind.memory.forget(ids, Actor(HANAKO), Readable.of(GENERAL))
        said.add(str(caught.value))
    assert len(said) == 1
    assert len(await mind.memory.facts_about(HANAKO, Readable.of(GENERAL))) == 1
    assert mind.database.inline("SELECT count(*) FROM fact") == [(3,)]


async def test_an_admin_too_reaches_only_what_is_readable(mind: Mind) -> None:
    hidden = await mind.state("I like dogs", said={"audience": SECRET})
    with pytest.raises(NotPermitted):
        await mind.memory.forget([hidden.id], ADMIN, Readable.of(GENERAL))


# -- the source ------------------------------------------------------------------------------------


async def test_deleting_the_source_makes_what_it_had_superseded_current_again(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    await mind.state("I live in Kyoto", attribute="home", said={"platform_id": "m"})
    receipt = await mind.memory.source_deleted(TARO_DM, "m")
    assert receipt is not None
    assert (receipt.facts, receipt.messages) == (1, 1)
    assert [f.text for f in await mind.memory.facts_about(TARO, HERE)] == ["I live in Osaka"]
    assert await mind.memory.find_message(TARO_DM, "m") is None
    assert await mind.problems() == []


async def test_deleting_one_of_two_sources_leaves_the_fact_to_the_other(mind: Mind) -> None:
    fact = await mind.state("I like cats", said={"platform_id": "m"})
    again = await mind.hear("I like cats")
    await mind.memory.remember([new_fact(again)])
    await mind.memory.source_deleted(TARO_DM, "m")
    (left,) = await mind.memory.facts_about(TARO, HERE)
    assert (left.id, [e.message_id for e in left.evidence]) == (fact.id, [again.id])
    assert await mind.problems() == []


async def test_deleting_what_is_not_stored_is_nothing(mind: Mind) -> None:
    assert await mind.memory.source_deleted(TARO_DM, "never seen") is None
    await mind.hear("elsewhere", platform_id="m", audience=GENERAL)
    assert await mind.memory.source_deleted(TARO_DM, "m") is None


@pytest.mark.parametrize("revision", ["", "1", "2"])
async def test_no_revision_of_a_deleted_message_that_arrives_late_is_stored(
    mind: Mind, revision: str
) -> None:
    for earlier in ("", "1", "2"):
        said = new_message(f"I live in Zanzibar {earlier}", platform_id="m", revision=earlier)
        await mind.memory.hear(said, learn=True)
    await mind.memory.source_deleted(TARO_DM, "m")
    late = new_message(f"I live in Zanzibar {revision}", platform_id="m", revision=revision)
    assert await mind.memory.hear(late, learn=True) is None
    assert await texts(mind, "Zanzibar") == set()


async def test_no_byte_of_a_deleted_or_edited_message_is_left(
    mind: Mind, database: Database
) -> None:
    await mind.state("my code word is Zanzibarqx", said={"platform_id": "m1"})
    await mind.state("合言葉は竜宮城", said={"platform_id": "m2"})
    await mind.embedding.drain()
    await mind.memory.source_deleted(TARO_DM, "m1")
    await mind.hear("edited", platform_id="m2", revision="2")
    await mind.memory.embedding.drain()
    await database.checkpoint()
    assert database.path is not None
    left = bytes_of(database.path.parent)
    words = ("Zanzibarqx", "zanzibarqx", "竜宮")
    assert [name for name, form in encodings(words).items() if form in left] == []


# -- a person --------------------------------------------------------------------------------------


async def test_forgetting_a_person_takes_their_words_everywhere_and_what_is_known_about_them(
    mind: Mind, database: Database
) -> None:
    for place in (TARO_DM, GENERAL, SECRET):
        await mind.state(f"I live in Zanzibarqx said in {place.name}", said={"audience": place})
    await mind.hear("a question of mine about Zanzibarqx", audience=GENERAL, learn=True)
    said = {"audience": GENERAL, "author": HANAKO, "platform_id": "hers"}
    await mind.state("Taro lives in Zanzibarqx. I like tea", said=said, subject=TARO)
    hers = await mind.state("I like tea", said={**said, "platform_id": "other"})
    await mind.memory.add_trace(GENERAL, TARO, None, None, {"query": "Zanzibarqx"}, [])
    receipt = await mind.memory.forget_person(TARO)
    assert receipt.facts == 4
    assert receipt.messages == 5
    everywhere = Readable.of(TARO_DM, GENERAL, SECRET)
    assert await mind.memory.facts_about(TARO, everywhere, past=True) == []
    assert await mind.memory.messages_of(TARO, everywhere) == []
    assert [f.id for f in await mind.memory.facts_about(HANAKO, everywhere)] == [hers.id]
    assert await mind.memory.unread() == 0
    assert database.path is not None
    left = bytes_of(database.path.parent)
    assert b"Zanzibarqx" not in left
    assert b"zanzibarqx" not in left
    assert await mind.problems() == []


async def test_what_somebody_else_said_too_stays_as_theirs(mind: Mind) -> None:
    said: dict[str, Any] = {"audience": GENERAL}
    await mind.state("The party is on Friday", said=said, subject="party")
    hers = await mind.hear("The party is on Friday", author=HANAKO, **said)
    await mind.memory.remember([new_fact(hers, subject="party")])
    await mind.memory.forget_person(TARO)
    (left,) = await mind.memory.facts_about(HANAKO, Readable.of(GENERAL))
    assert (left.speaker, left.confirmed) == (HANAKO, 1)
    assert [e.message_id for e in left.evidence] == [hers.id]
    assert await mind.memory.facts_about(TARO, Readable.of(GENERAL)) == []
    assert await mind.problems() == []


async def test_forgetting_a_person_who_said_nothing_is_harmless(mind: Mind) -> None:
    await mind.state("I like cats")
    receipt = await mind.memory.forget_person(HANAKO)
    assert (receipt.facts, receipt.messages) == (0, 0)
    assert len(await mind.memory.facts_about(TARO, HERE)) == 1


# -- taking it back --------------------------------------------------------------------------------


def without_ids(fact: Fact) -> dict[str, Any]:
    names = (
        "text subject speaker audience language origin attribute negated said_at valid_from"
        " valid_until confirmed evidence"
    )
    return {name: getattr(fact, name) for name in names.split()}


async def test_a_mistaken_forget_can_be_taken_back_whole(mind: Mind) -> None:
    message = await mind.hear("I like cats. 竜宮城に住んでいます。 Bye", platform_id="m")
    remembered = await mind.memory.remember(
        [
            new_fact(message, "I like cats.", attribute="likes:cats"),
            new_fact(message, "竜宮城に住んでいます。", attribute="home", language="ja"),
        ]
    )
    again = await mind.hear("I like cats.")
    await mind.memory.remember([new_fact(again, attribute="likes:cats")])
    await mind.embedding.drain()
    before = await mind.memory.facts_about(TARO, HERE)
    receipt = await mind.memory.forget([item.fact.id for item in remembered], ME, HERE)
    assert await mind.memory.facts_about(TARO, HERE) == []
    assert await mind.memory.restore(receipt) == 2
    assert await message_text(mind, "m") == message.text
    after = await mind.memory.facts_about(TARO, HERE)
    assert [without_ids(fact) for fact in after] == [without_ids(fact) for fact in before]
    for query in ("竜宮城", "cats"):
        hits = await mind.memory.recall(query, HERE, 2)
        assert any(query in hit.text for hit in hits)
    assert await mind.problems() == []


async def test_after_taking_it_back_the_source_counts_as_not_forgotten(mind: Mind) -> None:
    fact = await mind.state("I live in Zanzibar", said={"platform_id": "m"})
    receipt = await mind.memory.forget([fact.id], ME, HERE)
    await mind.memory.restore(receipt)
    edited = new_message("I live in Osaka", platform_id="m", revision="2")
    heard = await mind.memory.hear(edited, learn=True)
    assert heard is not None
    assert await mind.memory.facts_about(TARO, HERE) == [], "its new words teach anew"
    assert await mind.problems() == []


async def test_taking_back_keeps_the_present_value_present(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    second = await mind.state("I live in Kyoto", attribute="home")
    receipt = await mind.memory.forget([second.id], ME, HERE)
    await mind.memory.restore(receipt)
    assert [f.text for f in await mind.memory.facts_about(TARO, HERE)] == ["I live in Kyoto"]


async def test_the_ledger_is_kept_outside_the_database_and_matches_it(
    mind: Mind, database: Database
) -> None:
    fact = await mind.state("I live in Zanzibar")
    await mind.memory.forget([fact.id], ME, HERE)
    assert len(mind.ledger.digests()) == 1
    assert await mind.problems() == []
    assert database.path is not None
    names = {path.name for path in Path(database.path).parent.iterdir()}
    assert {"forgotten.ledger", "forgotten.key"} <= names
    assert mind.clock() == NOON


@pytest.mark.parametrize("gone", ["fact", "question"])
async def test_an_answer_is_not_kept_whose_sources_went_while_it_was_written(
    mind: Mind, gone: str
) -> None:
    fact = await mind.state("I like Zanzibarqx")
    asked = await mind.hear("Do I like Zanzibarqx?", platform_id="q", audience=TARO_DM)
    if gone == "fact":
        await mind.memory.forget([fact.id], ME, HERE)
    else:
        await mind.memory.source_deleted(TARO_DM, "q")
    told = new_message("You like Zanzibarqx.", author=None, role=Role.ASSISTANT, platform_id="r")
    trace_id, reply_id = await mind.memory.add_trace(
        TARO_DM,
        TARO,
        asked.id,
        told,
        {"query": "Zanzibarqx", "searches": [{"query": "Zanzibarqx"}], "ms": 3},
        [Ref(Kind.FACT, fact.id), Ref(Kind.MESSAGE, asked.id)],
    )
    assert reply_id is None
    trace = await mind.memory.trace(TARO, TARO_DM, trace_id)
    assert trace is not None
    assert dict(trace.steps) == {"ms": 3}
    assert await mind.memory.find_message(TARO_DM, "r") is None

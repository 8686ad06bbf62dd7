"""Every text gets its vector, once; a model that is away or being replaced stops nobody."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from memory import calibration
from memory.store import embeddings
from memory.store.database import Database
from memory.types import Kind, Readable
from tests.fakes import GENERAL, TARO_DM, FakeEmbedder, Mind, SettableClock, new_fact


async def vectors_in_sql(mind: Mind) -> dict[str, int]:
    """How many vectors each model has."""
    rows = mind.database.inline(
        "SELECT m.name, count(e.owner) FROM embedding_model m"
        " LEFT JOIN embedding e ON e.model_id = m.id GROUP BY m.name"
    )
    return dict(rows)


async def test_the_first_model_serves_at_once(mind: Mind, embedder: FakeEmbedder) -> None:
    ready = await mind.embedding.serving()
    assert ready is not None
    assert (ready.model.name, ready.model.dimension, ready.model.serving) == (
        embedder.name,
        embedder.size,
        True,
    )


async def test_a_known_model_is_not_measured_again(
    mind: Mind, database: Database, clock: SettableClock
) -> None:
    again = FakeEmbedder()
    later = Mind.over(database, clock, again)
    await later.embedding.open()
    assert again.asked == []
    ready = await later.embedding.serving()
    assert ready is not None
    first = await mind.embedding.serving()
    assert first is not None
    np.testing.assert_array_equal(ready.model.calibration.mean, first.model.calibration.mean)


async def test_each_text_is_embedded_once_however_many_records_hold_it(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.asked.clear()
    for place in (TARO_DM, GENERAL):
        await mind.state("I live in Osaka", said={"audience": place})
    await mind.embedding.drain()
    assert sorted(embedder.asked) == [
        ("document", "I live in Osaka"),
        ("document", "taro: I live in Osaka"),
    ]
    assert await vectors_in_sql(mind) == {embedder.name: 4}


async def test_the_same_text_as_query_and_as_document_is_asked_for_twice(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.asked.clear()
    await mind.embedding.query("猫")
    await mind.embedding.documents(["猫", "猫"])
    await mind.embedding.query("猫")
    assert embedder.asked == [("query", "猫"), ("document", "猫")]


async def test_forgetting_drops_the_vectors_kept_by_text(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    await mind.embedding.query("猫")
    mind.embedding.forget_recent()
    embedder.asked.clear()
    await mind.embedding.query("猫")
    assert embedder.asked == [("query", "猫")]


async def test_while_the_model_is_away_facts_are_stored_and_found_by_their_words(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.away = True
    fact = await mind.state("I live in Osaka")
    hits = await mind.memory.recall("Osaka", Readable.of(TARO_DM), 5, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [fact.id]
    assert await mind.embedding.drain() == 0
    assert await mind.embedding.waiting() == 2
    embedder.away = False
    await mind.embedding.drain()
    assert await mind.embedding.waiting() == 0
    assert await vectors_in_sql(mind) == {embedder.name: 2}
    assert await mind.problems() == []


async def test_a_model_that_was_never_there_is_introduced_when_it_comes(
    database: Database, clock: SettableClock
) -> None:
    embedder = FakeEmbedder()
    embedder.away = True
    mind = Mind.over(database, clock, embedder)
    await mind.embedding.open()
    assert await mind.embedding.serving() is None
    await mind.state("猫が好き")
    assert await mind.embedding.query("猫") is None
    assert await mind.embedding.waiting() == 0
    embedder.away = False
    await mind.embedding.drain()
    assert await vectors_in_sql(mind) == {embedder.name: 2}
    assert await mind.embedding.query("猫") is not None


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(64, dtype=np.float32),
        np.full(64, np.nan, dtype=np.float32),
        np.ones(63, dtype=np.float32),
    ],
)
async def test_one_bad_vector_is_tried_again_later_and_spoils_no_other(
    mind: Mind, embedder: FakeEmbedder, vector: np.ndarray
) -> None:
    embedder.answers["taro: poison"] = vector
    await mind.hear("poison")
    await mind.hear("healthy")
    await mind.embedding.drain()
    assert await vectors_in_sql(mind) == {embedder.name: 1}
    assert await mind.embedding.waiting() == 1
    assert await mind.problems() == []
    del embedder.answers["taro: poison"]
    await mind.embedding.drain()
    assert await mind.embedding.waiting() == 1, "not before its time"
    mind.clock.advance(hours=1)
    await mind.embedding.drain()
    assert await vectors_in_sql(mind) == {embedder.name: 2}


async def test_a_text_that_keeps_failing_is_asked_for_ever_more_rarely(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.refused.add("taro: poison")
    await mind.hear("poison")
    waits = []
    for _ in range(12):
        embedder.asked.clear()
        begun = mind.clock.now
        for _ in range(2_000):
            await mind.embedding.drain()
            if embedder.asked:
                break
            mind.clock.advance(seconds=15)
        waits.append(mind.clock.now - begun)
    assert waits == sorted(waits)
    assert waits[1] >= timedelta(seconds=30)
    assert waits[-1] <= embeddings.RETRY_MOST + timedelta(seconds=15)


async def test_a_bad_vector_for_a_fact_leaves_it_findable_by_its_words(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    embedder.answers["I live in Osaka"] = np.zeros(64, dtype=np.float32)
    fact = await mind.state("I live in Osaka")
    hits = await mind.memory.recall("Osaka", Readable.of(TARO_DM), 5, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [fact.id]
    assert await mind.problems() == []


async def test_draining_stops_at_its_limit(mind: Mind) -> None:
    for number in range(70):
        await mind.hear(f"message {number}")
    await mind.embedding.drain(limit=1)
    assert 0 < await mind.embedding.waiting() < 70


async def test_a_text_that_changed_while_it_was_embedded_is_embedded_again(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    message = await mind.hear("first words", platform_id="m")
    real = embedder.embed
    edited: list[str] = []

    async def embed(texts: list[str], input_type: str) -> object:
        vectors = await real(texts, input_type)  # type: ignore[arg-type]
        if not edited:
            edited.append("once")
            await mind.hear("other words", platform_id="m", revision="2")
        return vectors

    embedder.embed = embed  # type: ignore[method-assign, assignment]
    await mind.embedding.drain()
    assert await mind.embedding.waiting() == 0
    assert await mind.problems() == []
    rows = mind.database.inline("SELECT text_hash FROM embedding")
    assert rows == [(embeddings.text_hash("taro: other words"),)]
    assert message.text == "first words"


async def test_a_text_that_was_forgotten_while_it_was_embedded_gets_no_vector(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    await mind.hear("secret words", platform_id="m")
    real = embedder.embed

    async def embed(texts: list[str], input_type: str) -> object:
        vectors = await real(texts, input_type)  # type: ignore[arg-type]
        await mind.memory.source_deleted(TARO_DM, "m")
        return vectors

    embedder.embed = embed  # type: ignore[method-assign, assignment]
    await mind.embedding.drain()
    assert mind.database.inline("SELECT count(*) FROM embedding") == [(0,)]
    assert await mind.embedding.waiting() == 0


# -- switching models ------------------------------------------------------------------------------


async def test_the_old_model_serves_until_the_new_one_has_every_vector(
    mind: Mind, database: Database, clock: SettableClock, embedder: FakeEmbedder
) -> None:
    for number in range(40):
        await mind.state(f"fact number {number}")
    await mind.embedding.drain()
    new = FakeEmbedder("fake:new", dimension=48)
    later = Mind.over(database, clock, new, make_embedder={embedder.name: embedder}.get)
    await later.embedding.open()

    async def serving() -> str:
        ready = await later.embedding.serving()
        assert ready is not None
        return ready.model.name

    assert await serving() == embedder.name
    assert await later.embedding.waiting() == 80
    await later.embedding.drain(limit=1)
    assert await serving() == embedder.name
    hits = await later.memory.recall("fact number 7", Readable.of(TARO_DM), 80, kinds=(Kind.FACT,))
    assert len(hits) == 40, "nothing is out of reach meanwhile"
    await later.state("said during the change")
    await later.embedding.drain()
    assert await serving() == new.name
    assert await vectors_in_sql(later) == {new.name: 82}
    assert await later.problems() == []
    hits = await later.memory.recall("said during the change", Readable.of(TARO_DM), 1)
    assert {hit.text for hit in hits} == {"said during the change"}


async def test_without_the_old_model_keywords_serve_until_the_new_one_is_ready(
    mind: Mind, database: Database, clock: SettableClock
) -> None:
    fact = await mind.state("I live in Osaka")
    await mind.embedding.drain()
    new = FakeEmbedder("fake:new", dimension=48)
    later = Mind.over(database, clock, new)
    await later.embedding.open()
    new.asked.clear()
    hits = await later.memory.recall("Osaka", Readable.of(TARO_DM), 5, kinds=(Kind.FACT,))
    assert [hit.ref.id for hit in hits] == [fact.id]
    await later.embedding.drain()
    assert await vectors_in_sql(later) == {new.name: 2}
    assert await later.embedding.query("Osaka") is not None


async def test_going_back_to_the_old_model_before_the_new_one_is_ready_loses_nothing(
    mind: Mind, database: Database, clock: SettableClock, embedder: FakeEmbedder
) -> None:
    await mind.state("I live in Osaka")
    await mind.embedding.drain()
    new = FakeEmbedder("fake:new")
    await Mind.over(database, clock, new).embedding.open()
    back = Mind.over(database, clock, embedder)
    await back.embedding.open()
    await back.state("I like cats")
    await back.embedding.drain()
    ready = await back.embedding.serving()
    assert ready is not None
    assert ready.model.name == embedder.name
    assert await back.problems() == []
    hits = await back.memory.recall("cats", Readable.of(TARO_DM), 4, kinds=(Kind.FACT,))
    assert len(hits) == 2


async def test_a_vector_of_another_dimension_is_never_compared(
    mind: Mind, database: Database, clock: SettableClock
) -> None:
    await mind.state("I live in Osaka")
    await mind.embedding.drain()
    same_name = FakeEmbedder(dimension=32)  # the model was replaced behind its name
    later = Mind.over(database, clock, same_name)
    await later.embedding.open()
    fact = await later.state("I like cats")
    hits = await later.memory.recall("cats", Readable.of(TARO_DM), 5, kinds=(Kind.FACT,))
    assert hits[0].ref.id == fact.id
    assert await later.problems() == []


async def test_calibration_belongs_to_the_model_and_not_to_anybodys_words(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    expected = await calibration.calibrate(embedder)
    for number in range(5):
        await mind.hear(f"something private {number}", audience=GENERAL)
    await mind.embedding.drain()
    ready = await mind.embedding.serving()
    assert ready is not None
    np.testing.assert_array_equal(ready.model.calibration.mean, expected.mean)
    assert ready.model.calibration.background_std == expected.background_std


async def test_remembering_the_same_fact_again_costs_no_embedding(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    message = await mind.hear("I like cats")
    await mind.memory.remember([new_fact(message)])
    embedder.asked.clear()
    for _ in range(20):
        await mind.memory.remember([new_fact(message)])
    assert embedder.asked == []

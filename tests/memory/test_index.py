"""The serving copy of the vectors: exact, bound to its audience, never older than SQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from sqlmodel import Session

from memory import index as index_module
from memory.calibration import Calibration
from memory.errors import InvalidVector
from memory.index import INLINE_ROWS, VectorIndex
from memory.store import audiences, embeddings
from memory.store.database import Database
from memory.store.embeddings import Item, Model
from memory.types import Audience, Kind, Ref, Vectors

DIMENSION = 16
PLACES = tuple(Audience("console", "local", f"place-{n}") for n in range(4))
FACTS = [Ref(Kind.FACT, n).key for n in range(1, 2000)]


def random_vectors(count: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    vectors: Vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


@pytest.fixture
async def model(database: Database) -> Model:
    mean = np.full(DIMENSION, 0.05, dtype=np.float32)

    def make(session: Session) -> Model:
        for place in PLACES:
            audiences.ensure_id(session, place)
        calibration = Calibration(mean, 0.0, 1.0)
        return embeddings.add_model(session, "test", DIMENSION, calibration, serving=True)

    return await database.write(make)


@pytest.fixture
def index(database: Database) -> VectorIndex:
    return VectorIndex(database)


async def put(
    database: Database, model: Model, audience_id: int, keys: Sequence[int], vectors: Vectors
) -> int:
    """Store vectors; gives the audience's version after it."""

    def work(session: Session) -> int:
        items = [
            Item(audience_id, key, str(key), vector)
            for key, vector in zip(keys, vectors, strict=True)
        ]
        embeddings.put(session, model, items)
        return embeddings.version(session, audience_id, model.id)

    return await database.write(work)


def exact(
    model: Model, query: Vectors, keys: Sequence[int], vectors: Vectors, k: int
) -> tuple[list[int], list[float]]:
    scores = model.calibration.center(vectors) @ model.calibration.center(query[None, :])[0]
    order = np.lexsort((-np.array(keys), -scores))[:k]
    return [keys[i] for i in order], scores[order].tolist()


async def test_finds_what_a_plain_product_finds(
    database: Database, model: Model, index: VectorIndex
) -> None:
    vectors, query = random_vectors(300), random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:300], vectors)
    keys, scores = await index.search(model, query, [1], 10)
    expected_keys, expected_scores = exact(model, query, FACTS[:300], vectors, 10)
    assert keys.tolist() == expected_keys
    np.testing.assert_allclose(scores, expected_scores, atol=1e-5)


async def test_large_audiences_are_searched_off_the_event_loop_with_the_same_result(
    database: Database, model: Model, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "INLINE_ROWS", 100)
    moved: list[object] = []
    real = asyncio.to_thread

    async def to_thread(function: object, *args: object) -> object:
        moved.append(function)
        return await real(function, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    vectors, query = random_vectors(200), random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:100], vectors[:100])
    small, _ = await index.search(model, query, [1], 5)
    assert not moved
    await put(database, model, 2, FACTS[100:200], vectors[100:])
    keys, _ = await index.search(model, query, [1, 2], 5)
    assert len(moved) == 1
    assert keys.tolist() == exact(model, query, FACTS[:200], vectors, 5)[0]
    assert small.tolist() == exact(model, query, FACTS[:100], vectors[:100], 5)[0]
    assert INLINE_ROWS > 100


async def test_nearer_vectors_elsewhere_do_not_take_a_place(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1, seed=9)[0]
    near = np.repeat(query[None, :], 500, axis=0)
    far = random_vectors(4, seed=3)
    await put(database, model, 1, FACTS[:500], near)
    await put(database, model, 2, FACTS[500:504], far)
    keys, _ = await index.search(model, query, [2], 4)
    assert sorted(keys.tolist()) == FACTS[500:504]


async def test_other_kinds_of_record_do_not_take_a_place(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1, seed=9)[0]
    messages = [Ref(Kind.MESSAGE, n).key for n in range(1, 101)]
    await put(database, model, 1, messages, np.repeat(query[None, :], 100, axis=0))
    await put(database, model, 1, FACTS[:3], random_vectors(3, seed=3))
    keys, _ = await index.search(model, query, [1], 3, kinds=(Kind.FACT,))
    assert sorted(keys.tolist()) == FACTS[:3]
    keys, _ = await index.search(model, query, [1], 200)
    assert len(keys) == 103


async def test_gives_fewer_than_k_when_there_are_fewer(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1)[0]
    await put(database, model, 1, FACTS[:3], random_vectors(3))
    for ids, k, count in (([1], 10, 3), ([2], 10, 0), ([], 10, 0), ([1], 0, 0), ([1, 2], 2, 2)):
        keys, scores = await index.search(model, query, ids, k)
        assert (len(keys), len(scores)) == (count, count)


async def test_equal_scores_come_newest_first(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1)[0]
    await put(database, model, 1, FACTS[:2], np.repeat(query[None, :], 2, axis=0))
    await put(database, model, 2, FACTS[2:4], np.repeat(query[None, :], 2, axis=0))
    keys, _ = await index.search(model, query, [1, 2], 4)
    assert keys.tolist() == sorted(FACTS[:4], reverse=True)


@pytest.mark.parametrize(
    "query",
    [
        np.zeros(DIMENSION, dtype=np.float32),
        np.full(DIMENSION, np.nan, dtype=np.float32),
        np.full(DIMENSION, np.inf, dtype=np.float32),
        np.ones(DIMENSION - 1, dtype=np.float32),
        np.ones((1, DIMENSION), dtype=np.float32),
    ],
)
async def test_a_query_that_is_none_is_refused(
    database: Database, model: Model, index: VectorIndex, query: Vectors
) -> None:
    await put(database, model, 1, FACTS[:3], random_vectors(3))
    with pytest.raises(InvalidVector):
        await index.search(model, query, [1], 3)


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(DIMENSION, dtype=np.float32),
        np.full(DIMENSION, np.nan, dtype=np.float32),
        np.full(DIMENSION, -np.inf, dtype=np.float32),
        np.ones(DIMENSION + 1, dtype=np.float32),
    ],
)
async def test_a_vector_that_is_none_is_not_stored_nor_its_neighbours(
    database: Database, model: Model, index: VectorIndex, vector: Vectors
) -> None:
    def work(session: Session) -> None:
        good = Item(1, FACTS[0], "good", random_vectors(1)[0])
        embeddings.put(session, model, [good, Item(1, FACTS[1], "bad", vector)])

    with pytest.raises(InvalidVector):
        await database.write(work)
    keys, _ = await index.search(model, random_vectors(1)[0], [1], 3)
    assert keys.tolist() == []


async def test_vectors_are_normalised_on_the_way_in(database: Database, model: Model) -> None:
    await put(database, model, 1, FACTS[:1], random_vectors(1) * 7)
    _, stored = await database.read(lambda s: embeddings.load(s, 1, model))
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(stored, random_vectors(1), atol=1e-6)


# -- never older than SQL --------------------------------------------------------------------------


async def test_a_change_in_sql_is_seen_by_the_next_search(
    database: Database, model: Model, index: VectorIndex
) -> None:
    vectors, query = random_vectors(3), random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:2], vectors[:2])
    assert len((await index.search(model, query, [1], 9))[0]) == 2
    await put(database, model, 1, FACTS[2:3], vectors[2:])
    assert len((await index.search(model, query, [1], 9))[0]) == 3
    await database.write(lambda s: embeddings.remove(s, 1, FACTS[0]))
    assert sorted((await index.search(model, query, [1], 9))[0].tolist()) == FACTS[1:3]


async def test_a_change_by_another_process_is_seen_by_the_next_search(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:2], random_vectors(2))
    await index.search(model, query, [1], 9)
    other = Database(str(database.url))
    await put(other, model, 1, FACTS[2:3], random_vectors(1, seed=4))
    other.close()
    assert len((await index.search(model, query, [1], 9))[0]) == 3


async def test_a_change_handed_over_needs_no_rebuilding(
    database: Database, model: Model, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:5], random_vectors(5))
    await index.search(model, query, [1], 9)
    monkeypatch.setattr(index_module, "_build", None)  # building again would fail
    changed = random_vectors(2, seed=5)
    version = await put(database, model, 1, FACTS[4:6], changed)
    index.apply(model, 1, version, added=list(zip(FACTS[4:6], changed, strict=True)))
    await database.write(lambda s: embeddings.remove(s, 1, FACTS[0]))
    version = await database.read(lambda s: embeddings.version(s, 1, model.id))
    index.apply(model, 1, version, removed=[FACTS[0]])
    everything = np.concatenate([random_vectors(5)[1:4], changed])
    keys, scores = await index.search(model, query, [1], 9)
    expected = exact(model, query, FACTS[1:6], everything, 9)
    assert keys.tolist() == expected[0]
    np.testing.assert_allclose(scores, expected[1], atol=1e-5)


async def test_a_change_out_of_turn_leads_to_rebuilding(
    database: Database, model: Model, index: VectorIndex
) -> None:
    query = random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:1], random_vectors(1))
    await index.search(model, query, [1], 9)
    later = random_vectors(2, seed=5)
    first = await put(database, model, 1, FACTS[1:2], later[:1])
    second = await put(database, model, 1, FACTS[2:3], later[1:])
    index.apply(model, 1, second, added=[(FACTS[2], later[1])])
    index.apply(model, 1, first, added=[(FACTS[1], later[0])])
    assert sorted((await index.search(model, query, [1], 9))[0].tolist()) == FACTS[:3]


async def test_a_search_after_a_write_is_not_served_by_a_building_begun_before_it(
    database: Database, model: Model, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:1], random_vectors(1))
    loop = asyncio.get_running_loop()
    built, go_on = asyncio.Event(), asyncio.Event()
    real = index_module._build

    async def wait() -> None:
        built.set()
        await go_on.wait()

    def slow(session: Session, audience_id: int, model: Model) -> object:
        result = real(session, audience_id, model)
        asyncio.run_coroutine_threadsafe(wait(), loop).result()
        return result

    monkeypatch.setattr(index_module, "_build", slow)
    before = asyncio.create_task(index.search(model, query, [1], 9))
    await built.wait()
    await put(database, model, 1, FACTS[1:2], random_vectors(1, seed=4))
    after = asyncio.create_task(index.search(model, query, [1], 9))
    await asyncio.sleep(0)
    go_on.set()
    await before
    assert sorted((await after)[0].tolist()) == FACTS[:2]


async def test_searches_at_once_share_one_building(
    database: Database, model: Model, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(database, model, 1, FACTS[:50], random_vectors(50))
    calls: list[int] = []
    real = index_module._build

    def counted(session: Session, audience_id: int, model: Model) -> object:
        calls.append(audience_id)
        return real(session, audience_id, model)

    monkeypatch.setattr(index_module, "_build", counted)
    query = random_vectors(1, seed=9)[0]
    found = await asyncio.gather(*(index.search(model, query, [1], 5) for _ in range(20)))
    assert calls == [1]
    assert len({tuple(keys.tolist()) for keys, _ in found}) == 1


async def test_a_cancelled_search_does_not_spoil_the_building_for_others(
    database: Database, model: Model, index: VectorIndex
) -> None:
    await put(database, model, 1, FACTS[:50], random_vectors(50))
    query = random_vectors(1, seed=9)[0]
    first = asyncio.create_task(index.search(model, query, [1], 5))
    second = asyncio.create_task(index.search(model, query, [1], 5))
    await asyncio.sleep(0)
    first.cancel()
    keys, _ = await second
    assert len(keys) == 5


async def test_copies_stay_within_their_budget_and_results_right(
    database: Database, model: Model
) -> None:
    vectors = random_vectors(400)
    for place in range(4):
        part = slice(place * 100, place * 100 + 100)
        await put(database, model, place + 1, FACTS[part], vectors[part])
    held = (DIMENSION * 4 + 8 + 48) * 100
    index = VectorIndex(database, budget=2 * held)
    query = random_vectors(1, seed=9)[0]
    for _ in range(2):
        for place in range(4):
            part = slice(place * 100, place * 100 + 100)
            keys, _ = await index.search(model, query, [place + 1], 3)
            assert keys.tolist() == exact(model, query, FACTS[part], vectors[part], 3)[0]
            assert index._bytes <= 2 * held
    keys, _ = await index.search(model, query, [1, 2, 3, 4], 5)
    assert keys.tolist() == exact(model, query, FACTS[:400], vectors, 5)[0]


async def test_an_audience_larger_than_the_budget_is_still_served(
    database: Database, model: Model
) -> None:
    vectors, query = random_vectors(100), random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:100], vectors)
    keys, _ = await VectorIndex(database, budget=1).search(model, query, [1], 3)
    assert keys.tolist() == exact(model, query, FACTS[:100], vectors, 3)[0]


async def test_searches_beside_writes_give_whole_results(
    database: Database, model: Model, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "INLINE_ROWS", 0)  # every search in another thread
    vectors, query = random_vectors(400), random_vectors(1, seed=9)[0]
    await put(database, model, 1, FACTS[:100], vectors[:100])

    async def write() -> None:
        for n in range(100, 300):
            version = await put(database, model, 1, FACTS[n : n + 1], vectors[n : n + 1])
            index.apply(model, 1, version, added=[(FACTS[n], vectors[n])])

    async def search() -> None:
        for _ in range(150):
            keys, scores = await index.search(model, query, [1], 20)
            assert len(set(keys.tolist())) == 20
            where = [FACTS.index(key) for key in keys.tolist()]
            expected = exact(model, query, keys.tolist(), vectors[where], 20)
            np.testing.assert_allclose(scores, expected[1], atol=1e-5)

    await asyncio.gather(write(), search(), search())
    keys, _ = await index.search(model, query, [1], 20)
    assert keys.tolist() == exact(model, query, FACTS[:300], vectors[:300], 20)[0]


async def test_the_nearest_of_each_kind_are_those_of_a_search_for_it(
    database: Database, model: Model, index: VectorIndex
) -> None:
    keys = [n << 2 | kind for n in range(1, 30) for kind in (Kind.FACT, Kind.MESSAGE)]
    vectors, query = random_vectors(len(keys)), random_vectors(1, seed=9)[0]
    await put(database, model, 1, keys[:40], vectors[:40])
    await put(database, model, 2, keys[40:], vectors[40:])
    wanted = {Kind.FACT: 5, Kind.MESSAGE: 7, Kind.PASSAGE: 3}
    found = await index.nearest(model, query, [1, 2], wanted)
    assert {kind: len(of_kind) for kind, of_kind in found.items()} == {**wanted, Kind.PASSAGE: 0}
    for kind, most in wanted.items():
        alone, _ = await index.search(model, query, [1, 2], most, [kind])
        assert found[kind].tolist() == alone.tolist()
    nowhere = await index.nearest(model, query, [], wanted)
    assert [len(of_kind) for of_kind in nowhere.values()] == [0, 0, 0]

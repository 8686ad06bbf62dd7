"""Ten thousand random changes and searches against an oracle that is plainly right.

The oracle keeps every vector in a list and multiplies them all. Whatever was added, superseded
and forgotten, in whatever order, a search must give exactly what the oracle gives for the
readable places: nothing from outside them, and k results whenever k exist.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import event

from memory.long_term import Actor
from memory.store import audiences
from memory.store.database import Database
from memory.types import (
    Audience,
    Evidence,
    Kind,
    Message,
    NewFact,
    Origin,
    Readable,
    Ref,
    Span,
    Vector,
)
from tests.fakes import NOON, TARO, FakeEmbedder, Mind, SettableClock

RUNS, OPERATIONS = 4, 2_600
PLACES = tuple(Audience("console", f"tenant-{n % 2}", f"place-{n}") for n in range(6))
WORDS = "osaka kyoto tea coffee cats dogs budget meeting friday monday 大阪 京都 猫 犬 会議 予算".split()
SUBJECTS = tuple(f"subject-{n}" for n in range(40))
CELLS = 60
"""Facts that one message can support, each by words of its own."""


@dataclass(slots=True)
class Known:
    """What the oracle knows of one fact."""

    id: int
    text: str
    place: Audience
    subject: str
    attribute: str | None
    vector: Vector
    superseded: bool = False
    cell: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Oracle:
    """All facts in a dictionary, searched one by one."""

    facts: dict[int, Known] = field(default_factory=dict)

    def search(self, mind: Mind, query: Vector, readable: Readable, k: int) -> list[int]:
        """Ids, best first, then newest first: by plain products of centred vectors."""
        mine = [known for known in self.facts.values() if known.place in readable]
        if not mine:
            return []
        ready = mind.embedding._serving
        assert ready is not None
        center = ready.model.calibration.center
        scores = center(np.stack([known.vector for known in mine])) @ center(query[None, :])[0]
        order = np.lexsort((-np.array([known.id for known in mine]), -scores.round(5)))
        return [mine[i].id for i in order[:k]]

    def add(self, new: Known) -> None:
        for known in self.facts.values():
            if (
                new.attribute is not None
                and (known.place, known.subject, known.attribute)
                == (new.place, new.subject, new.attribute)
            ):
                known.superseded = True
        self.facts[new.id] = new


@dataclass(slots=True)
class Paper:
    """Messages to draw evidence from, a few words for each fact."""

    mind: Mind
    open: dict[Audience, tuple[Message, int]] = field(default_factory=dict)

    async def cell(self, place: Audience) -> tuple[Message, Span]:
        message, used = self.open.get(place, (None, CELLS))
        if message is None or used == CELLS:
            text = " ".join(f"cell{n:02}" for n in range(CELLS))
            message, used = await self.mind.hear(text, audience=place), 0
        self.open[place] = (message, used + 1)
        return message, Span(used * 7, used * 7 + 6)


def sentence(rng: random.Random, number: int) -> str:
    """Words that many facts share, and one that is this fact's own."""
    return " ".join([*rng.choices(WORDS, k=rng.randint(1, 4)), f"n{number}"])


@pytest.fixture
def hasty(database: Database) -> Database:
    """A database that does not wait for the disk: nothing here is about crashes."""

    @event.listens_for(database.engine, "connect", insert=False)
    def _prepare(connection: object, _record: object) -> None:
        connection.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]

    return database


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RUNS))
async def test_results_equal_those_of_the_oracle(
    hasty: Database, clock: SettableClock, embedder: FakeEmbedder, seed: int
) -> None:
    rng = random.Random(seed)
    mind = Mind.over(hasty, clock, embedder, budget=40_000)  # too small: indexes come and go
    await mind.embedding.open()
    oracle, paper, done = Oracle(), Paper(mind), Counter[str]()
    for number in range(OPERATIONS):
        clock.now = NOON + timedelta(seconds=number)
        (what,) = rng.choices(
            ("add", "supersede", "forget", "search", "recall"), weights=(32, 12, 14, 36, 6)
        )
        done[what] += 1
        if what in {"add", "supersede"}:
            await _add(rng, mind, oracle, paper, number, supersede=what == "supersede")
        elif what == "forget" and oracle.facts:
            gone = rng.choice(list(oracle.facts.values()))
            receipt = await mind.memory.forget([gone.id], Actor(TARO), Readable.of(gone.place))
            assert receipt.facts == 1
            del oracle.facts[gone.id]
        elif what == "search":
            await _search(rng, mind, oracle, number)
        elif what == "recall":
            await _recall(rng, mind, oracle, number)
    assert done.total() == OPERATIONS
    await _same_state(mind, oracle)
    await mind.embedding.drain()
    assert await mind.problems() == []


def test_there_are_ten_thousand_operations() -> None:
    assert RUNS * OPERATIONS >= 10_000


async def _add(
    rng: random.Random,
    mind: Mind,
    oracle: Oracle,
    paper: Paper,
    number: int,
    *,
    supersede: bool,
) -> None:
    place, subject = rng.choice(PLACES), rng.choice(SUBJECTS)
    attribute = "home" if supersede else None
    text = sentence(rng, number)
    message, span = await paper.cell(place)
    fact = NewFact(
        text=text,
        subject=subject,
        speaker=TARO,
        audience=place,
        language="zz",  # of no language that sentences are compared in: all stay apart
        origin=Origin.STATED,
        evidence=(Evidence(message.id, span),),
        said_at=mind.clock(),
        attribute=attribute,
    )
    (outcome,) = await mind.memory.remember([fact])
    assert not outcome.known
    vector = mind.embedder.vector(text)
    oracle.add(Known(outcome.fact.id, text, place, subject, attribute, vector))


def _where(rng: random.Random) -> Readable:
    return Readable(frozenset(rng.sample(PLACES, rng.randint(0, len(PLACES)))))


async def _search(rng: random.Random, mind: Mind, oracle: Oracle, number: int) -> None:
    readable, k = _where(rng), rng.choice((1, 3, 10, 50, 2_000))
    query = mind.embedder.vector(sentence(rng, rng.randrange(number + 1)))
    ids = await mind.database.read(lambda s: audiences.readable_ids(s, readable))
    ready = await mind.embedding.serving()
    assert ready is not None
    keys, scores = await mind.index.search(ready.model, query, list(ids), k, (Kind.FACT,))
    expected = oracle.search(mind, query, readable, k)
    found = [Ref.from_key(key).id for key in keys.tolist()]
    assert len(found) == len(expected), (number, "k results when k exist")
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    if found != expected:  # only where rounding made a tie
        center = ready.model.calibration.center
        centred = center(query[None, :])[0]
        for one, other in zip(found, expected, strict=True):
            pair = np.stack([oracle.facts[one].vector, oracle.facts[other].vector])
            a, b = (center(pair) @ centred).tolist()
            assert a == pytest.approx(b, abs=2e-5), (number, one, other)


async def _recall(rng: random.Random, mind: Mind, oracle: Oracle, number: int) -> None:
    readable, k = _where(rng), rng.choice((1, 5, 20))
    hits = await mind.memory.recall(sentence(rng, number), readable, k, kinds=(Kind.FACT,))
    exist = sum(known.place in readable for known in oracle.facts.values())
    assert len(hits) == min(k, exist), (number, "k results when k exist")
    assert len({hit.ref for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.audience in readable
        known = oracle.facts[hit.ref.id]
        assert (hit.text, hit.audience) == (known.text, known.place)
        if known.superseded:
            assert hit.fact is not None
            assert not hit.fact.is_current(mind.clock())


async def _same_state(mind: Mind, oracle: Oracle) -> None:
    """Everything that is left, place by place, and nothing else."""
    for place in PLACES:
        known = {k.id: k for k in oracle.facts.values() if k.place == place}
        stored = await mind.memory.facts_by_id(list(oracle.facts), Readable.of(place))
        assert {fact.id: fact.text for fact in stored} == {i: k.text for i, k in known.items()}
        for fact in stored:
            assert (fact.valid_until is not None) is known[fact.id].superseded
    count = mind.database.inline("SELECT count(*) FROM fact")
    assert count == [(len(oracle.facts),)]

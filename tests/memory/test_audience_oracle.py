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

from memory.long_term import Actor
from memory.store.database import Database
from memory.types import (
    Audience,
    Evidence,
    Kind,
    Message,
    NewFact,
    Origin,
    Person,
    Readable,
    Ref,
    Span,
    Vector,
)
from tests.fakes import NOON, TARO, FakeEmbedder, Mind, SettableClock

RUNS, OPERATIONS = 4, 2_600
PLACES = tuple(Audience("console", f"tenant-{n % 2}", f"place-{n}") for n in range(6))
WORDS = [
    "osaka",
    "kyoto",
    "tea",
    "coffee",
    "cats",
    "dogs",
    "budget",
    "meeting",
    "friday",
    "monday",
    "大阪",
    "京都",
    "猫",
    "犬",
    "会議",
    "予算",
]
HOUSEHOLDS = tuple(Person("console", "local", f"household-{n}") for n in range(40))
"""Those who move house again and again; every other fact is about somebody new."""

CELLS = 8
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
            if new.attribute is not None and (known.place, known.subject, known.attribute) == (
                new.place,
                new.subject,
                new.attribute,
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RUNS))
async def test_results_equal_those_of_the_oracle(
    database: Database, clock: SettableClock, embedder: FakeEmbedder, seed: int
) -> None:
    rng = random.Random(seed)
    mind = Mind.over(database, clock, embedder, budget=40_000)  # too small: indexes come and go
    await mind.embedding.open()
    oracle, paper, done = Oracle(), Paper(mind), Counter[str]()
    while done.total() < OPERATIONS:
        clock.now = NOON + timedelta(seconds=done.total())
        (what,) = rng.choices(("add", "forget", "search", "recall"), weights=(10, 5, 40, 4))
        if what == "add":
            done += await _add(rng, mind, oracle, paper, done.total())
        elif what == "forget":
            done[what] += await _forget(rng, mind, oracle)
        elif what == "search":
            done[what] += 1
            await _search(rng, mind, oracle, done.total())
        else:
            done[what] += 1
            await _recall(rng, mind, oracle, done.total())
    assert min(done.values()) > OPERATIONS / 50, done
    await _same_state(mind, oracle)
    await mind.embedding.drain()
    assert await mind.problems() == []


def test_there_are_ten_thousand_operations() -> None:
    assert RUNS * OPERATIONS >= 10_000


async def _add(
    rng: random.Random, mind: Mind, oracle: Oracle, paper: Paper, number: int
) -> Counter[str]:
    """Remember a few facts at once; those with an attribute supersede what they follow."""
    new: list[NewFact] = []
    for n in range(rng.randint(1, 8)):
        place, moves = rng.choice(PLACES), rng.random() < 0.33
        somebody = Person("console", "local", f"somebody-{number + n}")
        message, span = await paper.cell(place)
        new.append(
            NewFact(
                text=sentence(rng, number + n),
                subject=rng.choice(HOUSEHOLDS) if moves else somebody,
                speaker=TARO,
                audience=place,
                language="zz",  # of no language that sentences are compared in: all stay apart
                origin=Origin.STATED,
                evidence=(Evidence(message.id, span),),
                said_at=mind.clock(),
                attribute="home" if moves else None,
            )
        )
    for fact, outcome in zip(new, await mind.memory.remember(new), strict=True):
        assert not outcome.known
        oracle.add(
            Known(
                outcome.fact.id,
                fact.text,
                fact.audience,
                str(fact.subject),
                fact.attribute,
                mind.embedder.vector(fact.text),
            )
        )
    superseding = sum(fact.attribute is not None for fact in new)
    return Counter(add=len(new) - superseding, supersede=superseding)


async def _forget(rng: random.Random, mind: Mind, oracle: Oracle) -> int:
    gone = rng.sample(list(oracle.facts.values()), min(len(oracle.facts), rng.randint(1, 6)))
    readable = Readable(frozenset(known.place for known in gone))
    receipt = await mind.memory.forget([known.id for known in gone], Actor(TARO), readable)
    assert receipt.facts == len(gone)
    for known in gone:
        del oracle.facts[known.id]
    return len(gone)


def _where(rng: random.Random) -> Readable:
    return Readable(frozenset(rng.sample(PLACES, rng.randint(0, len(PLACES)))))


async def _search(rng: random.Random, mind: Mind, oracle: Oracle, number: int) -> None:
    readable, k = _where(rng), rng.choice((1, 3, 10, 50, 2_000))
    query = mind.embedder.vector(sentence(rng, rng.randrange(number + 1)))
    names = [str(place) for place in readable]
    marks = ",".join("?" * len(names))
    ids = [
        id_
        for (id_,) in mind.database.inline(
            f"SELECT id FROM audience WHERE name IN ({marks})", names
        )
    ]
    ready = await mind.embedding.serving()
    assert ready is not None
    keys, scores = await mind.index.search(ready.model, query, ids, k, (Kind.FACT,))
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

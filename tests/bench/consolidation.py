"""`python -m tests.bench.consolidation`: a round over 20,000 facts of which 30 % are repeated.

Prints seconds, merges, and how many guarded pairs were brought together (must be none).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import insert
from sqlmodel import Session

import migrations
from bot.consolidate import Consolidator
from bot.summaries import Summaries
from memory import guards, lexical
from memory.retention import Limits
from memory.store import audiences, embeddings, texts
from memory.store.database import Database
from memory.store.embeddings import Item
from memory.store.text_keys import text_key
from memory.tables import EvidenceRow, FactRow, MessageRow
from memory.types import Kind, Readable, Ref
from tests.fakes import GENERAL, NOON, FakeEmbedder, Mind, SettableClock

THINGS = """cats dogs tea coffee tennis chess sushi curry jazz hiking sailing pottery novels gardens
trains museums bread cheese opera films maps stars rivers bikes clocks piano drums guitars poems
games noodles peaches melons olives ferns roses tulips kites boats tents lamps vases quilts
masks""".split()  # noqa: SIM905 - a list of words reads better as words
PLACES = ["Osaka", "Kyoto", "Sapporo", "Nagoya", "Fukuoka", "Sendai", "Kobe", "Nara", "Hiroshima"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a person, which of the others it repeats, and which it must not meet."""

    person: int
    text: str
    repeats: int | None = None


def statements(count: int, repeated: float, people: int, seed: int = 1) -> list[Statement]:
    """`count` sentences: a share repeats another in other words; the rest differ, many of them
    only in what a guard watches (number, negation, name, direction)."""
    chance = random.Random(seed)
    made: list[Statement] = []
    seen: set[tuple[int, str]] = set()
    while len(made) < count * (1 - repeated):
        person = chance.randrange(people)
        thing, place, number = chance.choice(THINGS), chance.choice(PLACES), chance.randrange(2, 99)
        other = chance.choice(PLACES)
        text = chance.choice(
            [
                f"I like {thing}",
                f"I do not like {thing}",
                f"My train to {place} leaves at {number % 12 + 1} pm",
                f"I have {number} {thing}",
                f"I moved my {thing} from {place} to {other}",
                f"{place} beat {other} with {number} points",
                f"{thing}の値段は{number}円です",
                f"{place}で{thing}を{number}個買いました",
            ]
        )
        if (person, text) not in seen and place != other:
            seen.add((person, text))
            made.append(Statement(person, text))
    originals = len(made)
    while len(made) < count:
        index = chance.randrange(originals)
        said = made[index]
        again = _again(said.text, chance)
        if (said.person, again) not in seen:
            seen.add((said.person, again))
            made.append(Statement(said.person, again, index))
    return made


def _again(text: str, chance: random.Random) -> str:
    changes = [
        ("I like ", "I love "), ("I do not like ", "I don't like "), ("I have ", "I've got "),
        ("です", "だ"), ("買いました", "買った"), ("leaves at", "departs at"),
        ("My train", "my train"), ("with", "by"), ("I moved", "I've moved"),
    ]  # fmt: skip
    fitting = [(old, new) for old, new in changes if old in text]
    old, new = chance.choice(fitting) if fitting else ("", "")
    ending = chance.choice(["", "", "!", "!!", " …"])
    return (text.replace(old, new) if old else text) + ending


def fill(session: Session, mind: Mind, said: list[Statement], embedder: FakeEmbedder) -> list[int]:
    """Store the sentences as facts, in bulk. Gives their ids, in order."""
    audience_id = audiences.ensure_id(session, GENERAL)
    model = embeddings.serving_model(session)
    assert model is not None
    ids = range(1, len(said) + 1)
    session.execute(
        insert(MessageRow),
        [
            {
                "id": id_, "audience_id": audience_id, "platform_id": f"m{id_}",
                "conversation": f"c{id_ % 50}", "role": "user",
                "author": f"console:local:p{item.person}", "author_name": f"p{item.person}",
                "text": item.text, "text_key": text_key(item.text), "sent_at": NOON,
                "stored_at": NOON, "revision": "", "time_zone": "UTC", "mentions": {},
                "findable": True, "expired": False,
            }
            for id_, item in zip(ids, said, strict=True)
        ],
    )  # fmt: skip
    session.execute(
        insert(FactRow),
        [
            {
                "id": id_, "audience_id": audience_id, "subject": f"console:local:p{item.person}",
                "speaker": f"console:local:p{item.person}", "text": item.text,
                "text_key": text_key(item.text), "origin": "stated",
                "language": "en" if item.text.isascii() or "…" in item.text else "ja",
                "negated": " not " in item.text or "n't" in item.text, "said_at": NOON,
                "learned_at": NOON, "confirmed": 1,
            }
            for id_, item in zip(ids, said, strict=True)
        ],
    )  # fmt: skip
    session.execute(
        insert(EvidenceRow),
        [
            {"fact_id": id_, "message_id": id_, "start": 0, "end": len(item.text)}
            for id_, item in zip(ids, said, strict=True)
        ],
    )
    keys = [Ref(kind, id_).key for id_ in ids for kind in (Kind.FACT, Kind.MESSAGE)]
    for start in range(0, len(keys), 500):
        found = texts.by_key(session, keys[start : start + 500]).items()
        lexical.add_many(session, [lexical.NewEntry(audience_id, key, text) for key, text in found])
        items = [Item(audience_id, key, text, embedder.vector(text)) for key, text in found]
        embeddings.put(session, model, items)
    return list(ids)


async def measure(folder: Path, count: int, people: int) -> dict[str, float]:
    """Fill a database, consolidate twice, and judge the result."""
    database = Database(f"sqlite:///{folder / 'oboete.db'}")
    database.prepare()
    migrations.upgrade(database.engine)
    embedder = FakeEmbedder(dimension=384)
    mind = Mind.over(database, SettableClock(), embedder)
    await mind.embedding.open()
    said = statements(count, 0.3, people)
    ids = await database.write(lambda s: fill(s, mind, said, embedder))
    consolidator = Consolidator(
        database, mind.embedding, Summaries(database, None, mind.clock), None, Limits(), mind.clock
    )
    started = time.perf_counter()
    first = await consolidator.run(full=True)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    second = await consolidator.run(full=True)
    again = time.perf_counter() - started
    started = time.perf_counter()
    await consolidator.run()
    nightly = time.perf_counter() - started
    guarded, repeats = await _judge(mind, said, ids)
    problems = await mind.problems()
    database.close()
    return {
        "facts": count,
        "repeated": sum(item.repeats is not None for item in said),
        "seconds": round(seconds, 1),
        "merged": first.merged,
        "repeats merged": repeats,
        "guarded pairs merged": guarded,
        "second round seconds": round(again, 1),
        "second round merged": second.merged,
        "a night without news, seconds": round(nightly, 1),
        "problems": len(problems),
    }


async def _judge(mind: Mind, said: list[Statement], ids: list[int]) -> tuple[int, int]:
    """How many guarded pairs share a fact now, and how many repeats found their original."""
    known = await mind.memory.facts_by_id(ids, Readable.of(GENERAL))
    holder = {item.message_id: fact.id for fact in known for item in fact.evidence}
    groups: dict[int, list[int]] = {}
    for message_id, fact_id in holder.items():
        groups.setdefault(fact_id, []).append(message_id)
    guarded = 0
    for members in groups.values():
        quoted = [said[m - 1].text for m in members]
        language = "en" if quoted[0].isascii() or "…" in quoted[0] else "ja"
        guarded += sum(
            not guards.compare(a, b, language).can_be_same
            for n, a in enumerate(quoted)
            for b in quoted[n + 1 :]
        )
    found = sum(
        item.repeats is not None and holder[n] == holder[item.repeats + 1]
        for n, item in enumerate(said, start=1)
    )
    return guarded, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=20_000)
    parser.add_argument("--people", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, value in asyncio.run(measure(Path(folder), given.facts, given.people)).items():
            print(f"{name:32} {value}")


if __name__ == "__main__":
    main()

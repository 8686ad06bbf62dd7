"""Forgetting one person among ten thousand: all of theirs goes, and nothing else."""

from __future__ import annotations

import pytest
from sqlalchemy import func, insert
from sqlmodel import Session, col, select

from memory.store.text_keys import text_key
from memory.tables import (
    AudienceRow,
    EmbeddingModelRow,
    EmbeddingQueueRow,
    EvidenceRow,
    FactRow,
    LexicalEntryRow,
    LexicalStatisticsRow,
    MessageRow,
    PostingRow,
    TraceRow,
)
from memory.tokens import terms
from memory.types import Audience, Kind, Person, Readable, Ref
from tests.fakes import NOON, Mind, bytes_of, encodings

PEOPLE = 10_000
EACH = 2
"""Messages of each person, and facts: one in English, one in Japanese."""
PLACES = 20


def person(number: int) -> Person:
    return Person("console", "local", f"user{number}")


def marker(number: int) -> str:
    """A word that nothing else of the store holds."""
    return f"mark{number:05d}qz"


def texts(number: int) -> tuple[str, str]:
    return f"I own the {marker(number)}", f"{marker(number)}を持っています"


def fill(session: Session) -> None:
    """Rows as `LongTermMemory` would write them, in bulk."""
    audiences = [{"id": n + 1, "name": f"console:local:room{n}"} for n in range(PLACES)]
    session.execute(insert(AudienceRow), audiences)
    (model_id,) = session.exec(select(EmbeddingModelRow.id)).all()
    said, known, held, entries, postings, waiting = [], [], [], [], [], []
    totals = {n + 1: [0, 0] for n in range(PLACES)}
    for number in range(PEOPLE):
        who, room = str(person(number)), number % PLACES + 1
        for at, text in enumerate(texts(number)):
            id_ = number * EACH + at + 1
            common = {"text": text, "text_key": text_key(text)}
            said.append(
                {
                    "id": id_,
                    "audience_id": room,
                    "platform_id": f"m{id_}",
                    "conversation": f"talk{room}",
                    "role": "user",
                    "author": who,
                    "author_name": f"user{number}",
                    "sent_at": NOON,
                    "stored_at": NOON,
                    **common,
                }
            )
            known.append(
                {
                    "id": id_,
                    "audience_id": room,
                    "subject": who,
                    "speaker": who,
                    "language": "en" if at == 0 else "ja",
                    "origin": "stated",
                    "said_at": NOON,
                    "learned_at": NOON,
                    **common,
                }
            )
            held.append({"fact_id": id_, "message_id": id_, "start": 0, "end": len(text)})
            for kind, words in ((Kind.FACT, text), (Kind.MESSAGE, f"user{number}: {text}")):
                key = Ref(kind, id_).key
                counted: dict[str, int] = {}
                for term in terms(words):
                    counted[term] = counted.get(term, 0) + 1
                length = sum(counted.values())
                entries.append(
                    {
                        "audience_id": room,
                        "owner": key,
                        "length": length,
                        "terms": "\x1f".join(counted),
                    }
                )
                postings += [
                    {
                        "audience_id": room,
                        "term": term,
                        "owner": key,
                        "frequency": times,
                        "length": length,
                    }
                    for term, times in counted.items()
                ]
                waiting.append(
                    {"model_id": model_id, "owner": key, "audience_id": room, "due_at": NOON}
                )
                totals[room][0] += 1
                totals[room][1] += length
    statistics = [
        {"audience_id": room, "documents": count, "length": length}
        for room, (count, length) in totals.items()
    ]
    for table, rows in (
        (MessageRow, said),
        (FactRow, known),
        (EvidenceRow, held),
        (LexicalEntryRow, entries),
        (PostingRow, postings),
        (LexicalStatisticsRow, statistics),
        (EmbeddingQueueRow, waiting),
    ):
        session.execute(insert(table), rows)


def counts(session: Session) -> dict[str, int]:
    tables = (MessageRow, FactRow, EvidenceRow, LexicalEntryRow, EmbeddingQueueRow, TraceRow)
    return {
        table.__name__: session.exec(select(func.count()).select_from(table)).one()
        for table in tables
    }


@pytest.mark.slow
async def test_one_of_ten_thousand_people_goes_without_a_trace_and_nobody_else_loses_anything(
    mind: Mind,
) -> None:
    await mind.database.write(fill)
    assert await mind.problems() == []
    before = await mind.database.read(counts)
    chosen, neighbour = 4_321, 4_341
    assert chosen % PLACES == neighbour % PLACES, "they share a room"
    room = Audience("console", "local", f"room{chosen % PLACES}")
    await mind.memory.add_trace(room, person(chosen), None, None, {"query": marker(chosen)}, [])
    path = mind.database.path
    assert path is not None
    assert marker(chosen).encode() in bytes_of(path.parent)

    receipt = await mind.memory.forget_person(person(chosen))

    assert (receipt.facts, receipt.messages) == (EACH, EACH)
    left = bytes_of(path.parent)
    words = [marker(chosen), *texts(chosen)]
    assert [name for name, form in encodings(words).items() if form in left] == []
    assert marker(neighbour).encode() in left
    after = await mind.database.read(counts)
    gone = {"MessageRow": 2, "FactRow": 2, "EvidenceRow": 2}
    assert after == {name: n - gone.get(name, 0) for name, n in before.items()} | {
        "LexicalEntryRow": before["LexicalEntryRow"] - 4,
        "EmbeddingQueueRow": before["EmbeddingQueueRow"] - 4,
    }
    everywhere = Readable(
        frozenset(Audience("console", "local", f"room{n}") for n in range(PLACES))
    )
    assert await mind.memory.facts_about(person(chosen), everywhere, past=True) == []
    others = await mind.database.read(
        lambda s: set(s.exec(select(FactRow.subject).where(col(FactRow.superseded_by).is_(None))))
    )
    assert others == {str(person(n)) for n in range(PEOPLE) if n != chosen}
    assert await mind.problems() == []

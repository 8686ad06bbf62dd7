"""Fills a new database in bulk, past the product's functions, which would take minutes.

The schema comes from the migrations and the terms from `memory.tokens`; a test holds what comes
out against the product's own checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, create_engine, insert

import migrations
from memory import tokens
from memory.store.database import Database
from memory.store.embeddings import Model, text_hash
from memory.store.facts import NAME_MARK
from memory.store.text_keys import text_key
from memory.tables import AudienceRow, EmbeddingModelRow, EvidenceRow, FactRow, MessageRow
from memory.types import Audience, Kind, Origin, Person, Ref, Role, Vectors
from tests.fakes import NOON

MODEL_ID = 1

SPEAKER = Person("console", "local", "taro")
"""Says every message of a conversation."""

SUBJECTS = 100
"""Whom or what the facts of a conversation are about."""

_BLOCK = 20_000


def room(audience_id: int) -> Audience:
    """The place with this id."""
    return Audience("console", "local", f"room{audience_id}")


@contextmanager
def new_database(url: str, audiences: int, model: Model) -> Iterator[Connection]:
    """One large transaction in a new database: no log, no waiting for the disk."""
    database = Database(url)
    database.prepare()
    migrations.upgrade(database.engine)
    database.close()
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = OFF")
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        connection.exec_driver_sql("PRAGMA cache_size = -262144")
        connection.exec_driver_sql("PRAGMA temp_store = MEMORY")
        ids = range(1, audiences + 1)
        connection.execute(insert(AudienceRow), [{"id": i, "name": str(room(i))} for i in ids])
        connection.execute(
            insert(EmbeddingModelRow).values(
                id=MODEL_ID,
                name=model.name,
                dimension=model.dimension,
                mean=model.calibration.mean.tobytes(),
                background_mean=model.calibration.background_mean,
                background_std=model.calibration.background_std,
                serving=True,
            )
        )
        yield connection
        connection.commit()
    engine.dispose()


def directions(source: np.random.Generator, count: int, dimension: int) -> Vectors:
    """Random vectors of length 1, float32 (count, dimension)."""
    found = source.standard_normal((count, dimension), dtype=np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def vectors(
    connection: Connection, sizes: npt.NDArray[np.int64], kind: Kind, model: Model
) -> Vectors:
    """A vector for each record of the kind; gives them centred, float32 (n, d)."""
    source, total = np.random.default_rng(int(kind)), int(sizes.sum())
    audiences = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
    centred = np.empty((total, model.dimension), np.float32)
    hashed = text_hash("")
    for start in range(0, total, _BLOCK):
        end = min(start + _BLOCK, total)
        block = directions(source, end - start, model.dimension) + model.calibration.mean
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        centred[start:end] = model.calibration.center(block)
        connection.exec_driver_sql(
            "INSERT INTO embedding (audience_id, model_id, owner, text_hash, vector)"
            " VALUES (?, ?, ?, ?, ?)",
            [
                (audiences[row], model.id, Ref(kind, row + 1).key, hashed, vector.tobytes())
                for row, vector in enumerate(block, start=start)
            ],
        )
    connection.exec_driver_sql(
        "INSERT OR IGNORE INTO audience_version (audience_id, model_id, version)"
        " SELECT id, ?, 1 FROM audience",
        (model.id,),
    )
    return centred


def keywords(
    connection: Connection,
    sizes: npt.NDArray[np.int64],
    kinds: Sequence[Kind],
    texts: Sequence[str],
) -> None:
    """Keyword entries of the records of these kinds; number n has `texts[n % len(texts)]`."""
    connection.exec_driver_sql(
        "CREATE TEMP TABLE said (number INTEGER PRIMARY KEY, terms TEXT, length INTEGER)"
    )
    connection.exec_driver_sql(
        "CREATE TEMP TABLE word (number INTEGER, term TEXT, frequency INTEGER,"
        " PRIMARY KEY (number, term)) WITHOUT ROWID"
    )
    connection.exec_driver_sql(
        "CREATE TEMP TABLE record (audience_id INTEGER, owner INTEGER, number INTEGER)"
    )
    for number, text in enumerate(texts):
        found = Counter(tokens.terms(text))
        connection.exec_driver_sql(
            "INSERT INTO said VALUES (?, ?, ?)", (number, "\x1f".join(found), found.total())
        )
        connection.exec_driver_sql(
            "INSERT INTO word VALUES (?, ?, ?)",
            [(number, term, frequency) for term, frequency in found.items()],
        )
    audiences = np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()
    records = (
        (audience_id, Ref(kind, id_).key, id_ % len(texts))
        for id_, audience_id in enumerate(audiences, start=1)
        for kind in kinds
    )
    while block := list(islice(records, _BLOCK)):
        connection.exec_driver_sql("INSERT INTO record VALUES (?, ?, ?)", block)
    for statement in _KEYWORDS:
        connection.exec_driver_sql(statement)


_KEYWORDS = (
    "INSERT INTO posting (audience_id, term, owner, frequency, length)"
    " SELECT audience_id, term, owner, frequency, length"
    " FROM record JOIN said USING (number) JOIN word USING (number) ORDER BY 1, 2, 3",
    "INSERT INTO lexical_entry (audience_id, owner, length, terms)"
    " SELECT audience_id, owner, length, terms FROM record JOIN said USING (number) ORDER BY 1, 2",
    "INSERT INTO lexical_statistics (audience_id, documents, length)"
    " SELECT audience_id, count(*), sum(length) FROM lexical_entry GROUP BY 1",
)


def messages_and_facts(connection: Connection, count: int, texts: Sequence[str]) -> None:
    """Messages a minute apart in the first room, and a fact in all the words of each."""
    for start in range(1, count + 1, _BLOCK):
        ids = range(start, min(start + _BLOCK, count + 1))
        said = [
            (id_, texts[id_ % len(texts)], NOON - timedelta(minutes=count - id_)) for id_ in ids
        ]
        connection.execute(
            insert(MessageRow),
            [
                {
                    "id": id_,
                    "audience_id": 1,
                    "platform_id": f"m{id_}",
                    "conversation": str(room(1)),
                    "role": Role.USER.value,
                    "author": str(SPEAKER),
                    "author_name": SPEAKER.name,
                    "text": text,
                    "text_key": text_key(text),
                    "sent_at": moment,
                    "stored_at": moment,
                    "revision": "",
                    "time_zone": "UTC",
                    "mentions": {},
                    "findable": True,
                    "expired": False,
                }
                for id_, text, moment in said
            ],
        )
        connection.execute(
            insert(FactRow),
            [
                {
                    "id": id_,
                    "audience_id": 1,
                    "subject": f"{NAME_MARK}subject {id_ % SUBJECTS}",
                    "speaker": str(SPEAKER),
                    "text": text,
                    "text_key": text_key(text),
                    "language": "en" if text.isascii() else "ja",
                    "origin": Origin.EXTRACTED.value,
                    "negated": False,
                    "said_at": moment,
                    "learned_at": moment,
                    "confirmed": 1,
                }
                for id_, text, moment in said
            ],
        )
        connection.execute(
            insert(EvidenceRow),
            [
                {"fact_id": id_, "message_id": id_, "start": 0, "end": len(text)}
                for id_, text, _ in said
            ],
        )

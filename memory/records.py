"""The entries a record has besides its own row: keyword postings, vectors, a place in the queue.

Every write of a fact, message or chunk goes through here, in the transaction of the row itself,
so that SQL, keyword entries and vectors cannot disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from memory import lexical, passages
from memory.store import embeddings, texts
from memory.store.embeddings import Item, Model
from memory.types import Kind, Ref, Vector


def index(
    session: Session,
    audience_id: int,
    ref: Ref,
    text: str,
    now: datetime,
    *,
    vector: tuple[Model, Vector] | None = None,
) -> int | None:
    """Make a record findable, in place of what it was findable by before.

    Models without a vector at hand get the text queued. Gives the audience's version for the
    model of `vector`, or None without one.
    """
    lexical.add(session, audience_id, ref.key, text)
    if not ref.kind.is_embedded:
        return None
    for model_id in embeddings.model_ids(session):
        if vector is not None and model_id == vector[0].id:
            embeddings.put(session, vector[0], [Item(audience_id, ref.key, text, vector[1])])
        else:
            embeddings.enqueue(session, model_id, audience_id, ref.key, now)
    if vector is None:
        return None
    return embeddings.version(session, audience_id, vector[0].id)


def index_stored(session: Session, refs: Sequence[tuple[int, Ref]], now: datetime) -> None:
    """Make stored records findable, given as (audience id, ref), by the texts they have.

    For many at once, none of which has entries yet. Vectors are queued.
    """
    stored = texts.by_key(session, [ref.key for _, ref in refs])
    entries = [
        lexical.NewEntry(audience_id, ref.key, stored[ref.key])
        for audience_id, ref in refs
        if ref.key in stored
    ]
    lexical.add_many(session, entries)
    owners = [(e.audience_id, e.key) for e in entries if Ref.from_key(e.key).kind.is_embedded]
    for model_id in embeddings.model_ids(session):
        embeddings.enqueue_many(session, model_id, owners, now)


def index_chunks(session: Session, chunks: Sequence[tuple[int, int]], now: datetime) -> None:
    """Make stored chunks and their passages findable, given as (audience id, chunk id)."""
    refs = [(audience_id, Ref(Kind.CHUNK, id_)) for audience_id, id_ in chunks]
    refs += texts.passages_of(session, [id_ for _, id_ in chunks])
    index_stored(session, refs, now)


def unindex_chunk(session: Session, audience_id: int, chunk_id: int) -> None:
    """Make a chunk and its passages unfindable, whatever rule they were once split by."""
    unindex(session, audience_id, Ref(Kind.CHUNK, chunk_id))
    for key in lexical.keys_between(session, audience_id, *passages.keys_of(chunk_id)):
        unindex(session, audience_id, Ref.from_key(key))


def unindex(session: Session, audience_id: int, ref: Ref) -> None:
    """Make a record unfindable: postings, vectors and queue entries go."""
    lexical.remove(session, audience_id, ref.key)
    embeddings.remove(session, audience_id, ref.key)


def reindex(session: Session, audience_id: int, ref: Ref, now: datetime) -> None:
    """Make a record findable by the text it has now; by nothing when it is blank or not findable.

    Vectors are queued.
    """
    unindex(session, audience_id, ref)
    text = texts.by_key(session, [ref.key]).get(ref.key)
    if text is not None:
        index(session, audience_id, ref, text, now)

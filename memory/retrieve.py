"""Search: vectors and keywords over the readable places, fused into one ranking."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlmodel import Session

from memory import lexical
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.reconcile import single_valued
from memory.store import audiences, facts, messages
from memory.store.database import Database
from memory.types import Fact, Hit, Kind, Readable, Ref

CANDIDATES = 50
"""Candidates of each signal. Beyond the first few dozen neither signal adds right ones."""

RELEVANT = 1.7
"""Standard deviations above unrelated text from which a record can answer a question."""

KEYWORD_WEIGHT = 1.0
"""Standard deviations that the best keyword match adds to its vector score."""


class Retriever:
    """Finds records by meaning and by words. Every search takes what it may see."""

    def __init__(self, database: Database, index: VectorIndex, embedding: EmbeddingService) -> None:
        self._database = database
        self._index = index
        self._embedding = embedding

    async def search(
        self,
        query: str,
        readable: Readable,
        k: int,
        *,
        kinds: Collection[Kind] = tuple(Kind),
    ) -> list[Hit]:
        """The k best records for the query, best first, with what each signal gave.

        Nothing is cut off by score here: k come back when k exist among the candidates.
        While no embedding model can be asked, keywords alone decide.
        """
        if not query.strip() or k <= 0:
            return []
        ids = await self._database.read(lambda s: list(audiences.readable_ids(s, readable)))
        if not ids:
            return []
        wide = max(k, CANDIDATES)
        dense: dict[int, float] = {}
        asked = await self._embedding.query(query)
        if asked is not None:
            model, vector = asked
            keys, cosines = await self._index.search(model, vector, ids, wide, kinds)
            scores = model.calibration.standardize(cosines)
            dense = dict(zip(keys.tolist(), scores.tolist(), strict=True))

        def gather(session: Session) -> list[Hit]:
            words = {
                hit.key: hit.score for hit in lexical.search(session, ids, query, wide, kinds=kinds)
            }
            return _hits(session, readable, dense, words)

        return (await self._database.read(gather))[:k]


def _hits(
    session: Session, readable: Readable, dense: dict[int, float], words: dict[int, float]
) -> list[Hit]:
    best = max(words.values(), default=1.0)
    floor = min(dense.values(), default=0.0)
    scored: dict[int, tuple[float, float]] = {}
    for key in dense.keys() | words.keys():
        scored[key] = (dense.get(key, floor), KEYWORD_WEIGHT * words.get(key, 0.0) / best)
    refs = {key: Ref.from_key(key) for key in scored}
    known = facts.get(session, [r.id for r in refs.values() if r.kind is Kind.FACT], readable)
    said = messages.get(session, [r.id for r in refs.values() if r.kind is Kind.MESSAGE], readable)
    hits = []
    for key, (meaning, wording) in scored.items():
        ref = refs[key]
        fact = known.get(ref.id) if ref.kind is Kind.FACT else None
        message = said.get(ref.id) if ref.kind is Kind.MESSAGE else None
        if fact is not None:
            text, audience, said_at = fact.text, fact.audience, fact.said_at
        elif message is not None:
            text, audience, said_at = message.text, message.audience, message.sent_at
        else:
            continue
        signals = (("meaning", meaning), ("words", wording))
        score = meaning + wording
        hits.append(Hit(ref, score, text, audience, said_at, fact, message, signals))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.said_at.timestamp(), -hit.ref.key))


def newest_readable(known: Sequence[Fact]) -> list[Fact]:
    """The facts with those put into the past whose value a newer readable fact replaces.

    Within a place this happens when facts are stored. Between places it is decided for each
    reader: a narrower record never closes a wider one for those who cannot read it.
    """
    latest: dict[tuple[object, str], Fact] = {}
    for fact in known:
        if single_valued(fact.attribute) and fact.superseded_by is None and not fact.negated:
            slot = (fact.subject, str(fact.attribute))
            if slot not in latest or latest[slot].said_at < fact.said_at:
                latest[slot] = fact
    settled = []
    for fact in known:
        newer = latest.get((fact.subject, str(fact.attribute)))
        if newer is None or newer.id == fact.id or fact.superseded_by is not None or fact.negated:
            settled.append(fact)
        else:
            ended = newer.valid_from or newer.said_at
            settled.append(replace(fact, superseded_by=newer.id, valid_until=ended))
    return settled

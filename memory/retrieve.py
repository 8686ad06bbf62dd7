"""Search: vectors and keywords over the readable places, fused into one ranking."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from sqlmodel import Session

from memory import bm25, cascade, ranking
from memory.calibration import Calibration
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.pool import Asked, Gathered, gather
from memory.reconcile import ends_others
from memory.store import audiences, facts, messages
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.tokens import QueryTerms, query_terms
from memory.types import Audience, Fact, Hit, Kind, Message, Readable, Ref, SourceChunk, Vector

CANDIDATES = 30
"""Candidates of each signal and kind. On LoCoMo 40 or 100 find as much, within a quarter point."""

PASSAGES = 100
"""The same of documents, which hold many passages of one topic."""

BEST = 12
"""Of each signal and kind, those whose neighbours are candidates too. All 100 gained nothing."""

RELEVANT = ranking.POSSIBLE
"""Evidence from which a record can answer a question, as `Hit.evidence` counts it: that of other
kinds of record, and of words alone, is moved so that this one threshold is theirs as well."""

NO_CALIBRATION = Calibration(np.zeros(1, dtype=np.float32), 0.0, 1.0)
"""Stands in while there is no embedding model: there are no cosines to standardise."""


class Retriever:
    """Finds records by meaning, by words and by what stands around them."""

    def __init__(self, database: Database, index: VectorIndex, embedding: EmbeddingService) -> None:
        self._database = database
        self._index = index
        self._embedding = embedding

    async def search(
        self,
        asked: Asked,
        readable: Readable,
        k: int,
        *,
        kinds: Collection[Kind] = tuple(Kind),
        earlier: str = "",
    ) -> list[Hit]:
        """The k best records for the query, best first, with what each signal gave.

        `earlier` are words of the asker's last turns, which count in part. Nothing is cut off by
        score here: k come back when k exist among the candidates. While no embedding model can
        be asked, words alone decide.
        """
        if not asked.query.strip() or k <= 0:
            return []
        wide = max(k, CANDIDATES)
        searched = _searched(kinds)
        terms, weights_of = _terms(asked.query, earlier)

        def by_words(session: Session) -> tuple[dict[int, Audience], bm25.Evidence]:
            ids = audiences.readable_ids(session, readable)
            return ids, bm25.evidence(session, list(ids), terms, wide, kinds=searched)

        # embedding takes longest and leaves the interpreter to others: words are looked up beside
        own, (ids, found), imagined = await asyncio.gather(
            self._embedding.query(asked.query),
            self._database.read(by_words),
            self._embedding.documents([asked.passage] if asked.passage else []),
        )
        embedded = _drawn(own, imagined)
        if not ids:
            return []
        nearest: list[int] = []
        best = set(found.keys[:BEST].tolist())
        if embedded is not None:
            most = {k: max(wide, PASSAGES) if k is Kind.PASSAGE else wide for k in searched}
            for keys in (await self._index.nearest(*embedded, list(ids), most)).values():
                nearest += keys.tolist()
                best.update(keys[:BEST].tolist())
        places = {audience: id_ for id_, audience in ids.items()}

        def rank(session: Session) -> list[Hit]:
            keys = list(dict.fromkeys([*found.keys.tolist(), *nearest]))
            model = embedded[0] if embedded is not None else None
            gathered = gather(session, places, keys, best, found, model, asked)
            vector = None
            calibration = NO_CALIBRATION
            if embedded is not None:
                calibration = embedded[0].calibration
                vector = calibration.center(embedded[1][None, :])[0]
            shares = np.array([weights_of(term) for term in found.terms])
            wanted = ranking.Question(found.weights * shares, vector)
            ranked = ranking.rank(wanted, gathered.pool, calibration)
            if own is not None and embedded is not own:
                vector = calibration.center(own[1][None, :])[0]
            if earlier or embedded is not own:
                # what widens the search finds more, but is no evidence that this was meant
                alone = ranking.Question(found.weights * (shares == 1), vector)
                ranked = _judged_by(ranking.rank(alone, gathered.pool, calibration), ranked)
            ranked = _comparable(ranked, gathered, with_meaning=vector is not None)
            settled = _cascaded(asked.query, ranked, gathered, found)
            return _hits(session, gathered, settled, k, readable)

        return await self._database.read(rank)


def _drawn(
    query: tuple[Model, Vector] | None, imagined: Sequence[tuple[Model, Vector] | None]
) -> tuple[Model, Vector] | None:
    """The query's vector, or the mean of it and of an imagined passage's, as HyDE joins them."""
    if query is None or not imagined or imagined[0] is None or imagined[0][0].id != query[0].id:
        return query
    total = query[1] + imagined[0][1]
    length = float(np.linalg.norm(total))
    return (query[0], (total / length).astype(np.float32)) if length else query


def _searched(kinds: Collection[Kind]) -> list[Kind]:
    """Of documents it is the passages that are looked for."""
    return sorted({Kind.PASSAGE if kind is Kind.CHUNK else kind for kind in kinds})


def _terms(query: str, earlier: str) -> tuple[QueryTerms, Callable[[str], float]]:
    """The terms of the query and of earlier turns, and what share of its worth each counts."""
    own = query_terms(query)
    if not earlier:
        return own, lambda _: 1.0
    before = query_terms(earlier)
    terms = QueryTerms(
        tuple(dict.fromkeys([*own.exact, *before.exact])),
        tuple(dict.fromkeys([*own.prefixes, *before.prefixes])),
    )
    mine = {*own.exact, *(f"{prefix}*" for prefix in own.prefixes)}
    return terms, lambda term: 1.0 if term in mine else ranking.CONTEXT_TERM


def _judged_by(plain: ranking.Ranking, widened: ranking.Ranking) -> ranking.Ranking:
    """The order of the widened question with the evidence of the plain one."""
    evidence = dict(zip(plain.rows.tolist(), plain.evidence.tolist(), strict=True))
    own = [evidence.get(row, widened.evidence[at]) for at, row in enumerate(widened.rows.tolist())]
    return replace(widened, evidence=np.array(own))


def _comparable(
    ranked: ranking.Ranking, gathered: Gathered, *, with_meaning: bool
) -> ranking.Ranking:
    """Evidence for which `RELEVANT` is the threshold, whatever it was gathered from."""
    if not with_meaning:
        return replace(ranked, evidence=ranked.evidence * (RELEVANT / ranking.RELEVANT_WORDS))
    documents = gathered.pool.kinds[ranked.rows] == Kind.PASSAGE
    moved = np.where(documents, RELEVANT - ranking.RELEVANT, 0.0)
    return replace(ranked, evidence=ranked.evidence + moved)


def _cascaded(
    query: str, ranked: ranking.Ranking, gathered: Gathered, found: bm25.Evidence
) -> ranking.Ranking:
    """The ranking after the keyword cascade, with the chunks of documents taking turns."""
    own = query_terms(query)
    labels = {*own.exact, *(f"{prefix}*" for prefix in own.prefixes)}
    columns = [at for at, term in enumerate(found.terms) if term in labels]
    tiers = cascade.tiers(
        query,
        [gathered.texts[row] for row in ranked.rows.tolist()],
        [found.terms[at] for at in columns],
        gathered.pool.frequencies[ranked.rows][:, columns],
    )
    chunks = [gathered.chunk(row) for row in ranked.rows.tolist()]
    documents = [-1 if chunk is None else chunk.source_id for chunk in chunks]
    return cascade.ordered(ranked, tiers, np.array(documents, dtype=np.int64))


def _hits(
    session: Session, gathered: Gathered, ranked: ranking.Ranking, k: int, readable: Readable
) -> list[Hit]:
    chosen = ranking.balance(ranked, gathered.pool.kinds[ranked.rows], k, RELEVANT).tolist()
    rows = _spoken_for(ranked.rows[chosen].tolist(), gathered.pool)
    shown = [gathered.refs[row] for row in rows]
    known = facts.get(session, [r.id for r in shown if r.kind is Kind.FACT], readable)
    said = messages.get(session, [r.id for r in shown if r.kind is Kind.MESSAGE], readable)
    hits = []
    for at, row, ref in zip(chosen, rows, shown, strict=True):
        fact = known[ref.id] if ref.kind is Kind.FACT else None
        message = said[ref.id] if ref.kind is Kind.MESSAGE else None
        chunk = gathered.chunk(row)
        record = fact or message or chunk
        assert record is not None
        hits.append(
            Hit(
                ref=Ref(Kind.CHUNK, chunk.id) if chunk is not None else ref,
                score=float(ranked.scores[at]),
                evidence=float(ranked.evidence[at]),
                text=record.text,
                audience=record.audience,
                said_at=_said_at(record),
                fact=fact,
                message=message,
                chunk=chunk,
                signals=tuple((name, float(each[at])) for name, each in ranked.signals.items()),
            )
        )
    return hits


def _spoken_for(rows: Sequence[int], pool: ranking.Pool) -> list[int]:
    """Instead of a message the row of the fact that says the same, where one was found."""
    facts_at = np.flatnonzero(pool.kinds == Kind.FACT)[::-1]
    fact_of = dict(zip(pool.groups[facts_at].tolist(), facts_at.tolist(), strict=True))
    return [
        fact_of.get(int(pool.groups[row]), row) if pool.kinds[row] == Kind.MESSAGE else row
        for row in rows
    ]


def _said_at(record: Fact | Message | SourceChunk) -> datetime:
    if isinstance(record, Fact):
        return record.said_at
    return record.sent_at if isinstance(record, Message) else record.added_at


def newest_readable(known: Sequence[Fact]) -> list[Fact]:
    """The facts with those put into the past whose value a newer readable fact replaces.

    Within a place this happens when facts are stored. Between places it is decided for each
    reader: a narrower record never closes a wider one for those who cannot read it. As there, only
    its speaker and the person whom it is about replace a value.
    """
    current: defaultdict[tuple[object, str], list[Fact]] = defaultdict(list)
    for fact in known:
        if ends_others(fact) and is_current_value(fact):
            current[fact.subject, str(fact.attribute)].append(fact)
    settled = []
    for fact in known:
        newer = [
            rival
            for rival in current.get((fact.subject, str(fact.attribute)), [])
            if rival.said_at > fact.said_at and rival.speaker in (fact.speaker, fact.subject)
        ]
        if not newer or not is_current_value(fact):
            settled.append(fact)
        else:
            newest = max(newer, key=lambda rival: rival.said_at)
            ended = newest.valid_from or newest.said_at
            settled.append(replace(fact, superseded_by=newest.id, valid_until=ended))
    return settled


def is_current_value(fact: Fact) -> bool:
    """True for a fact that says what is so, and that nothing has ended."""
    return fact.superseded_by is None and fact.valid_until is None and not fact.negated

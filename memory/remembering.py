"""Writing facts: what is new is stored, what is known confirmed, what is outdated superseded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from sqlmodel import Session

from memory import reconcile, records
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.ports import Clock, Judge, Pair
from memory.reconcile import Candidate
from memory.store import audiences, embeddings, extraction, facts
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.types import Fact, Kind, NewFact, Ref, Vector, Verdict

_Added = tuple[Model, int, int, int, Vector]
"""Model, audience id, version, key and vector of a fact that was stored."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A fact after it was reconciled with what is known."""

    fact: Fact
    known: bool
    """It was known already and is now confirmed once more."""
    replaced: Fact | None = None
    """The fact whose place it took."""


class Remembering:
    """Reconciles new facts with what is known, in one transaction per batch."""

    def __init__(
        self, database: Database, index: VectorIndex, embedding: EmbeddingService, clock: Clock
    ) -> None:
        self._database = database
        self._index = index
        self._embedding = embedding
        self._clock = clock

    async def remember(
        self,
        new: Sequence[NewFact],
        *,
        extracted_from: Collection[int] = (),
        replacing: Fact | None = None,
        judge: Judge | None = None,
    ) -> list[Remembered]:
        """Reconcile facts with what is known and store what is new, in the order given.

        `extracted_from` are the messages whose pending extraction this completes, in the same
        transaction: a crash repeats the extraction or none of it. `replacing` is a known fact
        that its owner says is wrong: the first takes its place. `judge` is asked once about all
        pairs that words and guards leave open; without it, what is not certain stays apart.
        """
        vectors = await self._embedding.documents([fact.text for fact in new]) if new else []
        verdicts = await self._ask(judge, new, vectors) if judge is not None else None

        def store(session: Session) -> tuple[list[Remembered], list[_Added]]:
            added: list[_Added] = []
            outcome = [
                self._remember_one(session, fact, vector, verdicts, added)
                for fact, vector in zip(new, vectors, strict=True)
            ]
            if replacing is not None and outcome and outcome[0].fact.id != replacing.id:
                facts.supersede(session, replacing, outcome[0].fact)
            extraction.finish(session, extracted_from)
            return outcome, added

        outcome, added = await self._database.write(store)
        for model, audience_id, version, key, vector in added:
            self._index.apply(model, audience_id, version, added=[(key, vector)])
        return outcome

    async def _ask(
        self,
        judge: Judge,
        new: Sequence[NewFact],
        vectors: Sequence[tuple[Model, Vector] | None],
    ) -> dict[tuple[str, int], Verdict]:
        """One call about every pair that needs one; verdicts by (new text, known id)."""

        def find(session: Session) -> list[Pair]:
            pairs = []
            for fact, vector in zip(new, vectors, strict=True):
                exact = facts.exact(session, fact)
                if exact is not None and exact.superseded_by is None:
                    continue
                for known, similarity in self._near(session, fact, vector):
                    sure = reconcile.without_judge(fact, known, similarity) is Verdict.SAME
                    if not sure and not reconcile.rival(fact, known):
                        pairs.append(Pair(fact, known))
            return pairs

        pairs = await self._database.read(find)
        if not pairs:
            return {}
        verdicts = await judge.judge(pairs)
        return {
            (pair.new.text, pair.known.id): verdict
            for pair, verdict in zip(pairs, verdicts, strict=True)
        }

    @staticmethod
    def _near(
        session: Session, new: NewFact, vector: tuple[Model, Vector] | None
    ) -> list[tuple[Fact, float]]:
        """Open facts of the same subject and place that are near in meaning, nearest first."""
        if vector is None:
            return []
        model, embedded = vector
        audience_id = audiences.ensure_id(session, new.audience)
        known = {
            Ref(Kind.FACT, fact.id).key: fact
            for fact in facts.of_subject(session, new.subject, new.audience)
        }
        stored = embeddings.of_owners(session, audience_id, model, known)
        if not stored:
            return []
        keys = list(stored)
        centred = model.calibration.center(np.stack([stored[key] for key in keys]))
        cosines = centred @ model.calibration.center(embedded[None, :])[0]
        scores = model.calibration.standardize(cosines)
        ranked = sorted(zip(keys, scores.tolist(), strict=True), key=lambda item: -item[1])
        return [
            (known[key], score)
            for key, score in ranked[: reconcile.MOST_CANDIDATES]
            if score >= reconcile.NEAR
        ]

    def _remember_one(
        self,
        session: Session,
        new: NewFact,
        vector: tuple[Model, Vector] | None,
        verdicts: dict[tuple[str, int], Verdict] | None,
        added: list[_Added],
    ) -> Remembered:
        exact = facts.exact(session, new)
        rivals = (
            facts.of_subject(
                session, new.subject, new.audience, reconcile.rival_attributes(new.attribute)
            )
            if new.attribute
            else []
        )
        candidates = []
        if exact is None or exact.superseded_by is not None:
            for known, similarity in self._near(session, new, vector):
                verdict = (verdicts or {}).get((new.text, known.id)) or reconcile.without_judge(
                    new, known, similarity
                )
                candidates.append(Candidate(known, similarity, verdict))
        decision = reconcile.decide(new, exact, rivals, candidates)
        if decision.verdict is Verdict.SAME and decision.known is not None:
            return Remembered(facts.confirm(session, decision.known, new), known=True)
        now = self._clock()
        fact = facts.insert(session, new, now)
        audience_id = audiences.ensure_id(session, fact.audience)
        ref = Ref(Kind.FACT, fact.id)
        version = records.index(session, audience_id, ref, fact.text, now, vector=vector)
        if vector is not None and version is not None:
            added.append((vector[0], audience_id, version, ref.key, vector[1]))
        if decision.closed_by is not None:
            facts.supersede(session, fact, decision.closed_by)
        if decision.verdict is Verdict.SUPERSEDES and decision.known is not None:
            facts.supersede(session, decision.known, fact)
            return Remembered(fact, known=False, replaced=decision.known)
        return Remembered(fact, known=False)

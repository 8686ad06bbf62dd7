"""Writing facts: what is new is stored, what is known confirmed, what is outdated superseded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session

from memory import reconcile, records
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.ports import Clock, Judge, Pair
from memory.reconcile import Candidate
from memory.store import audiences, embeddings, extraction, facts, messages
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.tables import MessageRow
from memory.types import Fact, Kind, Message, NewFact, Readable, Ref, Vector, Verdict

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
    said_in: int | None = None
    """Id of the message that said it."""


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
        extracted_from: Collection[Message] = (),
        replacing: Fact | None = None,
        judge: Judge | None = None,
    ) -> list[Remembered]:
        """Reconcile facts with what is known and store what is new, in the order given.

        `extracted_from` are the messages as they were read, whose pending extraction this
        completes in the same transaction: a crash repeats the extraction or none of it. Of one
        that was edited, deleted or forgotten meanwhile nothing is stored; its facts are missing
        from the outcome. `replacing` is a known fact that its owner says is wrong: the first
        takes its place, unless that is in another place: what was said in private does not
        show in public. `judge` is asked once about all pairs that words and guards leave open;
        without it, what is not certain stays apart.
        """
        vectors = await self._embedding.documents([fact.text for fact in new]) if new else []
        verdicts = await self._ask(judge, new, vectors) if judge is not None else None

        def store(session: Session) -> tuple[list[Remembered], list[_Added]]:
            added: list[_Added] = []
            changed = _changed(session, extracted_from)
            wrong = replacing.id if replacing is not None else None
            outcome = [
                self._remember_one(
                    session, _where_it_was_said(session, fact), vector, verdicts, added, wrong
                )
                for fact, vector in zip(new, vectors, strict=True)
                if not any(item.message_id in changed for item in fact.evidence)
            ]
            if replacing is not None and outcome and _may_replace(outcome[0].fact, replacing):
                facts.supersede(session, replacing, outcome[0].fact)
            extraction.finish(session, {m.id for m in extracted_from} - changed)
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
                exact = _exact(session, fact)
                if exact is not None and reconcile.is_open(exact, fact):
                    continue
                for known, similarity in self._near(session, fact, vector):
                    sure = reconcile.without_judge(fact, known, similarity) is Verdict.SAME
                    if fact.subject != known.subject:
                        continue  # only words that leave no doubt may join what looks like two
                    can_be = reconcile.may_be_same(fact, known) or reconcile.may_supersede(
                        fact, known
                    )
                    if can_be and not sure and not reconcile.rival(fact, known):
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
        """Open facts of the place that may have the same subject and are near in meaning, nearest
        first.
        """
        if vector is None:
            return []
        model, embedded = vector
        audience_id = audiences.ensure_id(session, new.audience)
        ids = facts.maybe_same_subject(session, new.subject, new.speaker, new.audience)
        records_known = [(audience_id, Ref(Kind.FACT, id_).key) for id_ in ids]
        keys, vectors = embeddings.of_records(session, model, records_known)
        cosines = model.calibration.center(vectors) @ model.calibration.center(embedded[None, :])[0]
        scores = model.calibration.standardize(cosines)
        ranked = sorted(zip(keys, scores.tolist(), strict=True), key=lambda item: -item[1])
        near = {
            Ref.from_key(key).id: score
            for key, score in ranked[: reconcile.MOST_CANDIDATES]
            if score >= reconcile.NEAR
        }
        known = facts.get(session, near, Readable.of(new.audience).for_upkeep())
        return [(known[id_], score) for id_, score in near.items()]

    def _remember_one(
        self,
        session: Session,
        new: NewFact,
        vector: tuple[Model, Vector] | None,
        verdicts: dict[tuple[str, int], Verdict] | None,
        added: list[_Added],
        wrong: int | None,
    ) -> Remembered:
        """Store a fact, or confirm a known one that says the same: never the `wrong` one."""
        exact = _exact(session, new)
        rivals = (
            facts.of_subject(
                session, new.subject, new.audience, reconcile.rival_attributes(new.attribute)
            )
            if new.attribute
            else []
        )
        candidates = []
        if exact is None or not reconcile.is_open(exact, new):
            for known, similarity in self._near(session, new, vector):
                if known.id == wrong:
                    continue
                verdict = (verdicts or {}).get((new.text, known.id)) or reconcile.without_judge(
                    new, known, similarity
                )
                candidates.append(Candidate(known, similarity, verdict))
        decision = reconcile.decide(new, exact, rivals, candidates)
        said_in = new.evidence[0].message_id if new.evidence else None
        if decision.verdict is Verdict.SAME and decision.known is not None:
            confirmed = facts.confirm(session, decision.known, new)
            return Remembered(confirmed, known=True, said_in=said_in)
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
            return Remembered(fact, known=False, replaced=decision.known, said_in=said_in)
        return Remembered(fact, known=False, said_in=said_in)


def _where_it_was_said(session: Session, new: NewFact) -> NewFact:
    """The fact in the place of its evidence, which may have become public meanwhile."""
    if not new.evidence:
        return new
    said_in = session.get(MessageRow, new.evidence[0].message_id)
    if said_in is None:
        return new
    place = audiences.names(session, [said_in.audience_id])[said_in.audience_id]
    return replace(new, audience=place) if place.now == new.audience.now else new


def _may_replace(new: Fact, wrong: Fact) -> bool:
    return new.id != wrong.id and new.audience == wrong.audience


def _exact(session: Session, new: NewFact) -> Fact | None:
    return facts.exact(session, new, of_speaker=reconcile.depends_on_speaker(new))


def _changed(session: Session, read: Collection[Message]) -> set[int]:
    """Ids of those messages whose words are not what was read any more."""
    places = Readable(frozenset(message.audience for message in read)).for_upkeep()
    now = messages.get(session, [message.id for message in read], places)
    return {m.id for m in read if m.id not in now or now[m.id].text != m.text}

"""Nightly tidying of one place's facts: near duplicates become one, what has passed is closed.

The plan is made outside any transaction, so that a long night holds up nobody; each change is
checked again when it is written. Similarity only nominates. The same guards as for new facts
decide, and two facts that a guard keeps apart are never brought together by a third.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import TypeVar

import numpy as np
from sqlalchemy import update
from sqlmodel import Session, col, select

from memory import analysis, guards, reconcile, records
from memory.analysis import Tense
from memory.store import audiences, changes, embeddings, facts, messages, places
from memory.store.changes import Change
from memory.store.embeddings import Model
from memory.tables import EvidenceRow, FactRow, MessageRow
from memory.types import Audience, Fact, Kind, Message, Origin, Readable, Ref, Vector, Verdict

T = TypeVar("T")

BLOCK = 512
"""Rows compared at once: with 20,000 facts a block of scores takes 40 MB."""

NEIGHBOURS = 5
"""Nearest facts considered for each, as for new ones (`reconcile.MOST_CANDIDATES`)."""

GRACE = timedelta(days=1)
"""How long after its day a passing fact stays open: "tomorrow" is still asked about then."""

LOOK_BACK = timedelta(days=400)
"""Passing facts said longer ago have been looked at on some earlier night."""

_LASTS = re.compile(
    r"\b(?:since|from|starting|as of|onwards?|every|each|always|weekly|daily|until|till)\b"
    r"|から|以来|以降|毎(?:日|週|月|年|朝|晩)|まで|いつも",
    re.IGNORECASE,
)
"""Words that make a time the beginning or the rule of something, not its day."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two facts that say the same."""

    kept: int
    gone: int


@dataclass(frozen=True, slots=True)
class Closing:
    """A passing fact whose time is over."""

    fact_id: int
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class Loaded:
    """The open facts of one place, oldest first, with what is needed to compare them."""

    audience: Audience
    audience_id: int
    facts: tuple[Fact, ...]
    vectors: Mapping[int, Vector]
    """By fact id; raw, of `model`."""
    model: Model | None
    quotes: Mapping[int, tuple[str, ...]]
    """The words that support each stated fact, by fact id."""
    time_zones: Mapping[int, str]
    """Of whoever said it, by fact id."""
    mark: int
    """Facts up to this id have been compared with each other by this model."""

    @property
    def next_mark(self) -> int:
        """The mark after this place has been consolidated."""
        missing = [fact.id for fact in self.facts if fact.id not in self.vectors]
        if missing:
            return min(missing) - 1
        return max((fact.id for fact in self.facts), default=self.mark)


def places_to_visit(session: Session) -> list[Audience]:
    """Every place that holds facts or messages, in order; none of a locked tenant."""
    ids = set(session.exec(select(FactRow.audience_id).distinct()))
    ids |= set(session.exec(select(MessageRow.audience_id).distinct()))
    everywhere = Readable(frozenset(audiences.names(session, ids).values()))
    return sorted(audiences.readable_ids(session, everywhere).values())


def load(session: Session, audience: Audience) -> Loaded:
    """Everything about one place that planning needs."""
    audience_id = audiences.ensure_id(session, audience)
    here = Readable.of(audience)
    ids = session.exec(
        select(FactRow.id)
        .where(FactRow.audience_id == audience_id, col(FactRow.superseded_by).is_(None))
        .order_by(col(FactRow.id))
    ).all()
    known = []
    for part in _parts([id_ for id_ in ids if id_ is not None]):
        found = facts.get(session, part, here)
        known += [found[id_] for id_ in part if id_ in found]
    model = embeddings.serving_model(session)
    vectors: dict[int, Vector] = {}
    if model is not None:
        keys, rows = embeddings.load(session, audience_id, model)
        wanted = {fact.id for fact in known}
        refs = map(Ref.from_key, keys.tolist())
        vectors = {
            ref.id: row
            for ref, row in zip(refs, rows, strict=True)
            if ref.kind is Kind.FACT and ref.id in wanted
        }
    quotes, zones = _said(session, known, here)
    mark = _mark(session, audience_id, model)
    return Loaded(audience, audience_id, tuple(known), vectors, model, quotes, zones, mark)


def _said(
    session: Session, known: Sequence[Fact], here: Readable
) -> tuple[dict[int, tuple[str, ...]], dict[int, str]]:
    quotes: dict[int, tuple[str, ...]] = {}
    zones: dict[int, str] = {}
    for part in _parts(known):
        wanted = {item.message_id for fact in part for item in fact.evidence}
        said: dict[int, Message] = {}
        for ids in _parts(sorted(wanted)):
            said |= messages.get(session, ids, here)
        for fact in part:
            texts = [
                said[item.message_id].text[item.span.start : item.span.end]
                for item in fact.evidence
                if item.message_id in said and fact.origin is Origin.STATED
            ]
            quotes[fact.id] = tuple(dict.fromkeys(text for text in texts if text.strip()))
            sources = [said[e.message_id] for e in fact.evidence if e.message_id in said]
            zones[fact.id] = sources[0].time_zone if sources else "UTC"
    return quotes, zones


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), BLOCK):
        yield items[start : start + BLOCK]


# -- near duplicates -----------------------------------------------------------------------------


@dataclass(slots=True)
class Duplicates:
    """Finds the near duplicates of one place. `open_pairs` are those that only a judge can tell.

    Verdicts are kept, so that looking again after merges costs only what is new.
    """

    loaded: Loaded
    full: bool = False
    """Compare all facts, not only those that came since the last time."""
    stopping: Event = field(default_factory=Event)
    """Set from outside to end the search early; what was found until then is dropped."""
    verdicts: dict[tuple[int, int], Verdict] = field(default_factory=dict)
    open_pairs: list[tuple[Fact, Fact]] = field(default_factory=list)
    _said: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def merges(self) -> list[Merge]:
        """What to merge, by words and by `verdicts`; looks again until nothing more is found."""
        by_id = {fact.id: fact for fact in self.loaded.facts}
        self._said = {id_: (f.text, *self.loaded.quotes[id_]) for id_, f in by_id.items()}
        gone: set[int] = set()
        found: list[Merge] = []
        while True:
            fresh = list(self._round(by_id, gone))
            if self.stopping.is_set():
                return []
            if not fresh:
                return found
            found += fresh

    def _round(self, by_id: Mapping[int, Fact], gone: set[int]) -> Iterator[Merge]:
        for low, high, score in self._pairs(gone):
            if self.stopping.is_set():
                return
            if low in gone or high in gone:
                continue
            if self._verdict(by_id[low], by_id[high], score) is not Verdict.SAME:
                continue
            if not self._compatible(low, high, by_id[low].language):
                continue
            self._said[low] = tuple(dict.fromkeys((*self._said[low], *self._said[high])))
            gone.add(high)
            yield Merge(low, high)

    def _verdict(self, known: Fact, new: Fact, score: float) -> Verdict:
        pair = (known.id, new.id)
        if pair not in self.verdicts:
            again = facts.as_new(new)
            self.verdicts[pair] = reconcile.without_judge(again, known, score)
            if (
                self.verdicts[pair] is Verdict.DIFFERENT
                and new.language == known.language
                and not reconcile.rival(again, known)
                and reconcile.may_be_same(again, known)
            ):
                self.open_pairs.append((known, new))
        return self.verdicts[pair]

    def _compatible(self, low: int, high: int, language: str) -> bool:
        """False when a guard keeps apart any words that either fact stands for by now."""
        return all(
            guards.compare(a, b, language).can_be_same
            for a in self._said[low]
            for b in self._said[high]
            if a != b
        )

    def _pairs(self, gone: Collection[int]) -> list[tuple[int, int, float]]:
        """Near facts as (older id, newer id, similarity in standard deviations), nearest first."""
        model = self.loaded.model
        if model is None:
            return []
        groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for fact in self.loaded.facts:
            if fact.id in self.loaded.vectors and fact.id not in gone:
                groups[comparable(fact)].append(fact.id)
        found: dict[tuple[int, int], float] = {}
        for ids in groups.values():
            since = 0 if self.full else bisect.bisect_right(ids, self.loaded.mark)
            if since == len(ids):
                continue
            stacked = np.stack([self.loaded.vectors[id_] for id_ in ids])
            for first, second, score in near_pairs(stacked, model, since):
                low, high = sorted((ids[first], ids[second]))
                found[low, high] = score
        return [(low, high, s) for (low, high), s in sorted(found.items(), key=_nearest_first)]


def _nearest_first(item: tuple[tuple[int, int], float]) -> tuple[float, tuple[int, int]]:
    return -item[1], item[0]


def comparable(fact: Fact) -> tuple[object, ...]:
    """Equal for facts that may be the same at all: one subject, speaker, language, sense and
    interval.
    """
    who = (facts.subject_key(fact.subject), fact.speaker)
    return *who, fact.language, fact.negated, fact.valid_until


def near_pairs(
    vectors: np.ndarray, model: Model, since: int = 0
) -> Iterator[tuple[int, int, float]]:
    """The nearest others above `reconcile.NEAR` of each row from `since`, as (row, row, score).

    `vectors`: float32 (n, d), raw; compared centred, in blocks of `BLOCK` rows.
    """
    if len(vectors) < 2:
        return
    centred = model.calibration.center(vectors)
    k = min(NEIGHBOURS, len(centred) - 1)
    for start in range(since, len(centred), BLOCK):
        rows = centred[start : start + BLOCK]
        scores = model.calibration.standardize(rows @ centred.T)
        scores[np.arange(len(rows)), start + np.arange(len(rows))] = -np.inf
        nearest = np.argpartition(scores, -k, axis=1)[:, -k:]
        for row, others in enumerate(nearest.tolist()):
            for other in others:
                score = float(scores[row, other])
                if score >= reconcile.NEAR:
                    yield start + row, other, score


def merge(session: Session, merges: Iterable[Merge]) -> int:
    """Bring facts together; what changed since the plan was made is left alone. Counts them."""
    done = 0
    for item in merges:
        kept, gone = session.get(FactRow, item.kept), session.get(FactRow, item.gone)
        if kept is None or gone is None or kept.audience_id != gone.audience_id:
            continue
        if kept.superseded_by is not None or gone.superseded_by is not None:
            continue
        if kept.valid_until != gone.valid_until:
            continue
        kept.confirmed += gone.confirmed
        kept.said_at = max(kept.said_at, gone.said_at)
        kept.attribute = kept.attribute or gone.attribute
        session.add(kept)
        session.flush()
        for row in session.exec(select(EvidenceRow).where(EvidenceRow.fact_id == item.gone)).all():
            session.merge(
                EvidenceRow(
                    fact_id=item.kept, message_id=row.message_id, start=row.start, end=row.end
                )
            )
        session.execute(
            update(FactRow)
            .where(col(FactRow.superseded_by) == item.gone)
            .values(superseded_by=item.kept)
        )
        records.unindex(session, gone.audience_id, Ref(Kind.FACT, item.gone))
        session.flush()
        facts.remove(session, item.gone, Change.MERGED_AWAY, cause=item.kept)
        changes.add(session, kept.audience_id, item.kept, Change.MERGED, cause=item.gone)
        done += 1
    return done


# -- what has passed -----------------------------------------------------------------------------


def passed(loaded: Loaded, now: datetime, stopping: Event) -> list[Closing]:
    """Facts about a day, week or month that is over: "the meeting is tomorrow".

    Only what was about the time of saying or later: what already lay in the past then ("we met
    last week") is true for good, and so is what began or repeats.
    """
    closings: list[Closing] = []
    for fact in loaded.facts:
        if stopping.is_set():
            return []
        if fact.valid_until is not None or fact.attribute is not None:
            continue
        if fact.said_at < now - LOOK_BACK or _LASTS.search(fact.text):
            continue
        zone = loaded.time_zones[fact.id]
        held = analysis.resolve_time(fact.text, fact.said_at, zone, fact.language)
        if held is None or not fact.said_at < held[1] <= now - GRACE:
            continue
        if analysis.read(fact.text).tense is not Tense.PAST:
            closings.append(Closing(fact.id, held[1]))
    return closings


def close(session: Session, closings: Iterable[Closing]) -> int:
    """End the intervals of facts that are still open. Counts them."""
    done = 0
    for item in closings:
        closed = session.execute(
            update(FactRow)
            .where(col(FactRow.id) == item.fact_id, col(FactRow.valid_until).is_(None))
            .values(valid_until=item.valid_until)
            .returning(col(FactRow.id), col(FactRow.audience_id))
        ).all()
        for id_, audience_id in closed:
            changes.add(session, audience_id, id_, Change.PASSED)
        done += len(closed)
    return done


# -- how far it has come -------------------------------------------------------------------------


def mark_key(audience_id: int) -> str:
    """Names the row that says how far a place's facts have been compared."""
    return f"consolidated:{audience_id}"


def _mark(session: Session, audience_id: int, model: Model | None) -> int:
    stored = places.get_value(session, mark_key(audience_id))
    if stored is None or model is None:
        return 0
    model_id, _, mark = stored.partition(":")
    return int(mark) if int(model_id) == model.id else 0


def set_mark(session: Session, loaded: Loaded) -> None:
    """Note how far the place's facts have been compared."""
    if loaded.model is not None:
        value = f"{loaded.model.id}:{loaded.next_mark}"
        places.set_value(session, mark_key(loaded.audience_id), value)

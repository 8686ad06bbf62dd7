"""Frozen domain types of the memory. Nothing here imports anything else of Oboete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""One embedding: float32, shape (d,), L2-normalised."""

Vectors = npt.NDArray[np.float32]
"""Embeddings stacked by row: float32, shape (n, d), each row L2-normalised."""


@dataclass(frozen=True, slots=True, order=True)
class _Address:
    """Three names joined by colons; only the last may contain a colon itself."""

    platform: str
    tenant: str
    name: str

    def __post_init__(self) -> None:
        if not (self.platform and self.tenant and self.name):
            raise ValueError("platform, tenant and name must not be empty")
        if ":" in self.platform or ":" in self.tenant:
            raise ValueError("platform and tenant must not contain a colon")

    def __str__(self) -> str:
        return f"{self.platform}:{self.tenant}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `platform:tenant:name`. Raises ValueError when a part is missing."""
        return cls(*_parts(text))


def _parts(text: str) -> tuple[str, str, str]:
    platform, _, rest = text.partition(":")
    tenant, _, name = rest.partition(":")
    return platform, tenant, name


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TIMED = re.compile(r"(.*)~(open|ended~[1-9][0-9]{0,16})", re.ASCII | re.DOTALL)
"""A place with one of its times: what it said before it became private, or until that ended, in
microseconds since 1970."""


@dataclass(frozen=True, slots=True, order=True)
class Audience(_Address):
    """The place where something was said: whoever can read that place may hear it again."""

    time: str = ""
    """Which of the place's times, empty for now: `open` for what was said in public before it
    became private, `ended~…` for what was said in private before it became public. See
    `memory.store.private_times`."""

    def __post_init__(self) -> None:
        _Address.__post_init__(self)
        timed = _TIMED.fullmatch(f"{self.name}~{self.time}")
        if _TIMED.fullmatch(self.name) or (self.time and (not timed or timed[2] != self.time)):
            raise ValueError("no place has such a name")

    def __str__(self) -> str:
        place = _Address.__str__(self)
        return f"{place}~{self.time}" if self.time else place

    @classmethod
    def parse(cls, text: str) -> Self:
        """As written by `str`. Raises ValueError when a part is missing."""
        timed = _TIMED.fullmatch(text)
        place, time = timed.groups() if timed else (text, "")
        return cls(*_parts(place), time)

    @property
    def now(self) -> Self:
        """The place as it is now."""
        return replace(self, time="") if self.time else self

    @property
    def open_time(self) -> Self:
        """What was said in it before it became private."""
        return replace(self, time="open")

    def ended_time(self, until: datetime) -> Self:
        """What was said in it while it was private, until then (aware)."""
        return replace(self, time=f"ended~{(require_aware(until) - _EPOCH) // datetime.resolution}")

    @property
    def ended_at(self) -> datetime | None:
        """When this private time ended, UTC; None for any other time."""
        _, mark, moment = self.time.partition("ended~")
        return _EPOCH + int(moment) * datetime.resolution if mark else None


class Person(_Address):
    """A human being on one platform and tenant."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Readable:
    """The places that every reader of a destination can read now.

    Every read of the memory takes one. It has no default and no way to say "all": a
    caller that cannot find out what is readable passes a smaller set, never a larger one.
    """

    audiences: frozenset[Audience]
    upkeep: bool = False
    """For the memory's own work on its records (storing, forgetting), of which nobody reads
    anything. Else what a locked tenant said is left out: see `memory.store.audiences`."""

    @classmethod
    def of(cls, *audiences: Audience) -> Self:
        return cls(frozenset(audiences))

    def for_upkeep(self) -> Self:
        """The same places, also those of a locked tenant. Only within `memory`."""
        return replace(self, upkeep=True)

    def __contains__(self, audience: Audience) -> bool:
        return audience in self.audiences

    def __iter__(self) -> Iterator[Audience]:
        """Audiences in a stable order."""
        return iter(sorted(self.audiences))

    def __len__(self) -> int:
        return len(self.audiences)


class Kind(IntEnum):
    """What a retrievable record is. The value is the low two bits of its `Ref.key`."""

    FACT = 0
    MESSAGE = 1
    CHUNK = 2
    PASSAGE = 3
    """A sentence of a chunk: see `memory.passages`. Searches give its chunk."""

    @property
    def is_embedded(self) -> bool:
        """False for chunks, whose meaning is that of their passages."""
        return self is not Kind.CHUNK


_KINDS = tuple(Kind)


class Ref(NamedTuple):
    """Names one retrievable record across kinds; `key` is the id it has in every index."""

    kind: Kind
    id: int

    @property
    def key(self) -> int:
        return self.id << 2 | self.kind

    @classmethod
    def from_key(cls, key: int) -> Self:
        return cls(_KINDS[key & 3], key >> 2)


class Role(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """How a fact came to be known."""

    STATED = "stated"
    """A person said "remember this", or it was read off their words without a model."""
    EXTRACTED = "extracted"
    """A model read it off a person's words."""
    ACCEPTED = "accepted"
    """The bot proposed it and a person agreed, or chose to keep what it had quoted."""
    MODEL_ANSWER = "model_answer"
    """A model's answer that a person chose to keep."""
    DOCUMENT = "document"


class Verdict(StrEnum):
    """How a new fact relates to a known one."""

    SAME = "same"
    SUPERSEDES = "supersedes"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters [start, end) in a message's text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be stored."""

    platform_id: str
    """The platform's id of the message, unique within its audience."""
    audience: Audience
    conversation: str
    """Thread or channel id: turns of one conversation are each other's context."""
    role: Role
    author: Person | None
    """None for the bot itself."""
    author_name: str
    text: str
    sent_at: datetime
    permalink: str | None = None
    revision: str = ""
    """The platform's edit stamp; empty for a message that was never edited."""
    time_zone: str = "UTC"
    """The author's IANA time zone, for reading words like "yesterday"."""
    mentions: tuple[tuple[str, Person], ...] = ()
    """Names in the text, and the people whom they mention."""

    def __post_init__(self) -> None:
        require_aware(self.sent_at)


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `text` is what is left after redaction and forgetting."""

    id: int
    platform_id: str
    audience: Audience
    conversation: str
    role: Role
    author: Person | None
    author_name: str
    text: str
    sent_at: datetime
    permalink: str | None
    revision: str
    time_zone: str
    mentions: tuple[tuple[str, Person], ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words that support a fact."""

    message_id: int
    span: Span
    permalink: str | None = None


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact about to be reconciled with what is known."""

    text: str
    subject: Person | str
    """A person only when the speaker spoke of themself or mentioned them; else a name as text."""
    speaker: Person
    audience: Audience
    language: str
    origin: Origin
    evidence: tuple[Evidence, ...]
    said_at: datetime
    """When the words were sent (UTC): of two values the later said is the current one."""
    attribute: str | None = None
    """What it is about, such as `home`, `job`, `likes:cats`; None when not certain."""
    negated: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def __post_init__(self) -> None:
        require_aware(self.said_at)


@dataclass(frozen=True, slots=True)
class Fact:
    """A known fact: a derived record over the messages named in its evidence."""

    id: int
    text: str
    subject: Person | str
    speaker: Person
    audience: Audience
    language: str
    origin: Origin
    attribute: str | None
    negated: bool
    said_at: datetime
    learned_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    superseded_by: int | None
    confirmed: int
    """How often it was said, the first time included."""
    evidence: tuple[Evidence, ...] = field(default=())
    speaker_name: str = field(default="", compare=False)
    """As the speaker was called when they said it; empty when the message is gone."""

    @property
    def held_until(self) -> datetime | None:
        """The last moment at which it held: of "yesterday" that day, not the midnight after it."""
        return None if self.valid_until is None else self.valid_until - timedelta(microseconds=1)

    def is_current(self, now: datetime) -> bool:
        """True when nothing superseded it and its interval holds at `now` (UTC)."""
        return self.superseded_by is None and (self.valid_until is None or now < self.valid_until)


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """A piece of a document, with what a citation needs."""

    id: int
    source_id: int
    base_id: int
    audience: Audience
    text: str
    """The author's characters."""
    source: str
    """Name of the file."""
    title: str
    headings: tuple[str, ...]
    """Heading path, outermost first."""
    page: int | None
    """1-based, where the format has pages."""
    digest: bytes
    """SHA-256 of the whole file: the same in every base that has it."""
    added_at: datetime
    permalink: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One record found by a search."""

    ref: Ref
    score: float
    """Standard deviations above what unrelated text scores; best first; not bounded."""
    evidence: float
    """The part of the score that meaning, words and context gave: what decides whether the
    record can answer at all."""
    text: str
    audience: Audience
    said_at: datetime
    fact: Fact | None = None
    message: Message | None = None
    chunk: SourceChunk | None = None
    signals: tuple[tuple[str, float], ...] = ()
    """What each signal gave, by name, for `--explain` and the trace."""

    @property
    def meaning(self) -> float:
        """Its similarity to the query, in standard deviations above unrelated text."""
        return dict(self.signals).get("meaning", 0.0)


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """A platform event as it lies in the inbox. `payload` is the platform's own, redacted."""

    id: int
    platform: str
    tenant: str
    delivery: str
    """Unique per delivery (event id, interaction id): a redelivery is dropped on commit."""
    payload: dict[str, Any]
    received_at: datetime
    attempts: int
    reply_ref: str | None = None
    """Where the answer was begun, so that it is looked for before sending again."""


def require_aware(moment: datetime) -> datetime:
    """Give `moment` in UTC; raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError("a time without a time zone")
    return moment.astimezone(UTC)


def readable_union(parts: Iterable[Readable]) -> Readable:
    """Every audience that is in one of `parts`."""
    return Readable(frozenset(a for part in parts for a in part.audiences))

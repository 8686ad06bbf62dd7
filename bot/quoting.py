"""Answers without a language model: the best records, quoted with who said them and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.citing import label
from bot.i18n import Translator, shown
from bot.messages import Citation, IncomingMessage, Reply
from memory.analysis import SELF, Question, Tense, only_redacted
from memory.analysis.japanese import BARE_NAME
from memory.analysis.results import is_single_valued
from memory.remembering import Remembered
from memory.retrieve import RELEVANT
from memory.tokens import is_spelling, query_terms
from memory.types import Fact, Hit, Person, Ref

QUOTED = 3
"""Most records quoted."""

LISTED = 10
"""Most records when every value of an attribute is asked for."""

CLOSE = 0.6
"""How far below the best match another is still quoted beside it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the answer, and how."""

    person: Person
    say: Translator
    time_zone: str
    references: tuple[tuple[str, Person], ...] = ()

    @classmethod
    def of(cls, message: IncomingMessage, say: Translator) -> Reader:
        author = message.author
        return cls(author.person, say, author.time_zone, message.references)


Window = tuple[datetime, datetime]
"""Half-open interval of time, UTC."""


def quotable(
    hits: Sequence[Hit], asked: Question, asker: Person, text: str, window: Window | None = None
) -> list[Hit]:
    """The hits that answer the question well enough to be quoted, best first.

    A question that asks for a certain attribute is never answered by another one: "Where do I
    live?" not by a name, however alike the words are. One that asks about a time in the past
    (`window`) is answered by what held then, whether or not it still does.
    """
    if window is not None and asks_what_happened(asked, text):
        events = [hit for hit in hits if _happened(hit, asked, asker, window)][:LISTED]
        return sorted(events, key=lambda hit: _began(hit.fact) if hit.fact else hit.said_at)
    relevant = [
        hit for hit in hits if hit.evidence >= RELEVANT and _answers(hit, asked, asker, window)
    ]
    # what a message says comes second to the facts read off it, and to documents
    chosen = [hit for hit in relevant if hit.message is None] or relevant
    if asked.about == SELF and asked.attribute:
        # nothing that only sounds alike stands beside the asker's own value
        chosen = [hit for hit in chosen if hit.fact and hit.fact.attribute] or chosen
        chosen = [hit for hit in chosen if not BARE_NAME.match(hit.text)] or chosen
    if asks_for_all(asked, text):
        return chosen[:LISTED]
    return [hit for hit in chosen if hit.score >= chosen[0].score - CLOSE][:QUOTED]


def asks_for_all(asked: Question, text: str) -> bool:
    """True for "what do I like?": every value of an attribute that may have several.

    Not for "what food do I like?", where another word of content narrows it.
    """
    if asked.attribute is None or is_single_valued(asked.attribute):
        return False
    words = [term for term in query_terms(text).exact if not is_spelling(term)]
    return len(words) <= 1


def asks_what_happened(asked: Question, text: str) -> bool:
    """True for "what did I do yesterday?" and 先月何があった？, which give only a time."""
    if asked.attribute is not None:
        return False
    terms = [term for term in query_terms(text).exact if not is_spelling(term)]
    return all(term.isdecimal() or term in _OPEN for term in terms)


_OPEN = frozenset(
    term
    for words in (
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "yesterday today this last month week year day weekend night morning evening afternoon ago",
        "do happen happened go going say said tell told talk talked",
        "昨日 今日 一昨日 今朝 昨夜 今週 先週 先々週 今月 先月 先々月 今年 去年 昨年 一昨年",
        "週末 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 年 月 日 週 週間 前",
        "出来事 こと 話 話す 言う する ある",
    )
    for word in words.split()
    for term in query_terms(word).exact
    if not is_spelling(term)
)
"""Terms that leave open what is asked for, but when."""


def _happened(hit: Hit, asked: Question, asker: Person, window: Window) -> bool:
    """True for a fact that says what somebody did then: the asker, when they ask about that."""
    fact = hit.fact
    if fact is None or fact.attribute is not None or not _held(fact, window):
        return False
    return asked.about != SELF or asker in (fact.subject, fact.speaker)


def _answers(hit: Hit, asked: Question, asker: Person, window: Window | None) -> bool:
    if hit.fact is None:
        return True
    if asked.about == SELF and hit.fact.subject != asker:
        # "Where do I live?" is not answered by where somebody else lives, and a subject that is
        # only a name is somebody else for certain where an attribute of theirs is told
        valued = asked.attribute is not None and hit.fact.attribute is not None
        if valued or isinstance(hit.fact.subject, Person):
            return False
    if window is not None and asked.time is Tense.PAST and hit.fact.attribute is not None:
        return _held(hit.fact, window) and asked.fits(hit.fact.attribute)
    if hit.fact.attribute is None and hit.fact.superseded_by is None:
        return True  # what happened once, or is no value that another could replace
    past = hit.fact.superseded_by is not None or hit.fact.valid_until is not None
    if past != (asked.time is Tense.PAST):
        return False
    return asked.fits(hit.fact.attribute)


def _held(fact: Fact, window: Window) -> bool:
    """True when the fact was so at some time in the window."""
    start, end = window
    if fact.valid_from is None and fact.valid_until is None and fact.attribute is None:
        return start <= fact.said_at < end  # when it happened is not known: when it was said
    return _began(fact) < end and (fact.valid_until is None or fact.valid_until > start)


def _began(fact: Fact) -> datetime:
    return fact.valid_from or fact.said_at


def without_model(
    learned: Sequence[Remembered], used: Sequence[Hit], asked: Question, reader: Reader, text: str
) -> Reply:
    """The answer to `text` when there is no language model: quote, or say that nothing is known."""
    say = reader.say
    lines = [_acknowledge(item, say) for item in learned]
    if used:
        lines += [f"{quote(hit, reader)} [{n}]" for n, hit in enumerate(used, start=1)]
    elif only_redacted(text):
        lines.append(say("That looks like a secret: I did not keep it."))
    elif asked.is_question:
        lines.append(say("I know nothing about that."))
    elif asked.is_talk and not lines:
        lines.append(say("I am here: tell me something to remember, or ask me about it."))
    elif not lines:
        lines.append(say("I have no language model, so I only remember and find. I found nothing."))
    return Reply("\n".join(lines))


def _acknowledge(item: Remembered, say: Translator) -> str:
    if item.known:
        return say("I knew that already: {text}", text=item.fact.text)
    if item.replaced is not None:
        return say(
            "Remembered: {text} (before: {old})", text=item.fact.text, old=item.replaced.text
        )
    return say("Remembered: {text}", text=item.fact.text)


def quote(hit: Hit, reader: Reader) -> str:
    """The words, who said them and when."""
    text = " ".join(hit.text.split())
    day = reader.say.date(hit.said_at, reader.time_zone)
    fact: Fact | None = hit.fact
    if fact is not None and fact.held_until is not None:
        end = reader.say.date(fact.held_until, reader.time_zone)
        day = reader.say(", ").join((day, reader.say("until {day}", day=end)))
    return reader.say("“{text}” ({who}, {day})", text=text, who=_who(hit, reader), day=day)


def _who(hit: Hit, reader: Reader) -> str:
    if hit.chunk is not None:
        return label(hit.chunk, reader.say)
    speaker = hit.fact.speaker if hit.fact else hit.message.author if hit.message else None
    if speaker is None:
        return "Oboete"
    if speaker == reader.person:
        return reader.say("you")
    names = {person: name for name, person in reader.references}
    called = hit.fact.speaker_name if hit.fact else hit.message.author_name if hit.message else ""
    return names.get(speaker) or called or speaker.name


def citations(
    used: Sequence[Hit], numbers: Mapping[Ref, int], reader: Reader
) -> tuple[Citation, ...]:
    """Where the records that were used come from, by their numbers in the text."""
    found = []
    for hit in used:
        link = hit.message.permalink if hit.message else None
        link = hit.chunk.permalink if hit.chunk else link
        if hit.fact is not None:
            link = next((item.permalink for item in hit.fact.evidence if item.permalink), None)
        day = reader.say.date(hit.said_at, reader.time_zone)
        found.append(Citation(numbers[hit.ref], shown(f"{_who(hit, reader)}, {day}"), link))
    return tuple(found)

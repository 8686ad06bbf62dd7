"""What a message itself bears out of a fact that a model proposes to read off it.

A model sees what others wrote beside the message, and may have been talked into anything by it.
So whatever could add to what is known, or end it, is held against the author's own words by
rules: the words of the fact, whom it is about, which attribute, since when. Where the rules do
not bear the model out, the words stand as they were said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.extraction_prompts import ExtractedFact
from bot.plan import Leaning, leans
from memory import analysis, guards, tokens
from memory.analysis import Statement, Tense
from memory.analysis.results import is_single_valued
from memory.guards import Guard
from memory.types import Message, Span

_AGREES = re.compile(
    r"\b(?:yes|yeah|yep|ok|okay|sure|agreed?|deal|let'?s|let us|go ahead|do (?:it|that)|please do"
    r"|sounds (?:good|great|fine)|that works|correct|right|exactly|perfect|fine)\b"
    r"|はい|ええ|うん|いいね|いいですね|良いですね|了解|承知|賛成|同意|そうし|それで|お願い|決まり"
    r"|その通り|そのとおり|ぜひ|もちろん",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_]+(?:[ .・'-][^\W\d_]+){0,2}")
"""A display name may be any text; one like this can stand for "I"."""

_TWISTED = frozenset({Guard.NEGATION, Guard.ANTONYM, Guard.ROLE_SWAP, Guard.CERTAINTY, Guard.TENSE})
"""How the same words can say something else. That names and numbers differ is seen by the words:
with a pronoun's meaning put in they must."""

_ENDS_ANOTHER = frozenset({"likes", "dislikes"})
"""Kinds of attribute of which one value contradicts another, beside those with a single value."""


@dataclass(frozen=True, slots=True)
class BorneOut:
    """What may be believed of a proposal."""

    text: str
    subject: str | None
    """As rules read it (`SELF` or a name); None where they cannot tell and the model may."""
    attribute: str | None
    negated: bool
    is_dated: bool
    """The message speaks of a time at all."""
    is_agreement: bool
    """What Oboete had proposed was agreed to."""


def borne_out(
    proposal: ExtractedFact,
    message: Message,
    span: Span,
    earlier: Sequence[Message] = (),
    offered: str = "",
) -> BorneOut | None:
    """What the message bears out, or None when it states nothing at `span`.

    `earlier` are messages of the same author that tell what a pronoun stands for, `offered`
    Oboete's words that the model says were agreed to.
    """
    quote = message.text[span.start : span.end]
    text = " ".join(proposal.text.split())
    if offered and _AGREES.search(quote) is not None:
        stated = _agreed(text, quote, offered)
        if stated is not None:
            return _read(proposal, message, text, stated, is_agreement=True)
    stated = [
        statement
        for statement in analysis.statements(message.text, speaker_name=message.author_name)
        if statement.span.start < span.end and span.start < statement.span.end
    ]
    if not stated or not text:
        return None
    if is_latin(text) != is_latin(quote) or not _says(text, quote, message, earlier):
        text = quote
    return _read(proposal, message, text, stated, is_agreement=False)


def _says(text: str, quote: str, message: Message, earlier: Sequence[Message]) -> bool:
    """True when `text` says what `quote` says, in words of its author alone."""
    if guards.compare(text, quote, analysis.language_of(quote)).guards & _TWISTED:
        return False
    name = message.author_name if _NAME.fullmatch(message.author_name) else ""
    left = _terms(text) - _terms(f"{message.text} {name}")
    return not left or (
        leans(quote, earlier) is Leaning.YES
        and any(left <= _terms(before.text) for before in earlier)
    )


def _agreed(text: str, quote: str, offered: str) -> Sequence[Statement] | None:
    """The readings of a fact that one sentence of the proposal says; None when none does."""
    for sentence in analysis.split(offered):
        found = guards.compare(text, sentence.text, analysis.language_of(text)).guards
        if Guard.NEGATION in found:
            continue
        if _terms(text) <= _terms(f"{sentence.text} {quote}"):
            return analysis.statements(text, speaker_name="")
    return None


def _read(
    proposal: ExtractedFact,
    message: Message,
    text: str,
    stated: Sequence[Statement],
    *,
    is_agreement: bool,
) -> BorneOut:
    only = stated[0] if len(stated) == 1 else None
    attribute = (proposal.attribute or "").strip().casefold() or None
    negated = proposal.negated
    if attribute is not None and _ends_another(attribute):
        sure = [s for s in stated if s.attribute == attribute and s.tense is not Tense.PAST]
        if sure:
            negated = sure[0].negated
        else:
            now = only is not None and only.tense is not Tense.PAST
            attribute = only.attribute if only is not None and now else None
            negated = only.negated if only is not None and attribute else negated
    dated = analysis.resolve_time(
        message.text, message.sent_at, message.time_zone, analysis.language_of(message.text)
    )
    return BorneOut(
        text,
        only.subject if only is not None else None,
        attribute,
        negated,
        dated is not None or any(character.isdigit() for character in message.text),
        is_agreement,
    )


def _ends_another(attribute: str) -> bool:
    return is_single_valued(attribute) or attribute.partition(":")[0] in _ENDS_ANOTHER


def _terms(text: str) -> set[str]:
    """Words of content, by their stems or dictionary forms."""
    return {term for term in tokens.query_terms(text).exact if not tokens.is_spelling(term)}


def is_latin(text: str) -> bool:
    """Roughly: enough to see that something was translated or transcribed."""
    wide = sum(1 for c in text if ord(c) > 0x2E7F)
    return wide * 2 <= sum(1 for c in text if c.isalpha())

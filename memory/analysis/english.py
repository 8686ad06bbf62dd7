"""What can be told about one English clause without a model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from memory.analysis.english_rules import rules
from memory.analysis.lexicon import has_opposite_english
from memory.analysis.lexicon import words as words_of
from memory.analysis.results import SELF, Reading, Tense

_FLAGS: Final = re.IGNORECASE

_OPENERS: Final = re.compile(
    r"""^(?:
      (?:well|so|oh|ah|hi|hello|hey|actually|also|and|but|btw|by\ the\ way|fyi|for\ your\ information|for\ the\ record|anyway
        |honestly|to\ be\ honest|in\ fact|just\ so\ you\ know|(?:please\ )?note\ that|now|these\ days|nowadays|currently
        |as\ of\ (?:now|today)|hi\ (?:there|all|everyone)|hello\ (?:there|all|everyone))\b(?!\s+(?:is|are|was)\b)[\s,:;!.–—-]*
    | (?:ok|okay|yes|yeah|yep|no|nope|correction|update|sorry|thanks|thank\ you)\s*[,:;!.–—-]+\s*
    )+""",
    _FLAGS | re.VERBOSE,
)
_VOCATIVE: Final = re.compile(
    r"^(?:<@[^>]+>|@[\w.-]+)[\s,:]+(?=(?:i|i'm|i've|my|we|our|call|please)\b)", _FLAGS
)

GREETING: Final = re.compile(
    r"""^\W*(?:(?:hi|hello|hey|howdy|yo|good\ (?:morning|afternoon|evening|night)|bye|goodbye|see\ (?:you|ya)|later
    |thanks?(?:\ you)?|thx|ty|cheers|much\ appreciated|appreciate\ it|ok(?:ay)?|k|sure|yes|yeah|yep|yup|no|nope|nah|right
    |great|cool|nice|perfect|awesome|excellent|wonderful|amazing|lovely|good|fine|alright|got\ it|i\ see|understood
    |makes\ sense|sounds\ (?:good|great)|will\ do|no\ (?:problem|worries)|never\ ?mind|you're\ welcome|welcome|done
    |agreed|exactly|indeed|of\ course|absolutely|definitely|lol|haha+|hehe|wow|oops|hmm+|uh|um|oh|congrats
    |congratulations|well\ done|good\ (?:job|bot|work|to\ know|point|idea)|nice\ to\ meet\ you|how\ are\ you
    |how's\ it\ going|what's\ up|sup|happy\ birthday|take\ care|have\ a\ (?:good|nice|great)\ \w+)
    (?:\ (?:a\ lot|so\ much|very\ much|again|there|everyone|all|guys|team|folks|then|man|bot|oboete|for\ [\w\s']{1,40}
    |you|indeed|now|today|tomorrow|soon|doing|to\ you))*[\s,.!~:;)?]*)+\W*$""",
    _FLAGS | re.VERBOSE,
)
_CONTROL: Final = re.compile(
    r"^\W*(?:[A-Z]{2,}(?:_[A-Z]+)+|heartbeat(?:_ok)?|ping|pong|health\s?check|ack)\W*$|\b(?:NO_REPLY|HEARTBEAT_OK|HEARTBEAT)\b"
)
_COMMAND: Final = re.compile(
    r"""^(?:please\s+|kindly\s+|just\s+|now\s+|then\s+|don't\s+|do\ not\s+|never\s+|always\s+|can\ you\s+)*
    (?:show|tell|give|list|find|search|look|explain|write|rewrite|summari[sz]e|translate|help|make|create|open|run|send
    |check|remind|remember|forget|stop|start|delete|remove|set|add|update|compare|describe|draw|generate|calculate
    |convert|read|let's|let\ me|let\ us|ignore|respond|reply|answer|ask|think|try|use|go|come|wait|take|get|put|keep
    |note\ down|save|store|schedule|book|post|say|repeat|print|return|output|format|fix|change|correct|recommend
    |suggest|imagine|suppose|pretend|see|click|install|restart|disregard|consider|be|have\ a|feel\ free|provide|include)\b""",
    _FLAGS | re.VERBOSE,
)
_JOKE: Final = re.compile(
    r"\b(?:just\s+kidding|only\s+joking|i'm\s+(?:just\s+)?(?:joking|kidding)|jk|lol|lmao|rofl|haha+)\b|(?:^|\s)/[sj]\s*$|\(joke\)|[😂🤣😜🤪]",
    _FLAGS,
)
_HYPOTHETICAL: Final = re.compile(
    r"""\b(?:if\ (?:i|we|you|he|she|they|my|only)\b|what\ if|suppose|supposing|imagine|hypothetically|let's\ say|say\ i
    |pretend|i\ wish|i'd\ rather|(?:i|we|you|he|she|they|it)(?:\ would|'d)\ (?:have|be|live|move|work|love|hate|never)\b|were\ i\ to|in\ theory|as\ if|as\ though|unless\ i)""",
    _FLAGS | re.VERBOSE,
)
_UNCERTAIN: Final = re.compile(
    r"""\b(?:may|might|could(?!\ be\ described)|maybe|perhaps|possibly|probably|presumably|supposedly|apparently|allegedly
    |i\ (?:think|guess|suppose|believe|assume|hope|heard|doubt)|not\ sure|unsure|thinking\ (?:of|about)|considering|seems?
    |looks\ like|likely|hoping|hopes?\ to|plans?\ (?:to|on)|planning|wants?\ to|would\ like|should|would|rumou?r(?:ed)?|is\ said\ to|if)\b""",
    _FLAGS | re.VERBOSE,
)
# "in May" is a month, not a doubt.
_MONTH_MAY: Final = re.compile(
    r"\b(?:in|on|since|until|by|of|early|late|next|last|this|\d{1,2}(?:st|nd|rd|th)?)\s+May\b|\bMay\s+\d|^May\s+(?:is|was)\b"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no\s+longer|no|nobody|none|nothing|neither|nor|without|cannot|hardly|barely)\b|n't\b|\b(?:dont|doesnt|didnt|isnt|wasnt|cant|wont)\b",
    _FLAGS,
)
_PAST: Final = re.compile(
    r"\b(?:used\ to|was|were|did|didn't|had|went|once|formerly|previously|yesterday|ago|last\ (?:night|week|month|year|\w+day)|back\ then|\w{3,}ed"
    # irregular forms that are nothing but past, and end no value as "got" and "became" begin one
    r"|ate|bought|broke|brought|built|caught|came|drank|drove|fell|flew|forgot|fought|gave|heard"
    r"|knew|lost|met|paid|ran|rode|said|saw|sent|sold|spent|spoke|stole|swam|taught|thought|told"
    r"|wore|won|wrote)\b".replace(r"\ ", r"\s"),
    _FLAGS,
)
# "is allowed", "has moved": what holds now, in spite of the -ed.
_PRESENT: Final = re.compile(r"\b(?:is|are|am|has|have|does|do)\b|'(?:m|re|ve)\b", _FLAGS)
_FUTURE: Final = re.compile(
    r"\b(?:will|won't|shall|going\s+to|gonna|tomorrow|next\s+(?:week|month|year|\w+day|spring|summer|autumn|fall|winter)|(?:i|we|you|they|he|she|it)'ll)\b|\b(?:am|is|are|'m|'re|'s)\s+(?:moving|leaving|starting|joining|changing|switching)\b|'m\s+(?:moving|leaving|starting|joining|changing|switching)\b",
    _FLAGS,
)

_CLAUSE: Final = re.compile(
    r"(?:,\s*|\s+)(?:and|but|so|while|whereas)\s+(?=(?:i|i'm|i've|my|we|our)\b)|;\s+|,\s+(?=(?:i|i'm|i've|my)\s)",
    _FLAGS,
)

# The end of a value: the next clause, a comment or a time word.
_VALUE_END: Final = re.compile(
    r"""\s*(?:[.!。！…]+\s*$|,(?!\s(?-i:[A-Z]))|[;(:]|\s[–—-]+\s|\s+(?:and\s+(?:i|my|we|it|the|she|he|they)|but|because|since|so|although|though|while|which
    |when|where|who|if|as\ well|too|very\ much|a\ lot|so\ much|these\ days|now|right\ now|at\ the\ moment|currently
    |nowadays|anymore|any\ more|again|today|already|actually|instead|by\ the\ way|with\ my|for\ (?:\w+\ )?(?:years?|months?)|for\ everything
    |in\ (?-i:January|February|March|April|May|June|July|August|September|October|November|December)|(?:in|since)\ (?:19|20)\d\d|last\ (?:week|month|year|\w+day)|yesterday|(?:\w+\ )?(?:days?|weeks?|months?|years?)\ ago|please|thanks)\b)""",
    _FLAGS | re.VERBOSE,
)
_ARTICLE: Final = re.compile(r"^(?:the|a|an|my|our|some|any|to|that)\s+", _FLAGS)


def _plain(value: str) -> str:
    return _ARTICLE.sub("", value.strip().strip("\"'“”‘’*_`").strip())


def cut(value: str) -> str:
    """`value` up to the next clause or closing word, without article or quotes."""
    end = _VALUE_END.search(value)
    return _plain(value[: end.start()] if end else value.rstrip(" .!?"))


def key(value: str) -> str:
    """`value` as part of an attribute: lower case, one space, no article."""
    return " ".join(_plain(value).lower().split())


_RELATION_AND_NAME: Final = re.compile(
    r"^(?:my|our)\s+(?:\w+\s+){0,2}?(?:friend|wife|husband|partner|girlfriend|boyfriend|boss|manager|colleague|coworker|co-worker|teammate|neighbou?r|brother|sister|mother|father|mom|mum|dad|son|daughter|cousin|uncle|aunt|roommate|flatmate|classmate|teacher|dog|cat)\s*,?\s+(?P<name>(?-i:[A-Z])[\w-]*(?:\s(?-i:[A-Z])[\w-]*)?)",
    _FLAGS,
)
_SELF_SUBJECT: Final = re.compile(r"^(?:i|i'm|i've|i'd|i'll|mine|myself|me)\b", _FLAGS)
_MY_THING: Final = re.compile(
    r"^my\s+(?P<noun>(?:\w+\s+){0,2}?\w+?)(?:'s\b|\s+(?:is|are|was|were|has|have|had|will|does|can|may|might|lives?|works?|likes?|loves?|hates?|moved|just|also|got|went|said|\w+ed)\b)",
    _FLAGS,
)
_OWN_PROPERTY: Final = re.compile(
    r"^(?:name|birthday|job|home|address|email|phone|number|age|team|hobby|hobbies|favou?rite|plan|goal|deadline|title|role|salary|desk|account|nickname|employer|company|height|weight|blood|allerg|pronouns|diet|major|university|school|car|laptop|editor|setup|preference)",
    _FLAGS,
)
_NAME_SUBJECT: Final = re.compile(
    r"^(?P<name><@[^>]+>|@[\w.-]+|(?!\w+ly\b)[A-Z][\w-]*(?:\s(?!I\b)[A-Z][\w-]*){0,2})(?:'s)?\s+(?!(?:and|or)\b)[a-z]"
)
_NOT_A_NAME: Final = words_of("never_names_en.txt")


def is_skipped(sentence: str) -> bool:
    """True for greetings, acknowledgements, control words, requests and hypotheticals."""
    plain = straight(sentence)
    body = opened(plain)
    if GREETING.match(plain) or GREETING.match(body) or _CONTROL.search(plain) or len(body) < 2:
        return True
    if _HYPOTHETICAL.search(body):
        return True
    return bool(_COMMAND.match(body)) and _match(body) is None


def is_joke(sentence: str) -> bool:
    """True when the words say that they, or the words before, were not meant."""
    return bool(_JOKE.search(straight(sentence)))


def clauses(sentence: str) -> list[tuple[int, int]]:
    """Ranges of the clauses of `sentence` when each of them has a pattern of its own."""
    starts = [0] + [m.end() for m in _CLAUSE.finditer(straight(sentence))]
    ends = [m.start() for m in _CLAUSE.finditer(straight(sentence))] + [len(sentence)]
    parts = [(a, b) for a, b in zip(starts, ends, strict=True) if sentence[a:b].strip()]
    if len(parts) > 1 and all(_match(opened(straight(sentence[a:b]))) for a, b in parts):
        return parts
    return [(0, len(sentence))]


def read(clause: str) -> Reading:
    """What the patterns tell about `clause`; doubtful or future clauses get no attribute."""
    body = opened(straight(clause))
    certain = not _UNCERTAIN.search(without_may_month(body))
    negated = bool(_NEGATION.search(body))
    tense = _tense(body)
    found = _match(body)
    subject = _subject(body)
    if found is None:
        return Reading(subject, None, None, negated, certain, tense)
    reading = replace(found, subject=found.subject or subject)
    if not certain or (tense is Tense.FUTURE and not _dated(found.attribute)):
        return Reading(reading.subject, None, None, negated, certain, tense)
    return reading


def _dated(attribute: str | None) -> bool:
    """Attributes whose value is a date: a word like "tomorrow" belongs to the value."""
    return bool(attribute) and str(attribute).partition(":")[0] in {
        "deadline",
        "birthday",
        "decision",
    }


def _match(body: str) -> Reading | None:
    for pattern, attribute, tense in rules():
        match = pattern.match(body)
        if match is None:
            continue
        groups = match.groupdict()
        raw = groups["value"]
        value = cut(raw)
        if (
            not value
            or "[redacted" in value
            or len(value) > 80
            or (attribute == "name" and len(value.split()) > 4)
        ):
            continue
        if groups.get("bare") and not _is_name(value):
            continue
        if attribute.endswith(":"):
            attribute += key(groups.get("object") or value)
        if attribute == "birthday" or attribute.startswith("deadline"):
            value = _plain(raw.rstrip(" .!"))
        who = groups.get("who")
        if who and who.split()[0].lower() in _NOT_A_NAME:
            continue
        subject = (
            _other(who)
            if who
            else SELF
            if re.match(
                r"^(?:i|my|call|start|please|refer|address|people|everyone|everybody|they|friends)\b",
                body,
                _FLAGS,
            )
            or " my " in f" {body} "
            or " i " in f" {body.lower()} "
            else None
        )
        return Reading(subject, attribute, value, bool(groups.get("no")), True, tense)
    return None


def _is_name(value: str) -> bool:
    """True for "Taro", false for "Japanese", "CEO" and "Ready"."""
    return not any(
        word.isupper()
        or word.endswith("ing")
        or word.lower() in _NOT_A_NAME
        or has_opposite_english(word.lower())
        for word in value.split()
    )


def _other(who: str) -> str:
    named = _RELATION_AND_NAME.match(who)
    if named:
        return named["name"]
    words = who.split()
    return " ".join(words[1:]) if words[0].lower() in {"my", "our"} else who


def _subject(body: str) -> str | None:
    named = _RELATION_AND_NAME.match(body)
    if named:
        return named["name"]
    if _SELF_SUBJECT.match(body):
        return SELF
    mine = _MY_THING.match(body)
    if mine:
        noun = mine["noun"]
        return SELF if _OWN_PROPERTY.match(noun) else noun
    other = _NAME_SUBJECT.match(body)
    if other and other["name"].split()[0].lower() not in _NOT_A_NAME:
        return other["name"].removesuffix("'s")
    return None


def _tense(body: str) -> Tense:
    if _FUTURE.search(body):
        return Tense.FUTURE
    if _PRESENT.search(body) and not re.search(r"\bused\s+to\b", body, _FLAGS):
        return Tense.NOW
    return Tense.PAST if _PAST.search(body) else Tense.NOW


def opened(text: str) -> str:
    """`text` without a leading mention of the listener and words like "by the way"."""
    text = _VOCATIVE.sub("", text.strip())
    return _VOCATIVE.sub("", _OPENERS.sub("", text).strip())


def without_may_month(text: str) -> str:
    """`text` without "in May" and the like, where "may" is no doubt."""
    return _MONTH_MAY.sub(" ", text)


def straight(text: str) -> str:
    """Curly apostrophes and quotes made straight, character by character."""
    return text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})

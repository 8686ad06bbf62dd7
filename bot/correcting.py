"""What is right, put together from the old words and the new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory import analysis
from memory.analysis.japanese import HONORIFIC, RELATIONS
from memory.analysis.morphology import Token, tokens
from memory.types import Fact


@dataclass(frozen=True, slots=True)
class _Frame:
    """The words of a sentence around the value that it gives."""

    before: str
    value: str
    after: str


_EDGE = " \t\r\n.!?。！？"
_ON = (
    r"on|in|at|by|from|until|under|behind|above|below|beside|near|for|to|inside|between|after|before"
    r"|over|with"
)
_LEADING = re.compile(rf"^(?:{_ON})\s", re.IGNORECASE)
_ARTICLES = r"(?:a|an|the)"
_ARTICLE_AT_END = re.compile(rf"\b{_ARTICLES}\s$", re.IGNORECASE)
_DETERMINER = re.compile(rf"^(?:{_ARTICLES}|my|our|your|his|her|their)\s", re.IGNORECASE)
_TRAILING = re.compile(rf"\b(?:{_ON})(?:\s+{_ARTICLES})?\s$", re.IGNORECASE)
_TIME_TRAILING = re.compile(r"\b(?P<on>on|in|at)\s$", re.IGNORECASE)
_ADVERB = re.compile(
    r"^(?:tomorrow|today|tonight|yesterday|every|next|this|last|not|never|always|already)\b",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = r"\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d|noon|midnight"
_TAKES = (
    (
        "on",
        re.compile(
            rf"^(?:{_WEEKDAY}|(?:the\s)?{_DAY}\s(?:of\s)?{_MONTH}|{_MONTH}\s{_DAY})\b", re.I
        ),
    ),
    ("at", re.compile(rf"^(?:{_CLOCK})", re.I)),
    ("in", re.compile(rf"^(?:{_MONTH}|(?:19|20)\d\d)$", re.I)),
)
"""The preposition that a time takes."""

_KINDS = tuple(
    re.compile(kind, re.IGNORECASE)
    for kind in (
        rf"\b{_WEEKDAY}\b",
        rf"\b(?:the\s)?{_DAY}\s(?:of\s)?{_MONTH}\b|\b{_MONTH}\s{_DAY}\b",
        rf"\b{_MONTH}\b",
        rf"(?<![\d:])(?:{_CLOCK})(?!\w)",
        r"\b(?:red|blue|green|yellow|black|white|brown|orange|purple|pink|gr[ae]y)\b",
        r"[月火水木金土日]曜日?",
        r"(?:赤|青|白|黒|黄色|茶色)い",
        r"\d{1,2}月\d{1,2}日",
        r"(?:午前|午後)?\d{1,2}時(?:半|\d{1,2}分)?",
    )
)
"""Values that can only stand for one of their own kind."""

_BE = re.compile(
    r"\b(?:is|are|was|were|am|starts?|begins?|ends?|opens?|closes?|leaves?|arrives?|departs?|costs?"
    r"|weighs?|stands?|hangs?|sits?|takes\splace)\s+(?:(?:not|now|still|currently|usually)\s+)*",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\s(?:not|still)(?=\s)", re.IGNORECASE)
_BEFORE_PLACE = r"\w+ed|kept|held|hung|put|set|left|hidden|written|due|built|made"
_PARTICIPLE = re.compile(rf"(?:(?:{_BEFORE_PLACE})\s+(?:{_ON})|called|named)\s", re.IGNORECASE)
_PLACED = re.compile(
    rf"(?:(?:called|named)\s+|(?:{_BEFORE_PLACE})\s+(?=(?:{_ON})\b))?(?:(?:{_ON})\s+)?",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(r"(?:where|what|who|when|how|why|that|because)\b", re.IGNORECASE)
_OF_ITSELF = re.compile(
    r"^(?:I|we|he|she|they|there)\b|^(?P<head>[^,]{1,80}?)\b(?:is|are|was|were|has|have|will)\s",
    re.IGNORECASE,
)
_RELATIVE = re.compile(rf"\b(?:which|that|who|where|when|if)\b|^(?:{_ON})\b", re.IGNORECASE)
_OF_ITS_SPEAKER = re.compile(
    rf"\b(?:I|me|my|mine|we|us|our|ours)\b|私|僕|俺|わたし|ぼく|うち|自分|{'|'.join(sorted(RELATIONS))}",
    re.IGNORECASE,
)
"""Words that mean another person when somebody else says them."""
_NOT_BE_JA = re.compile(r"(?:では|じゃ)(?:ない|ありません)(?:です)?(?:よ|ね)?$")
_BE_JA = re.compile(r"^(?:です|だ|である|でした|だった)(?:よ|ね)?$")


def same_slot(known: Sequence[Fact], whole: str) -> Fact | None:
    """The fact that a whole sentence corrects: of its attribute; else the first that it may be."""
    about = _slot(analysis.read(whole).attribute)
    rivals = [fact for fact in known if about and _slot(fact.attribute) == about]
    if rivals:
        return rivals[0]
    return next((f for f in known if about is None or f.attribute is None), None)


def is_anybodys(fact: Fact) -> bool:
    """True when the words mean the same whoever says them: not "I live in …", nor a Japanese
    sentence without a topic, which is about its speaker.
    """
    of_speaker = fact.attribute is not None and fact.subject == fact.speaker
    if of_speaker or _OF_ITS_SPEAKER.search(fact.text):
        return False
    return fact.language != "ja" or _topic(tokens(fact.text)) is not None


def _slot(attribute: str | None) -> str | None:
    name = attribute.partition(":")[0] if attribute else None
    return "likes" if name == "dislikes" else name


def best_fit(learned: Sequence[Fact], used: Sequence[Fact], said: str) -> Fact | None:
    """The fact whose value the fragment can stand for; None when that is open.

    What was just told goes before what was quoted; of quotations the best one comes first.
    """
    likely = [f for f in (*learned, *used) if _of_kind(f.text, said) or _same_name(f.text, said)]
    if likely:
        return likely[0] if len(learned) < 2 or likely[0] in used or len(likely) == 1 else None
    if len(learned) == 1 and (not used or corrected(learned[0].text, said) is not None):
        return learned[0]
    return used[0] if used and not learned else None


def whole_sentence(said: str, message: str) -> str | None:
    """`said` as it ended in the message, if it says by itself what it is about; else None."""
    at = message.rfind(said)
    as_said = message[at:].strip() if at >= 0 else said
    if len(said) > analysis.LONGEST_SENTENCE:
        return as_said
    if analysis.read(as_said).attribute is not None:
        return as_said
    if analysis.language_of(said) == "ja":
        words = tokens(said)
        return as_said if _topic(words) is not None else None
    found = _OF_ITSELF.match(said)
    if found is None or _RELATIVE.search(found["head"] or ""):
        return None
    return as_said


def corrected(wrong: str, said: str) -> str | None:
    """The old sentence with what was said in the place of its value; None when it has no place."""
    text = wrong.rstrip(_EDGE)
    closing = wrong.rstrip()[len(text) :]
    said = said.strip(_EDGE)
    is_japanese = analysis.language_of(wrong) == "ja"
    # 〜ではない, "is not …": what it is instead stands for all of that
    denied = analysis.read(text).negated
    frame = (None if denied else _of_kind(text, said)) or _of_attribute(text)
    if frame is None and len(text) <= analysis.LONGEST_SENTENCE:
        frame = _japanese_frame(text, said) if is_japanese else _english_frame(text, said)
    if frame is None:
        return None
    fit = _fitted_japanese if is_japanese else _fitted_english
    right = fit(frame, said)
    return right + closing if right != text else None


def _of_kind(text: str, said: str) -> _Frame | None:
    """The one value in the text that is of the kind of what was said: a weekday for a weekday, a
    number with the same words around it for a number.
    """
    if len(text) > analysis.LONGEST_SENTENCE:
        return None
    bare = _LEADING.sub("", said.strip(_EDGE))
    shapes = [kind for kind in _KINDS if kind.fullmatch(bare)]
    if re.search(r"\d", bare):
        shape = r"\d+".join(re.escape(piece) for piece in re.split(r"\d+", bare))
        shapes.append(re.compile(rf"(?<![\w.,:]){shape}(?![\d.,:]\d|\d)", re.IGNORECASE | re.ASCII))
    for kind in shapes:
        found = list(kind.finditer(text))
        if len(found) == 1:
            at = found[0]
            return _Frame(text[: at.start()], at.group(), text[at.end() :])
    return None


def _of_attribute(text: str) -> _Frame | None:
    """The value that the patterns of the analysis read."""
    value = analysis.read(text).value
    at = text.rfind(value) if value else -1
    return _Frame(text[:at], value, text[at + len(value) :]) if value and at >= 0 else None


def _same_name(text: str, said: str) -> bool:
    """True when both are names of one sort: of places, of people."""
    frame = _of_attribute(text)
    if frame is None or analysis.language_of(said) != "ja":
        return False
    return bool(_sorts(frame.value) & _sorts(said))


def _sorts(value: str) -> set[str]:
    return {tag for word in tokens(value) for tag in word.tags if tag in {"地名", "人名"}}


def _english_frame(text: str, said: str) -> _Frame | None:
    """All that stands behind the verb, and a preposition there, is the value."""
    found = list(_BE.finditer(text))
    if len(found) != 1 or not text[: found[0].start()].strip():
        return None
    at = found[0].end()
    before = _DENIED.sub("", text[:at])
    if _QUESTION_WORD.match(text, at):
        return None  # "Osaka is where I live"
    placed = _PLACED.match(text, at)
    if placed is not None and not _PARTICIPLE.match(said):
        before += placed.group()
        at = placed.end()
    return _Frame(before, text[at:], "")


def _fitted_english(frame: _Frame, said: str) -> str:
    """The value between the old words, with one preposition and one article before it."""
    before, after = frame.before, frame.after
    if _LEADING.match(said):
        before = _TRAILING.sub("", before)
    elif _ADVERB.match(said):
        before = _TIME_TRAILING.sub("", before)
    elif _TIME_TRAILING.search(before):
        takes = next((word for word, kind in _TAKES if kind.match(said)), None)
        before = _TIME_TRAILING.sub(f"{takes} ", before) if takes else before
    if not after or _DETERMINER.match(said):
        before = _ARTICLE_AT_END.sub("", before)
    if after and said.endswith(after):
        said = said[: -len(after)]
    return f"{before}{said}{after}"


def _topic(words: Sequence[Token]) -> int | None:
    """Index of the last は that sets what the sentence is about before something that is said of
    it; None without.
    """
    found = [
        index
        for index, word in enumerate(words[:-1])
        if index > 0
        and word.surface == "は"
        and word.is_a("助詞", "係助詞")
        and words[index - 1].tags[0] not in {"助動詞", "助詞"} - _nominal(words[index - 1])
    ]
    return found[-1] if found else None


def _nominal(word: Token) -> set[str]:
    """The の of 住んでいるのは makes a noun of what stands before it."""
    return {"助詞"} if word.is_a("助詞", "準体助詞") else set()


def _japanese_frame(text: str, said: str) -> _Frame | None:
    """What stands between the topic and the particle of the predicate, or the copula, is the value.

    鍵は(青い箱)にあります, 会議は(水曜の10時から)です. A new value with a predicate stands for all
    of it; a person is no place (鍵は田中さんです).
    """
    text = _NOT_BE_JA.sub("です", text)
    words = tokens(text)
    topic = _topic(words)
    if topic is None:
        subject = [i for i, word in enumerate(words[:-1]) if word.surface == "が" and i > 0]
        if len(subject) != 1 or not any(_BE_JA.match(w.surface) for w in words[subject[0] :]):
            return None
        topic = subject[0]
    first = topic + 1
    last = len(words)
    while last > first and words[last - 1].tags[0] in {"補助記号", "助動詞", "動詞", "助詞"}:
        if words[last - 1].is_a("助詞", "格助詞"):
            break
        last -= 1
    verb = next((i for i in range(last, len(words)) if words[i].is_a("動詞")), None)
    if verb is not None:
        last = verb
        if words[last].base == "する" and words[last - 1].is_a("名詞"):
            last -= 1
        if words[last - 1].is_a("助詞", "格助詞"):
            last -= 1
    elif last == len(words) or not _BE_JA.match(text[words[last].start :]):
        last = len(words)
    start = words[first].start if first < len(words) else len(text)
    end = words[last].start if last < len(words) else len(text)
    if start >= end and verb is None:
        return None
    before, value, after = text[:start], text[start:end], text[end:]
    if _has_predicate(said):
        return _Frame(before, value + after, "")
    denied = re.search(r"(?:ない|ません|なかった)(?:です|でした)?$", after)
    if verb is not None and (not value or denied or _is_person(said) != _is_person(value)):
        return _Frame(before, value + after, "です")
    return _Frame(before, value, after)


def _has_predicate(said: str) -> bool:
    """True for 赤い箱にあります, false for 赤い箱 and 10時から."""
    words = [word for word in tokens(said) if not word.is_a("補助記号")]
    return bool(words) and words[-1].tags[0] in {"動詞", "助動詞"}


def _is_person(words: str) -> bool:
    found = tokens(words)
    return bool(HONORIFIC.search(words)) or bool(found and "人名" in found[-1].tags)


def _fitted_japanese(frame: _Frame, said: str) -> str:
    """The value between the old words, with one particle behind it: its own, if it has one."""
    said = re.sub(r"(?:です|だ)[よね]{1,3}$", "", said)
    words, behind = tokens(said), tokens(frame.after)
    ends = words[-1] if words else None
    if ends is not None and ends.is_a("助詞") and behind and behind[0].is_a("助詞", "格助詞"):
        return f"{frame.before}{said}{frame.after[len(behind[0].surface) :]}"
    if _has_predicate(said) and not _BE_JA.match(frame.after):
        return f"{frame.before}{said}"
    return f"{frame.before}{said}{frame.after}"

"""What can be told about a text without a language model, in English and Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from unicodedata import category

from memory.analysis import english, japanese
from memory.analysis.language import language_of
from memory.analysis.questions import asks, question
from memory.analysis.results import SELF, Question, Reading, Sentence, Statement, Tense
from memory.analysis.sentences import split
from memory.analysis.time_words import resolve_time
from memory.types import Span

__all__ = [
    "SELF",
    "Question",
    "Reading",
    "Sentence",
    "Statement",
    "Tense",
    "asks",
    "language_of",
    "only_redacted",
    "question",
    "read",
    "resolve_time",
    "split",
    "statements",
]


LONGEST_SENTENCE = 1_000
"""Characters. What nobody ends for longer than that is pasted, or meant to keep the patterns busy:
some take time by the square of its length."""


def read(text: str, *, speaker_name: str | None = None) -> Reading:
    """What the patterns can tell about one sentence; an empty reading in other languages and of
    what is longer than LONGEST_SENTENCE.
    """
    if len(text) > LONGEST_SENTENCE:
        return Reading()
    plain = _undecorated(text)
    reading = _read(plain)
    if reading.attribute is None and plain != text:
        reading = _read(text)  # "I like 🍣": the picture is what is said
    if speaker_name and reading.subject and reading.subject.casefold() == speaker_name.casefold():
        # "Taro likes cats", said by Taro.
        return replace(reading, subject=SELF)
    return reading


def _read(text: str) -> Reading:
    language = language_of(text)
    if language == "ja":
        return japanese.read(text)
    return english.read(text) if language in {"en", "und"} else Reading()


def _undecorated(text: str) -> str:
    """Without the pictures that it ends in, which would hide the end of the sentence."""
    end = len(text)
    while end and (category(text[end - 1]) == "So" or text[end - 1] in _BESIDE_PICTURES):
        end -= 1
    return text[:end] if text[end:].strip() else text


_BESIDE_PICTURES = frozenset(" \u3000\u200d\ufe0e\ufe0f🏻🏼🏽🏾🏿")
"""Spaces, what joins and varies pictures, and skin tones."""


def statements(text: str, *, speaker_name: str) -> list[Statement]:
    """The sentences of `text` worth remembering, in order.

    Not questions, greetings, thanks, requests, hypotheticals, jokes, code, quotations or
    control words. A sentence of several clauses with a pattern each gives one statement
    per clause. What is longer than LONGEST_SENTENCE is left out.
    """
    found: list[Statement] = []
    for sentence in split(text):
        if len(sentence.text) > LONGEST_SENTENCE:
            continue
        if english.is_joke(sentence.text) or japanese.is_joke(sentence.text):
            # "I live on the moon. Just kidding!"
            found = found[:-1] if _is_short(sentence.text) else found
            continue
        if not _is_skipped(sentence.text):
            stated = _stated(sentence, speaker_name)
            found.extend(_unless_somebody_elses(statement, found) for statement in stated)
    return found


def _unless_somebody_elses(statement: Statement, earlier: list[Statement]) -> Statement:
    """犬を飼っています。名前はポチです: the name is that of whoever was just spoken of."""
    if statement.attribute != "name" or statement.language != "ja" or not earlier:
        return statement
    speaks_of_self = any(word in statement.text for word in ("私", "僕", "俺", "わたし", "ぼく"))
    others = [word for word in sorted(japanese.RELATIONS) if word in earlier[-1].text]
    if speaks_of_self or not (others or "飼" in earlier[-1].text):
        return statement
    if len(others) == 1:
        return replace(statement, subject=others[0])
    return replace(statement, subject=None, attribute=None, value=None)


def _is_short(text: str) -> bool:
    return len(text) <= 24


_PLACEHOLDER = re.compile(r"\[redacted: [^\]\n]{1,40}\]")
_SAYS_NOTHING = re.compile(
    r"^\W*(?:(?:my|our|the|his|her|a|an|new|old|current|here|this|that|it|and|is|are|was|to|for|of|in|be"
    r"|changed|set|use|pass(?:word|code|phrase)?s?|pin|api|access|secret|private|key|token|credentials?"
    r"|log\s?in|card|credit|debit|number|account|my\s?number|wi-?fi|admin|root|user(?:name)?|db|database"
    r"|server|slack|github|aws|openai|email|mail)\b\W*"
    r"|(?:私|僕|俺|わたし|新しい|古い|今|の|は|が|を|に|も|と|です|だよ?|でした|ます|こちら|これ"
    r"|パスワード|暗証番号|パスコード|秘密鍵|鍵|キー|トークン|カード|クレジットカード|クレカ|番号|口座"
    r"|マイナンバー|個人番号|ログイン|アカウント|管理者|社内|サーバー?|ワイファイ|変更|変え|し|ました|まし|た)\W*)*$",
    re.IGNORECASE,
)


def only_redacted(text: str) -> bool:
    """True when a secret was all that the sentence told."""
    left, count = _PLACEHOLDER.subn(" ", text)
    return count > 0 and _SAYS_NOTHING.match(left) is not None


def _is_skipped(text: str) -> bool:
    if only_redacted(text):
        return True
    if not any(character.isalpha() for character in text) or _is_quotation(text):
        return True
    asked = question(text)
    if asked.is_question or asked.is_talk:
        return True
    return japanese.is_skipped(text) if language_of(text) == "ja" else english.is_skipped(text)


def _is_quotation(text: str) -> bool:
    """True when most of the sentence stands in quotation marks."""
    quoted = 0
    for opening, closing in (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"), ("«", "»")):
        start = text.find(opening)
        end = text.rfind(closing)
        if 0 <= start < end:
            quoted = max(quoted, end - start + 1)
    return quoted * 2 > len(text)


def _stated(sentence: Sentence, speaker_name: str) -> Iterator[Statement]:
    language = language_of(sentence.text)
    cut = japanese.clauses if language == "ja" else english.clauses
    for start, end in cut(sentence.text):
        clause = sentence.text[start:end].strip(" 、,;")
        offset = sentence.span.start + sentence.text.index(clause, start)
        reading = read(clause, speaker_name=speaker_name)
        yield Statement(
            text=clause,
            span=Span(offset, offset + len(clause)),
            subject=reading.subject,
            attribute=reading.attribute,
            value=reading.value,
            negated=reading.negated,
            certain=reading.certain,
            tense=reading.tense,
            language=language,
        )

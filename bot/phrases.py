"""Commands in plain words, in English and Japanese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.analysis import asks


@dataclass(frozen=True, slots=True)
class Phrase:
    """A command that somebody said instead of typing it."""

    command: str
    """Name in the registry, or `correct`."""
    argument: str = ""


_END = r"$"
"""What it stands for, white space and full stops, is taken off before: within the patterns it
would be tried again at every place of a text.
"""
_PLEASE = r"^(?:please,?\s+|hey,?\s+|ok(?:ay)?,?\s+)?"
_JA_PLEASE = r"(?:ください|下さい|くれ(?:ますか)?|ほしい|もらえますか|ね|よ)?"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), command)
    for pattern, command in (
        (
            _PLEASE
            + r"forget (?:everything|all)(?: (?:about me|you know(?: about me)?|I said))?"
            + _END,
            "forget everything",
        ),
        (
            r"^(?:私の?(?:こと|情報)?(?:は|を|の?ことは?)?)?(?:全部|すべて|全て|何もかも)(?:を)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget everything",
        ),
        (
            _PLEASE
            + r"(?:what do you (?:know|remember) about me|list (?:my )?(?:facts|memories))[?？]?"
            + _END,
            "list",
        ),
        (
            r"^(?:私|僕|俺|わたし|自分)(?:について|のこと)(?:を|は|、)?(?:何|なに)[かを]?(?:知って|覚えて)\S*?[?？]?"
            + _END,
            "list",
        ),
        (_PLEASE + r"(?:undo(?: that| it)?|take that back)" + _END, "undo"),
        (r"^(?:取り消して?|取消|元に戻して)" + _JA_PLEASE + _END, "undo"),
        (_PLEASE + r"(?:help(?: me)?|what can you do[?？]?)" + _END, "help"),
        (
            r"^(?:ヘルプ|使い方(?:は|を教えて)?|(?:何|なに)が(?:できる|できます|出来ます)(?:の|か)?)[?？]?"
            + _END,
            "help",
        ),
        (_PLEASE + r"export (?:my|all my) (?:data|facts|memories|memory)" + _END, "export"),
        (
            r"^(?:私の)?(?:データ|記憶)を(?:書き出して|エクスポートして)" + _JA_PLEASE + _END,
            "export",
        ),
        (r"^why(?: did you say that)?[?？]" + _END, "why"),
        (r"^(?:なぜ|なんで|どうして)(?:そう(?:言った|思った)の?)?[?？]" + _END, "why"),
        (
            r"^(?:no,?\s+)?that(?:'|’)?s (?:wrong|not right|incorrect)[,.;:]?\s*"
            r"(?:it(?:'|’)?s|it is)\s+(?P<rest>.+?)" + _END,
            "correct",
        ),
        (
            r"^(?:それは?|いや、?)?(?:違う|違います|間違い(?:です)?)(?:よ|ね)?[、。,.\s]+(?P<rest>.+?)(?:です|だよ|だ)?"
            + _END,
            "correct",
        ),
        (  # a whole sentence takes the place of what was wrong by what it is about
            r"^(?:no,?\s+)?that(?:'|’)?s (?:wrong|not right|incorrect)[,.;:]\s*"
            r"(?P<rest>(?:I|my|we|our)\b.+)$",
            "remember",
        ),
        (
            r"^(?:覚えて|記憶して|憶えて)(?:おいて)?" + _JA_PLEASE + r"[、。,:：\s]++(?P<rest>.+)$",
            "remember",
        ),
        (
            _PLEASE
            + r"remember(?:\s++that|\s++this)?(?:\s*+[:,])?\s++"
            + r"(?!when\b|how\b|what\b|who\b|where\b|to\b)(?P<rest>.+)$",
            "remember",
        ),
        (
            r"^(?P<rest>.+?)(?:、|,)?(?:(?:という)?(?:こと|の))?(?:を|は|って|と)?(?:覚えて|記憶して|憶えて)(?:おいて)?"
            + _JA_PLEASE
            + _END,
            "remember",
        ),
        (
            _PLEASE
            + r"forget (?P<rest>(?:everything|anything|all)(?: you know)? about (?!me\b).+?)"
            + _END,
            "forget",
        ),
        (
            _PLEASE
            + r"forget (?P<rest>(?:everything |all |anything )?(?:what |that )?"
            + r"I (?:said|told you|wrote) (?!about\b).+?)"
            + _END,
            "forget",
        ),
        (
            r"^(?P<rest>.+?(?:に関する|についての|について)(?:こと|話|情報)?)(?:は|を)?"
            + r"(?:全部|すべて|全て)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
        (
            r"^(?P<rest>.+?(?:言った|話した|書いた|伝えた)(?:こと|話|内容)?)(?:は|を)?"
            + r"(?:全部|すべて|全て)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
        (_PLEASE + r"forget (?:that |about |what I said about )?(?P<rest>.+?)" + _END, "forget"),
        (
            r"^(?P<rest>.+?)(?:(?:という)?(?:の)?こと|の)?(?:は|を|って)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
    )
)


def phrase(text: str) -> Phrase | None:
    """The command that `text` says in plain words, or None for ordinary talk.

    Only a message that is a command as a whole counts; "I often forget my keys" is not one.
    """
    said = text.strip()
    plain = _without_closing(said)
    for pattern, command in _PATTERNS:
        found = pattern.match(plain)
        if found is None:
            continue
        rest = (found.groupdict().get("rest") or "").strip()
        if command == "remember" and found.end("rest") == len(plain):
            rest += said[len(plain) :]  # the words are kept as they were said
        if command in {"remember", "forget"} and _asks(text):
            continue
        return Phrase(command, rest)
    return None


def _without_closing(text: str) -> str:
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in ".!。！"):
        end -= 1
    return text[:end]


def _asks(text: str) -> bool:
    """True for questions: "Do you remember my name?" and 覚えてる？ order nothing."""
    return text.rstrip().endswith(("?", "？")) and asks(text)

"""Negation, doubt, condition and tense of a Japanese sentence, from its words."""

from __future__ import annotations

import re
from typing import Final

from memory.analysis.morphology import Token
from memory.analysis.results import Tense

_UNCERTAIN: Final = re.compile(
    r"かもしれ|といい(?:な|です|けど|が)|たが(?:る|って|り)|かも(?:です|ね|。|$)|かもです|らしい|ようです|ようだ|みたい(?:です|だ|。|ね|$)|だろう|でしょう|可能性|と思(?:う|い|って)|はず(?:です|だ|。|$)|つもり|予定|たいです|たい(?:。|な|と|$)|たぶん|多分|おそらく|恐らく|もしかし|きっと|どうやら|検討(?:中|して)|迷って|考え(?:て(?:い)?(?:る|ます)|中)|とのこと|そうです(?:。|$)|(?:る|た|い)そうだ|という噂|うわさ|気がする|つもりです|べき|ほしい|欲しい|希望|と(?:聞|き)いた"
)
_CONDITIONAL_OK: Final = re.compile(
    r"といえば|と言えば|によれば|できれば|よければ|そういえば|そしたら|だったら、|ならでは|なければなら|ければならない|ればならない"
)


def is_doubtful(text: str) -> bool:
    """True when the words say that it may be so, is hoped for, or was only heard."""
    return bool(_UNCERTAIN.search(text))


def is_negated(words: list[Token]) -> bool:
    """True when an odd number of negating words is left: 好きじゃない, 住んでいません, 蹴り損なう."""
    text = "".join(word.surface for word in words)
    count = sum(
        is_negator(word, before) for before, word in zip([None, *words], words, strict=False)
    )
    # Forms with a negative in them that do not negate (かもしれない, しか … ない).
    count -= len(_NOT_NEGATING.findall(text)) + 2 * len(_MUST.findall(text))
    if any(word.surface == "しか" and word.is_a("助詞") for word in words):
        count -= 1
    return count > 0 and count % 2 == 1


_NOT_NEGATING: Final = re.compile(
    r"かもしれ(?:ない|ません)|[じでは]ゃ?ないか(?:と|な|。|$)|違いない|間違いな[いく]|違いありません|くない[?？]"
)
_MUST: Final = re.compile(r"な(?:ければ|きゃ|くては|くちゃ)(?:なら|いけ|だめ|ダメ)?")
_FAILING: Final = frozenset({"損なう", "損ねる", "そびれる", "損じる"})
"""Second parts of compound verbs that say that it did not succeed."""


def is_negator(word: Token, before: Token | None) -> bool:
    """True for ない, ません, ず and verbs such as 損なう after another verb."""
    if word.base in _FAILING and before is not None and before.is_a("動詞"):
        return True
    if word.is_a("助動詞"):
        return word.normal in {"ない", "無い", "ず", "まい"}
    return word.base in {"ない", "無い", "無し"} and (word.is_a("形容詞") or word.is_a("名詞"))


def tense_of(words: list[Token]) -> Tense:
    """By the last finite verb or auxiliary, and by words such as 来月."""
    text = "".join(w.surface for w in words)
    if re.search(
        r"来(?:週|月|年|春|夏|秋|冬)|明日|明後日|今度|つもり|予定|これから|将来|いつか", text
    ):
        return Tense.FUTURE
    for word in reversed(words):
        if word.is_a("助動詞", "助動詞-タ"):
            return Tense.PAST
        if word.is_a("動詞") or word.is_a("形容詞") or word.is_a("助動詞"):
            if word.is_a("助動詞", "助動詞-デス") or word.base in {"だ"}:
                continue
            return Tense.NOW
    return Tense.NOW


def is_conditional(words: list[Token]) -> bool:
    return any(
        any("仮定形" in tag for tag in word.tags)
        or (word.surface == "ば" and word.is_a("助詞", "接続助詞"))
        for word in words
    ) and not _CONDITIONAL_OK.search("".join(w.surface for w in words))

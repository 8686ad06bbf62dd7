"""Made-up chat sentences, half Japanese and half English. Nobody said them.

Words are as unevenly common as words are (Zipf's law): a few are everywhere, most are rare.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

WORDS = 5_000
"""Nouns of each language."""

_KANJI = (
    "山川田中本木村林森池石岩花春夏秋冬東西南北大小上下前後内外天地空海風雨雪火水金土日月星光"
    "人名会社店駅道車船電話音楽書画文字国語数学校門家庭園食品酒茶米魚肉鳥馬犬"
)
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeio"]
_PATTERNS = {
    "ja": ("{0}さんは{1}で{2}の{3}を見ました。", "{0}さんが見た{2}の{3}について教えて"),
    "en": ("{0} saw the {3} of {2} in {1} last year.", "What did {0} say about the {3} of {2}?"),
}


def statements(count: int, seed: int = 7) -> list[str]:
    """Sentences that tell something."""
    return _sentences(0, count, seed)


def questions(count: int, seed: int = 11) -> list[str]:
    """Questions about what such sentences tell; hardly ever twice the same."""
    return _sentences(1, count, seed)


def _sentences(form: int, count: int, seed: int) -> list[str]:
    words = random.Random(1)
    nouns = {
        "ja": _nouns(words, lambda source: "".join(source.sample(_KANJI, 2))),
        "en": _nouns(words, lambda source: "".join(source.sample(_SYLLABLES, 3))),
    }
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    source = random.Random(seed)
    found = []
    for number in range(count):
        language = ("ja", "en")[number % 2]
        chosen = source.choices(nouns[language], weights, k=4)
        found.append(_PATTERNS[language][form].format(*chosen))
    return found


def _nouns(source: random.Random, make: Callable[[random.Random], str]) -> Sequence[str]:
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found[make(source)] = None
    return list(found)

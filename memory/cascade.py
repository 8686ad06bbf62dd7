"""The keyword cascade: exact phrase before all words before any word, fair across sources.

It works on what a search has found already, and only orders it. What a "word" is comes from
`memory.tokens`, so a Japanese query without spaces has words too, and its phrase is found
across the line breaks that PDFs put into the middle of Japanese words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from memory import tokens
from memory.ranking import Floats, Ints, Ranking

ALL_WORDS: Final = 0.3
PHRASE: Final = 0.8
"""Standard deviations for a record that has every word of the query, and for one that has them as
they stand. Less than the difference between a good and a fair match in meaning."""

REPEATED: Final = 0.3
"""Standard deviations that a chunk loses for each better one of the same document: another
document that is nearly as good comes first, a much better one does not lose its place."""


class Tier(IntEnum):
    """How much of the query's words a record has."""

    NONE = 0
    ANY = 1
    ALL = 2
    PHRASE = 3


_QUOTED: Final = re.compile('"([^"]+)"|“([^”]+)”|「([^」]+)」|『([^』]+)』')
_ENDS: Final = " \t\n?？!！.。,、"
_BETWEEN_WIDE: Final = re.compile(r"(?<=[^\x00-\x7f])\s+(?=[^\x00-\x7f])")


def phrases(query: str) -> list[str]:
    """What must stand as it is: the quoted parts of a query, or the whole of it."""
    quoted = ["".join(groups) for groups in _QUOTED.findall(query)]
    return [plain for text in quoted or [query] if (plain := _plain(text).strip(_ENDS))]


def tiers(
    query: str,
    texts: Sequence[str],
    terms: Sequence[str],
    frequencies: npt.NDArray[np.float32],
) -> npt.NDArray[np.int64]:
    """The `Tier` of each record, shape (n,).

    `terms` are those of the query and `frequencies`, (n, t), how often each record has them. A
    phrase of a single word is no phrase. Spelling (bigrams) counts as words only where the
    script has no others.
    """
    found = np.asarray(frequencies > 0)
    words = np.array([not tokens.is_spelling(term) for term in terms], dtype=bool)
    columns = np.flatnonzero(words) if words.any() else np.arange(len(terms))
    result = np.where(found.any(axis=1), int(Tier.ANY), int(Tier.NONE))
    if len(columns):
        result[found[:, columns].all(axis=1)] = Tier.ALL
    wanted = phrases(query)
    if len(columns) > 1 and wanted:
        for at in np.flatnonzero(result >= Tier.ANY).tolist():
            plain = _plain(texts[at])
            if all(_stands_in(phrase, plain) for phrase in wanted):
                result[at] = Tier.PHRASE
    return result


def ordered(ranked: Ranking, row_tiers: Ints, sources: Ints) -> Ranking:
    """The ranking with the cascade's bonus, and with documents taking turns.

    `row_tiers` and `sources` are those of the ranked rows; a source below 0 is none, and such
    rows do not wait for each other.
    """
    gained = np.select([row_tiers == Tier.PHRASE, row_tiers == Tier.ALL], [PHRASE, ALL_WORDS], 0.0)
    with_bonus = ranked.scores + gained
    repeated = np.zeros(len(with_bonus))
    seen: dict[int, int] = {}
    for at in np.argsort(-with_bonus, kind="stable").tolist():
        source = int(sources[at])
        if source >= 0:
            repeated[at] = -REPEATED * seen.get(source, 0)
            seen[source] = seen.get(source, 0) + 1
    scores: Floats = with_bonus + repeated
    order = np.argsort(-scores, kind="stable")
    signals = {**ranked.signals, "phrase": gained, "repeated": repeated}
    return replace(
        ranked,
        rows=ranked.rows[order],
        scores=scores[order],
        evidence=ranked.evidence[order],
        signals={name: values[order] for name, values in signals.items()},
    )


def _plain(text: str) -> str:
    """Differences of writing removed; no white space inside text written without it."""
    return " ".join(_BETWEEN_WIDE.sub("", tokens.normalised(text)).split())


def _stands_in(phrase: str, text: str) -> bool:
    """True when the phrase is in the text, not as part of longer words where words have spaces."""
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        if _is_edge(text, start) and _is_edge(text, end):
            return True
        start = text.find(phrase, start + 1)
    return False


def _is_edge(text: str, at: int) -> bool:
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    return not (before.isalnum() and after.isalnum() and before.isascii() and after.isascii())

"""English words: dictionary forms, and one spelling for all."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import simplemma

# fmt: off
_VERB_FORMS: Final = {
    "won": "win", "found": "find", "saw": "see", "felt": "feel", "lay": "lie", "bore": "bear",
    "wound": "wind",
}
"""Past forms that simplemma takes for nouns or verbs of their own."""
_SPELLINGS: Final = {
    "grey": "gray", "tyre": "tire", "yoghurt": "yogurt", "pyjamas": "pajamas", "pyjama": "pajama",
    "jewellery": "jewelry", "aeroplane": "airplane", "programme": "program",
    "practise": "practice", "cheque": "check", "plough": "plow", "kerb": "curb",
    "storey": "story", "mum": "mom", "sceptical": "skeptical",
}
# fmt: on
_SPELLING_RULES: Final = tuple(
    (re.compile(pattern), american)
    for pattern, american in (
        (r"(?<=[a-z]{2})our(?=$|ed|ing|s$|ful|ite|able|ist|hood|ly)", "or"),
        (r"(?<=[a-z]{3})is(?=e$|ed$|ing$|ation|er$)", "iz"),
        (r"(?<=[a-z]{2})ys(?=e$|ed$|ing$)", "yz"),
        (r"(?<=[a-z]{2}[bcdgt])re$", "er"),
        (r"ogue$", "og"),
        (r"ence$", "ense"),
        (r"(?<=[a-z]{3})ll(?=ed$|ing$|er$)", "l"),
    )
)
"""British to American: colour, organise, analyse, centre, catalogue, licence, traveller."""
# fmt: off
_SUFFIXES: Final = (
    "ations", "ation", "ingly", "edly", "ings", "ing", "ies", "ied", "ely", "ed", "es", "er", "ly",
    "s", "e", "y",
)
# fmt: on
"""Longest first. What is left is no stem, only equal for forms of one word."""


@lru_cache(maxsize=20_000)
def lemma_of(word: str) -> str:
    """Dictionary form of an English word, in lower case."""
    lowered = word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")
    if lowered in _VERB_FORMS:
        return _VERB_FORMS[lowered]
    lemma = str(simplemma.lemmatize(lowered, lang="en")).lower()
    if lemma == lowered and lowered.endswith("ing") and len(lowered) > 5:
        # simplemma keeps forms that are nouns as well (living, drawing).
        for stem in (lowered[:-3], lowered[:-3] + "e", lowered[:-4]):
            if simplemma.is_known(stem, lang="en"):
                return stem
    if lemma == lowered and lowered.endswith("ed") and len(lowered) > 4:
        for stem in (lowered[:-2], lowered[:-1], lowered[:-3]):
            if simplemma.is_known(stem, lang="en"):
                return stem
    return lemma


@lru_cache(maxsize=20_000)
def key_of(lemma: str) -> str:
    """What all inflections and spellings of a word have in common; `lemma` is lower case."""
    lemma = "".join(c for c in unicodedata.normalize("NFD", lemma) if not unicodedata.combining(c))
    lemma = _SPELLINGS.get(lemma, lemma)
    for british, american in _SPELLING_RULES:
        lemma = british.sub(american, lemma)
    for suffix in _SUFFIXES:
        if lemma.endswith(suffix) and len(lemma) - len(suffix) >= 4:
            return lemma[: -len(suffix)]
    return lemma

"""`Content` of an English sentence."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import simplemma

from memory.analysis import english
from memory.analysis.content import Content, Word
from memory.analysis.english_words import key_of, lemma_of
from memory.analysis.lexicon import words as words_of
from memory.analysis.results import Tense

# fmt: off
_TOKEN: Final = re.compile(
    r"\d{1,2}:\d{2}(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?[ap]\.?m\b\.?|[$€£¥]?\d[\d,]*(?:\.\d+)?|[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*|[,;.!?]",
    re.IGNORECASE,
)
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?\s?([ap])?\.?(?:m\b\.?)?", re.IGNORECASE)
_HYPHEN: Final = re.compile(r"\b([A-Za-z]+)-([A-Za-z]+)\b")
_MARKS: Final = ",;.!?"
_FUNCTION: Final = words_of("grammar_words_en.txt")
_PARTICLES: Final = frozenset({
    "about", "than",
    "in", "on", "at", "to", "from", "into", "onto", "out", "of", "off", "up", "down", "over",
    "under", "above", "below", "before", "after", "with", "without", "by", "for", "against",
    "through", "across", "along", "around", "behind", "beside", "between", "among", "near",
    "toward", "towards", "away", "back", "inside", "outside", "within", "upon", "during", "past",
})
STRONG_PARTICLES: Final = frozenset({
    "from", "out", "off", "up", "down", "over", "under", "above", "below", "before", "after",
    "without", "against", "through", "across", "around", "behind", "beside", "between", "past",
    "outside", "away", "back",
})
"""Those that change what is said; in, on, at, to, of, by, for, with often do not."""
_NUMBERS: Final[dict[str, float]] = {
    **{word: float(value) for value, word in enumerate((
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
        "nineteen", "twenty",
    ))},
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000,
    "dozen": 12, "half": 0.5, "twice": 2, "couple": 2,
    # Ordinals are numbers of their own.
    "first": 1001, "second": 1002, "third": 1003, "fourth": 1004, "fifth": 1005, "last": 1999,
}
_MONTHS: Final = {month[:3]: month for month in (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)}
_DAYS: Final = {day[:3]: day for day in (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)}
_RELATIVE: Final = frozenset({
    "today", "tomorrow", "yesterday", "tonight", "morning", "afternoon", "evening", "noon",
    "midnight", "weekend", "spring", "summer", "autumn", "winter",
})
_NEGATORS: Final = frozenset({
    "not", "no", "never", "without", "nobody", "nothing", "none", "nor", "neither", "cannot",
    "hardly", "barely",
})
_CLAUSE_MARKS: Final = frozenset({
    ",", ";", ".", "!", "?", "but", "and", "because", "while", "although",
})
_WINDOW: Final = 3
"""Content words after a negation that it can mean."""
_BE_PRESENT: Final = frozenset({"is", "are", "am"})
_BE_PAST: Final = frozenset({"was", "were"})
_BE: Final = _BE_PRESENT | _BE_PAST | {"be", "been", "being"}
_UNCERTAIN: Final = re.compile(
    r"\b(?:may|might|could|maybe|perhaps|possibly|probably|presumably|supposedly|apparently|allegedly|reportedly|seems?|seemed|appears?\s+to|likely|unsure|not\s+sure|uncertain\s+whether|considering|thinking\s+(?:of|about)|hopes?\s+to|hoping|plans?\s+to|planning|wants?\s+to|would\s+like|should|would|i\s+(?:think|guess|suppose|believe|heard)|rumou?red|is\s+said\s+to)\b",
    re.IGNORECASE,
)
_FUTURE: Final = re.compile(
    r"\b(?:will|won't|shall|going\s+to|gonna|tomorrow|next\s+\w+|about\s+to)\b|'ll\b", re.IGNORECASE
)
_NO_LONGER: Final = re.compile(
    r"\bused\s+to\s+(?!be\s+\w+ed\b)|\b(?:formerly|previously|once)\b", re.IGNORECASE
)
_CLOSING: Final = re.compile(
    r",\s*(?:thanks|thank\s+you|please(?:\s+note)?|actually|by\s+the\s+way|you\s+know|honestly)[.!]*$",
    re.IGNORECASE,
)
_REWRITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bwon't\b", "will not"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"n't\b", " not"),
        (r"\b(i)'m\b", r"\1 am"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(i|you|he|she|we|they|it)'d\b", r"\1 would"),
        (r"\b(he|she|it|that|there|what|who|where)'s\b", r"\1 is"),
        (r"\b(?:need|needs|needed)\s+to\b", "have to"),
        (r"\bonly\s+(?=\d|(?:two|three|four|five|six|seven|eight|nine|ten)\b)", ""),
        (r",\s*(?:is|are|was|were|do|does|did|have|has|can|could|will|would|should|am)(?:\s+not)?"
         r"\s+(?:i|you|he|she|it|we|they|there)\s*\?*$", ""),
        # "a container made of plastic", "they say"
        (r"\b(?:made\s+(?:out\s+)?of|colou?red|in\s+colou?r|(?:he|she|they|i|we)\s+(?:say|says|said))\b", " "),
    )
)
"""Contractions written out; tag questions and phrases that a paraphrase drops, left out."""
_QUANTITIES: Final = {
    word: kind
    for kind, words in {
        "all": ("all", "every", "always", "everyone", "everybody", "everything", "both", "each", "entirely", "daily"),
        "much": ("many", "much", "lots", "lot", "often", "usually", "frequently", "mostly"),
        "some": ("some", "sometimes", "several", "occasionally", "partly"),
        "little": ("few", "little", "rarely", "seldom", "scarcely", "hardly", "barely", "fewer", "less"),
        "only": ("only", "solely", "just", "merely"),
    }.items()
    for word in words
}
_PLURAL_SUBJECTS: Final = frozenset({"i", "you", "we", "they"})
_PERSONAL: Final = {
    "i": "i", "me": "i", "you": "you", "he": "he", "him": "he", "she": "she", "we": "we", "us": "we",
    "they": "they", "them": "they",
}
_PRONOUNS: Final = frozenset({
    "i", "me", "my", "you", "your", "he", "him", "his", "she", "her", "it", "its", "we", "us",
    "our", "they", "them", "their", "this", "that", "these", "those", "how", "what", "who",
    "where", "when", "why", "can", "must",
})
_UNCHANGED: Final = frozenset({
    "become", "come", "cost", "cut", "hit", "hurt", "put", "read", "run", "set", "shut", "won",
})
"""Participles that look like their verb."""
# fmt: on


@lru_cache(maxsize=4_096)
def content(text: str) -> Content:
    """Read an English sentence."""
    plain = english.opened(english.straight(unicodedata.normalize("NFKC", text)))
    plain = _CLOSING.sub("", plain)
    for pattern, replacement in _REWRITES:
        plain = pattern.sub(replacement, plain)
    surfaces = _TOKEN.findall(_HYPHEN.sub(_unhyphenated, plain))
    reader = _Reader(surfaces)
    for position in range(len(surfaces)):
        reader.read(position)
    tokens = [surface.lower() for surface in surfaces]
    passive = _is_passive(tokens)
    return Content(
        words=tuple(reader.words),
        particles=tuple(reader.particles),
        numbers=tuple(sorted(reader.numbers)),
        dates=frozenset(reader.dates),
        negations=reader.negations,
        is_certain=not _UNCERTAIN.search(english.without_may_month(plain)),
        tense=_tense(plain, tokens, passive=passive),
        past_verbs=frozenset(reader.past_verbs),
        present_verbs=frozenset(reader.present_verbs),
        passive=passive,
        grammar=frozenset(t.partition("'")[0] for t in tokens) & _PRONOUNS,
        quantities=frozenset(_QUANTITIES[t] for t in tokens if t in _QUANTITIES),
    )


@dataclass(slots=True)
class _Reader:
    """Sorts the tokens of a sentence, one after the other."""

    surfaces: list[str]
    words: list[Word] = field(default_factory=list)
    particles: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    dates: set[str] = field(default_factory=set)
    past_verbs: set[str] = field(default_factory=set)
    present_verbs: set[str] = field(default_factory=set)
    negations: int = 0
    reach: int = 0
    """How many more content words the last negation can mean."""
    preposition: str = ""
    """The one that the next content words stand behind, up to the end of their phrase."""
    is_in_phrase: bool = False

    def read(self, position: int) -> None:
        surface = self.surfaces[position]
        lowered = surface.lower()
        before = self.surfaces[position - 1] if position else ""
        is_other = self._is_sign(lowered, position) or self._is_quantity(surface, lowered, before)
        if is_other or not self._read_word(surface, lowered, position):
            if self.is_in_phrase and lowered not in _PARTICLES:
                self.preposition = ""
            self.is_in_phrase = False

    def _is_sign(self, lowered: str, position: int) -> bool:
        """Take in a mark, negation, preposition or pronoun."""
        if lowered in _CLAUSE_MARKS:
            self.reach = 0
        elif lowered in _NEGATORS and self.surfaces[position + 1 : position + 2] != ["only"]:
            self.negations += 1
            self.reach = _WINDOW
        elif lowered in _PARTICLES:
            self.particles.append(lowered)
            self.preposition = lowered
            self.reach = self.reach if self.reach == _WINDOW else 0
        elif lowered in _PERSONAL:
            key = _PERSONAL[lowered]
            self.words.append(Word(key, lowered, role=self.preposition, is_pronoun=True))
            self.is_in_phrase = True
        else:
            return False
        return True

    def _is_quantity(self, surface: str, lowered: str, before: str) -> bool:
        """Take in a number, clock time or date word."""
        if surface[0].isdigit() or surface[0] in "$€£¥":
            _read_number(surface, self.numbers, self.dates)
        elif lowered in _NUMBERS:
            self.numbers.append(_NUMBERS[lowered])
        elif date := _date_word(surface, before):
            self.dates.add(date)
        else:
            return False
        return True

    def _read_word(self, surface: str, lowered: str, position: int) -> bool:
        """Take in a content word; False for grammar words and marks."""
        is_letter = _is_letter_name(self.surfaces, position)
        is_short = len(lowered) == 1 and not surface.isupper()
        if surface in _MARKS or (
            not is_letter and (lowered.removesuffix("'s") in _FUNCTION or is_short)
        ):
            return False
        lemma = lemma_of(surface)
        if not is_letter and (lemma in _FUNCTION or lemma in _PARTICLES):
            return False
        following = self.surfaces[position + 1] if position + 1 < len(self.surfaces) else ""
        self.words.append(
            Word(
                key=key_of(lemma),
                lemma=lemma,
                negated=self.reach > 0,
                is_name=_is_name(surface, position, following),
                role="owner" if lowered.endswith(("'s", "s'")) else self.preposition,
            )
        )
        self.is_in_phrase = True
        self.reach -= 1
        if lowered != lemma and not surface[0].isupper():
            if lowered.endswith("ed") or not lowered.endswith(("ing", "s", "er", "est", "ly")):
                self.past_verbs.add(key_of(lemma))
            elif lowered.endswith("s"):
                self.present_verbs.add(key_of(lemma))
        elif position and self.surfaces[position - 1].lower() in _PLURAL_SUBJECTS:
            self.present_verbs.add(key_of(lemma))
        return True


def _unhyphenated(match: re.Match[str]) -> str:
    """ice-cream → ice cream, e-mail → email."""
    first, second = match.groups()
    return f"{first} {second}" if min(len(first), len(second)) > 2 else first + second


def _read_number(surface: str, numbers: list[float], dates: set[str]) -> None:
    if ":" in surface or re.search(r"[ap]\.?m", surface, re.IGNORECASE):
        match = _TIME.match(surface)
        if match:
            hour = int(match[1]) % 12 + (12 if (match[3] or "").lower() == "p" else 0)
            if not match[3]:
                hour = int(match[1])
            dates.add(f"{hour:02}:{match[2] or '00'}")
        return
    value = float(re.sub(r"[^\d.]", "", surface).rstrip(".") or 0)
    numbers.append(value)


def _date_word(surface: str, before: str) -> str:
    lowered = surface.lower().rstrip(".")
    if lowered in _RELATIVE:
        return (
            f"{before.lower()} {lowered}" if before.lower() in {"next", "last", "this"} else lowered
        )
    if surface[0].isupper() and (before or len(lowered) > 3):
        for table in (_MONTHS, _DAYS):
            full = table.get(lowered[:3])
            if full and full.startswith(lowered) and lowered not in {"mar", "sun", "sat", "wed"}:
                return full
    if lowered in {"week", "month", "year"} and before.lower() in {"next", "last", "this"}:
        return f"{before.lower()} {lowered}"
    return ""


def _is_letter_name(surfaces: list[str], position: int) -> bool:
    """True for the A of "A manages B" or "service A", which is no article."""
    if surfaces[position] != "A":
        return False
    following = surfaces[position + 1] if position + 1 < len(surfaces) else "."
    is_verb = following in _BE or (following.endswith("s") and lemma_of(following) != following)
    return is_verb or position > 0


def _is_name(surface: str, position: int, following: str) -> bool:
    if not surface[0].isupper():
        return False
    if position:
        return True
    if following[:1].isupper():
        return True
    lowered = surface.lower().removesuffix("'s")
    if not simplemma.is_known(lowered, lang="en"):
        return True
    singular_verb = following.lower().endswith("s") and following.lower() not in {"its", "this"}
    return singular_verb and lemma_of(surface) == lowered


def _tense(plain: str, tokens: list[str], *, passive: bool) -> Tense:
    if _FUTURE.search(plain):
        return Tense.FUTURE
    if _NO_LONGER.search(plain):
        return Tense.PAST
    if _BE_PAST & set(tokens) and not _BE_PRESENT & set(tokens) and not passive:
        return Tense.PAST
    return Tense.NOW


def _is_passive(tokens: list[str]) -> bool:
    """True for "is chased by": a form of be, a participle, and "by" after it."""
    for position, token in enumerate(tokens):
        if token not in _BE or "by" not in tokens[position:]:
            continue
        rest = [
            t for t in tokens[position + 1 : position + 4] if t not in _BE and not t.endswith("ly")
        ]
        if (
            rest
            and not rest[0].endswith("ing")
            and rest[0] not in _FUNCTION
            and (lemma_of(rest[0]) != rest[0] or rest[0] in _UNCHANGED)
        ):
            return True
    return False

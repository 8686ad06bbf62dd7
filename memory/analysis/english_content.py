"""`Content` of an English sentence."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import simplemma

from memory.analysis import english
from memory.analysis.content import Content, Word
from memory.analysis.lexicon import words as words_of
from memory.analysis.results import Tense

_TOKEN: Final = re.compile(
    r"\d{1,2}:\d{2}(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?[ap]\.?m\b\.?|[$€£¥]?\d[\d,]*(?:\.\d+)?|[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*|[,;.!?]",
    re.IGNORECASE,
)
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?\s?([ap])?\.?(?:m\b\.?)?", re.IGNORECASE)

_FUNCTION: Final = words_of("grammar_words_en.txt")
_PARTICLES: Final = frozenset(
    ["in", "on", "at", "to", "from", "into", "onto", "out", "of", "off", "up", "down", "over", "under", "above", "below", "before", "after", "with", "without", "by", "for", "against", "through", "across", "along", "around", "behind", "beside", "between", "among", "near", "toward", "towards", "away", "back", "inside", "outside", "within", "upon", "during", "past"]
)
_NUMBERS: Final = {
    word: value
    for value, words in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
    for word in [words]
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12, "half": 0.5, "twice": 2, "couple": 2,
     "first": 1001, "second": 1002, "third": 1003, "last": 1999, "fourth": 1004, "fifth": 1005}
_MONTHS: Final = {m[:3]: m for m in ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]}
_DAYS: Final = {d[:3]: d for d in ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]}
_RELATIVE: Final = frozenset(["today", "tomorrow", "yesterday", "tonight", "morning", "afternoon", "evening", "noon", "midnight", "weekend", "spring", "summer", "autumn", "winter"])
_NEGATORS: Final = frozenset(["not", "no", "never", "without", "nobody", "nothing", "none", "nor", "neither", "cannot", "hardly", "barely"])
_CLAUSE_MARKS: Final = frozenset([",", ";", ".", "!", "?", "but", "and", "because", "while", "although"])
_WINDOW: Final = 3
"""Content words after a negation that it can mean."""
_BE_PRESENT: Final = frozenset(["is", "are", "am", "'s", "'re", "'m"])
_BE_PAST: Final = frozenset(["was", "were"])
_BE: Final = _BE_PRESENT | _BE_PAST | {"be", "been", "being"}
_UNCERTAIN: Final = re.compile(
    r"\b(?:may|might|could|maybe|perhaps|possibly|probably|presumably|supposedly|apparently|allegedly|reportedly|seems?|seemed|appears?\s+to|likely|unsure|not\s+sure|uncertain\s+whether|considering|thinking\s+(?:of|about)|hopes?\s+to|hoping|plans?\s+to|planning|wants?\s+to|would\s+like|should|would|i\s+(?:think|guess|suppose|believe|heard)|rumou?red|is\s+said\s+to)\b",
    re.IGNORECASE,
)
_FUTURE: Final = re.compile(r"\b(?:will|won't|shall|going\s+to|gonna|tomorrow|next\s+\w+|about\s+to)\b|'ll\b", re.IGNORECASE)
_NO_LONGER: Final = re.compile(r"\bused\s+to\s+(?!be\s+\w+ed\b)|\b(?:formerly|previously|once)\b", re.IGNORECASE)
_CLOSING: Final = re.compile(r",\s*(?:thanks|thank\s+you|please(?:\s+note)?|actually|by\s+the\s+way|you\s+know|honestly)[.!]*$", re.IGNORECASE)
_CONTRACTIONS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"\bwon't\b", "will not"),
        (r"\bcan't\b|\bcannot\b", "can not"),
        (r"n't\b", " not"),
        (r"\b(i)'m\b", r"\1 am"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(i|you|he|she|we|they|it)'d\b", r"\1 would"),
        (r"\b(he|she|it|that|there|what|who|where)'s\b", r"\1 is"),
    )
)
_TAG_QUESTION: Final = re.compile(rf",\s*(?:{'|'.join(('is','are','was','were','do','does','did','have','has','can','could','will','would','should','am'))})(?:n't|\s+not)?\s+(?:i|you|he|she|it|we|they|there)\s*\?*$", re.IGNORECASE)
_WORDLESS: Final = re.compile(r"\b(?:made\s+(?:out\s+)?of|colou?red\b|in\s+colou?r\b|(?:he|she|they|i|we)\s+(?:say|says|said)\b)", re.IGNORECASE)
"""Phrases that a paraphrase drops: "a container made of plastic", "they say"."""
_QUANTITIES: Final = {
    word: kind
    for kind, words in {
        "all": "all every always everyone everybody everything both each entirely completely daily",
        "much": "many much lots lot often usually frequently mostly",
        "some": "some sometimes several occasionally partly",
        "little": "few little rarely seldom scarcely hardly barely fewer less",
        "only": "only solely just merely",
    }.items()
    for word in words.split()
}
_PERSONAL: Final = {
    "i": "i", "me": "i", "you": "you", "he": "he", "him": "he", "she": "she", "we": "we", "us": "we", "they": "they", "them": "they"
}
_PRONOUNS: Final = frozenset("i me my you your he him his she her it its we us our they them their this that these those how what who where when why can must".split())
STRONG_PARTICLES: Final = frozenset(["from", "out", "off", "up", "down", "over", "under", "above", "below", "before", "after", "without", "against", "through", "across", "around", "behind", "beside", "between", "past", "outside", "away", "back"])
"""Prepositions and particles that change what is said; in, on, at, to, of, by, for, with often do not."""
_VERB_FORMS: Final = {"won": "win", "found": "find", "saw": "see", "felt": "feel", "lay": "lie", "bore": "bear", "wound": "wind"}
"""Past forms that simplemma takes for nouns or verbs of their own."""
_SPELLINGS: Final = {"grey": "gray", "tyre": "tire", "yoghurt": "yogurt", "pyjamas": "pajamas", "pyjama": "pajama", "jewellery": "jewelry", "aeroplane": "airplane", "programme": "program", "practise": "practice", "cheque": "check", "plough": "plow", "kerb": "curb", "storey": "story", "mum": "mom", "sceptical": "skeptical"}
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
_SUFFIXES: Final = ("ations", "ation", "ingly", "edly", "ings", "ing", "ies", "ied", "ely", "ed", "es", "er", "ly", "s", "e", "y")


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
def _key(lemma: str) -> str:
    lemma = "".join(c for c in unicodedata.normalize("NFD", lemma) if not unicodedata.combining(c))
    lemma = _SPELLINGS.get(lemma, lemma)
    for british, american in _SPELLING_RULES:
        lemma = british.sub(american, lemma)
    for suffix in _SUFFIXES:
        if lemma.endswith(suffix) and len(lemma) - len(suffix) >= 4:
            return lemma[: -len(suffix)]
    return lemma


@lru_cache(maxsize=4_096)
def content(text: str) -> Content:
    """Read an English sentence."""
    plain = english.opened(english.straight(unicodedata.normalize("NFKC", text)))
    plain = _CLOSING.sub("", plain)
    for contraction, full in _CONTRACTIONS:
        plain = contraction.sub(full, plain)
    plain = re.sub(r"\b(?:need|needs|needed)\s+to\b", "have to", plain, flags=re.IGNORECASE)
    plain = re.sub(r"\bonly\s+(?=\d|(?:two|three|four|five|six|seven|eight|nine|ten)\b)", "", plain, flags=re.IGNORECASE)
    plain = _WORDLESS.sub(" ", _TAG_QUESTION.sub("", plain))
    surfaces = _TOKEN.findall(_HYPHEN.sub(_unhyphenated, plain))
    words: list[Word] = []
    particles: list[str] = []
    numbers: list[float] = []
    dates: set[str] = set()
    past, present = set(), set()
    negations, reach, before = 0, 0, ""
    for position, surface in enumerate(surfaces):
        lowered = surface.lower()
        if lowered in _CLAUSE_MARKS:
            reach = 0
        elif lowered in _NEGATORS and surfaces[position + 1 : position + 2] != ["only"]:
            negations += 1
            reach = _WINDOW
        elif surface[0].isdigit() or surface[0] in "$€£¥":
            _read_number(surface, numbers, dates)
        elif lowered in _NUMBERS:
            numbers.append(_NUMBERS[lowered])
        elif _date_word(surface, surfaces[position - 1] if position else ""):
            dates.add(_date_word(surface, surfaces[position - 1] if position else ""))
        elif lowered in _PARTICLES:
            particles.append(lowered)
            before = lowered
            reach = reach if reach == _WINDOW else 0
        elif lowered in _PERSONAL:
            words.append(Word(_PERSONAL[lowered], lowered, role=before, is_pronoun=True))
            before = ""
        elif not _is_letter_name(surfaces, position) and (
            lowered.removesuffix("'s") in _FUNCTION or (len(lowered) == 1 and not surface.isupper())
        ):
            continue
        elif surface not in ",;.!?":
            lemma = lemma_of(surface)
            if (lemma in _FUNCTION or lemma in _PARTICLES) and len(surface) > 1:
                continue
            following = surfaces[position + 1] if position + 1 < len(surfaces) else ""
            is_owner = lowered.endswith(("'s", "s'"))
            words.append(
                Word(
                    key=_key(lemma),
                    lemma=lemma,
                    negated=reach > 0,
                    is_name=_is_name(surface, position, following),
                    role="owner" if is_owner else before,
                )
            )
            before = ""
            reach -= 1
            if lowered != lemma and not surface[0].isupper():
                if lowered.endswith("ed") or not lowered.endswith(("ing", "s", "er", "est", "ly")):
                    past.add(_key(lemma))
                elif lowered.endswith("s"):
                    present.add(_key(lemma))
    tokens = [s.lower() for s in surfaces]
    passive = _is_passive(tokens)
    return Content(
        words=tuple(words),
        particles=tuple(particles),
        numbers=tuple(sorted(numbers)),
        dates=frozenset(dates),
        negations=negations,
        is_certain=not _UNCERTAIN.search(english.without_may_month(plain)),
        tense=_tense(plain, tokens, passive=passive),
        past_verbs=frozenset(past),
        present_verbs=frozenset(present),
        passive=passive,
        grammar=frozenset(t.partition("'")[0] for t in tokens) & _PRONOUNS,
        quantities=frozenset(_QUANTITIES[t] for t in tokens if t in _QUANTITIES),
    )


_HYPHEN: Final = re.compile(r"\b([A-Za-z]+)-([A-Za-z]+)\b")


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
        return f"{before.lower()} {lowered}" if before.lower() in {"next", "last", "this"} else lowered
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
        rest = [t for t in tokens[position + 1 : position + 4] if t not in _BE and not t.endswith("ly")]
        if rest and not rest[0].endswith("ing") and rest[0] not in _FUNCTION and (lemma_of(rest[0]) != rest[0] or rest[0] in _UNCHANGED):
            return True
    return False


_UNCHANGED: Final = frozenset({"cut", "put", "hit", "set", "read", "shut", "hurt", "cost", "run", "come", "become", "won"})
"""Participles that look like their verb."""

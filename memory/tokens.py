"""Turns text into the terms of keyword search, for Japanese and English in one index.

Text without spaces between words (Japanese, Chinese, Korean, Thai …) gives two kinds of terms:
overlapping character bigrams, which find any string of two characters, and, for Japanese, the
dictionary forms of its words (`=食べる` for 食べました), which find inflected and differently
spelled words. Everything else gives words, English ones stemmed. Documents and queries go
through the same steps; a query then loses what carries no meaning. Measured in
`tests/bench/lexical_structures.py`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple

import snowballstemmer
from sudachipy import Dictionary, SplitMode, Tokenizer

MAX_CHARACTERS = 40_000
"""Text after this is not indexed. Storing and forgetting cost time per distinct term, and a
100 kB text could make more than 100,000. Slack cuts messages at 40,000 characters and Discord at
4,000, so no message loses anything; documents are indexed in chunks, far smaller."""

MAX_WORD = 64
"""Longer words (base64, hashes, keyboard mashing) are known by their first characters."""

MAX_QUERY_TERMS = 200
"""Of a longer question (a pasted log) its first and last half as many terms are looked for: each
costs look-ups in every audience."""

FORM = "="
"""Marks a dictionary form, which is a word of its own and not a bigram of the same letters."""

_SUDACHI_CHARACTERS = 8_000
"""SudachiPy refuses more than 49,149 bytes of UTF-8 at once; a character takes at most four."""

# Scripts written without spaces, or with spaces that do not end words.
_RUN = re.compile(
    "["
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f"  # 々〆〇, hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # katakana without its middle dot
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # hangul
    "\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "]+"
)
_JAPANESE = re.compile(
    "[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_VARIATION_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180d]")
_HIRAGANA = re.compile("[\u3041-\u309fー]+")
_NUMBER = re.compile(r"(?<!\d)\d++(?:[.,]\d++)+")
_SIGNED_WORD = re.compile(r"(?<![^\W_])([^\W\d_]+)(\+\+|#)(?!\w)")  # C++, C#
_PARTS = re.compile(r"\d+|\D+")

_KATAKANA_TO_HIRAGANA = {code: code - 0x60 for code in (*range(0x30A1, 0x30F7), 0x30FD, 0x30FE)}

# Radicals that stand for a whole character in text taken out of PDFs and that NFKC leaves alone
# (the Kangxi block it folds). From Unicode's EquivalentUnifiedIdeograph.txt.
_RADICALS = str.maketrans(
    "⺌⺒⺝⺠⺩⻁⻂⻄⻅⻆⻉⻋⻑⻓⻔⻘⻙⻚⻛⻜⻝⻢⻤⻥⻦⻨⻩⻫⻬⻭⻮⻯⻰⻱⻲",
    "小巳月民王虎衤西见角贝车長长门青韦页风飞食马鬼鱼鸟麦黄斉齐歯齿竜龙龜亀",
)
_SPACING_VOICED_MARKS = str.maketrans("\u309b\u309c", "\u3099\u309a")

# Words that say nothing about what is asked for. Short on purpose: rarity does the rest.
_ENGLISH_STOP_WORDS = """
    a about also am an and any are as at be been being but by can could d did do does doing
    done for from had has have he her hers him his how i if in into is it its just ll m me my
    no of on or our ours out please re s shall she should so some t tell than that the their
    theirs them then there these they this those to too up ve was we were what when where
    which who whom whose why with would you your yours don doesn didn isn aren wasn weren
"""
_JAPANESE_STOP_FORMS = """
    為る 居る 有る 成る 言う 出来る 行う 教える 知る 思う 事 こと 物 もの 所 ところ 為 ため
    訳 わけ 方 よう 様 はず とき 時 など 等 さん 君 ちゃん 下さる 呉れる 貰う 頂く 御 無い 良い 如何
"""
_STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())
_STOP_FORMS = frozenset(_JAPANESE_STOP_FORMS.split())
_CONTENT = frozenset({"名詞", "代名詞", "動詞", "形容詞", "形状詞", "副詞", "接尾辞"})
_WEAK_CONTENT = frozenset({"代名詞", "副詞", "接尾辞"})
_DEPENDENT = frozenset({"助詞", "助動詞"})
_PHRASE_ENDS = " 。、!?,."


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What to look for: terms as they are, and single characters that terms may begin with."""

    exact: tuple[str, ...]
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.exact or self.prefixes)


def terms(text: str) -> list[str]:
    """The terms under which a document is found, repeats included, in no useful order.

    Any text is allowed; one without letters, digits or pictures has none.
    """
    normal = normalised(text)
    found = [term for word in _words(normal) for term in _word_terms(word)]
    found += _compounds(normal)
    for run in _RUN.finditer(normal):
        folded = _folded(run.group())
        found += (folded[at : at + 2] for at in range(len(folded)))  # the last is one character
    found += (morpheme.term for morpheme in _morphemes(normal) if morpheme.is_content)
    return found


def query_terms(text: str) -> QueryTerms:
    """The terms of a question, each once, in order.

    Stop words, and strings of hiragana that belong to no word of content, are left out unless
    nothing else is there. A character that stands alone becomes a prefix.
    """
    normal = normalised(text)
    morphemes = _morphemes(normal)
    strong: dict[str, None] = {}
    weak: dict[str, None] = {}
    prefixes: dict[str, bool] = {}
    for word in _words(normal):
        chosen = weak if word in _STOP_WORDS else strong
        chosen.update(dict.fromkeys(_word_terms(word)))
    strong.update(dict.fromkeys(_compounds(normal)))
    kept = {at for m in morphemes if m.is_content and not m.is_weak for at in range(m.start, m.end)}
    for run in _RUN.finditer(normal):
        characters = run.group()
        folded = _folded(characters)
        alone = len(folded) == 2 and characters == normal.strip()
        if len(folded) == 1:
            prefixes[folded] = not _HIRAGANA.fullmatch(characters) or run.start() in kept
        for at in range(len(folded) - 1):
            place = run.start() + at
            meant = (
                alone
                or not _HIRAGANA.fullmatch(characters[at : at + 2])
                or {place, place + 1} <= kept
            )
            (strong if meant else weak)[folded[at : at + 2]] = None
    for morpheme in morphemes:
        if morpheme.is_content:
            (weak if morpheme.is_weak else strong)[morpheme.term] = None
    strong_prefixes = tuple(prefix for prefix, meant in prefixes.items() if meant)
    if strong or strong_prefixes:
        return QueryTerms(_ends(tuple(strong)), _ends(strong_prefixes))
    return QueryTerms(_ends(tuple(weak)), _ends(tuple(prefixes)))


def _ends(found: tuple[str, ...]) -> tuple[str, ...]:
    half = MAX_QUERY_TERMS // 2
    return found if len(found) <= MAX_QUERY_TERMS else found[:half] + found[-half:]


def is_spelling(term: str) -> bool:
    """True for a bigram or prefix: characters that may or may not be a word."""
    return _RUN.match(term) is not None


def normalised(text: str) -> str:
    """`text` with differences of writing removed: width, case, ligatures, invisible characters.

    NFKC and case folding as in Unicode's NFKC_Casefold; control characters become spaces; at
    most MAX_CHARACTERS long.
    """
    kept = "".join(map(_visible, text[:MAX_CHARACTERS]))
    folded = unicodedata.normalize("NFKC", kept.translate(_SPACING_VOICED_MARKS)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_RADICALS)[:MAX_CHARACTERS]


@lru_cache(maxsize=16_384)
def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cc":
        return " "
    invisible = category in {"Cf", "Cs", "Co"} or _VARIATION_SELECTOR.match(character)
    return "" if invisible else character


@lru_cache(maxsize=16_384)
def _role(character: str) -> str:
    """`word`, `picture` (a term by itself) or nothing (it separates)."""
    if _RUN.match(character):
        return ""
    category = unicodedata.category(character)
    if category[0] in "LNM":
        return "word"
    return "picture" if category == "So" else ""


def _words(normal: str) -> Iterator[str]:
    """Words of scripts with spaces, and single pictures, in order."""
    for role, characters in groupby(normal, _role):
        if role == "word":
            yield "".join(characters)
        elif role == "picture":
            yield from characters


def _word_terms(word: str) -> list[str]:
    """A word, stemmed; one of letters and digits (`iphone15`) also in its parts."""
    plain = _without_accents(word)[:MAX_WORD]
    parts = _PARTS.findall(plain)
    return [_stem(part) for part in ([plain, *parts] if len(parts) > 1 else parts)]


def _without_accents(word: str) -> str:
    """Latin letters without diacritics (`café` → `cafe`); other scripts need their marks."""
    if word.isascii() or not re.search("[a-z]", decomposed := unicodedata.normalize("NFD", word)):
        return word
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", decomposed))


def _compounds(normal: str) -> list[str]:
    """Numbers with separators (`1,000` → `1000`) and words that end in a sign (`c++`)."""
    numbers = [found.group().replace(",", "")[:MAX_WORD] for found in _NUMBER.finditer(normal)]
    return numbers + [found.group()[:MAX_WORD] for found in _SIGNED_WORD.finditer(normal)]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    # The stemmer keeps its word in the object, so threads cannot share one.
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    if not hasattr(_local, "stemmer"):
        _local.stemmer = snowballstemmer.stemmer("english")
    return str(_local.stemmer.stemWord(word)) or word


def _folded(characters: str) -> str:
    """Katakana as hiragana, so that ネコ and ねこ are the same."""
    return characters.translate(_KATAKANA_TO_HIRAGANA)


@lru_cache(maxsize=65_536)
def _form_term(form: str) -> str:
    return FORM + _folded(normalised(form))[:MAX_WORD]


class _Morpheme(NamedTuple):
    start: int
    end: int
    term: str
    is_content: bool
    is_weak: bool
    """Says little in a question: pronouns, auxiliary verbs, empty nouns."""


_local = threading.local()


@cache
def _dictionary() -> Dictionary:
    return Dictionary(dict="small")


def _tokenizer() -> Tokenizer:
    """This thread's tokenizer: they must not be shared, and the dictionary loads on first use."""
    if not hasattr(_local, "tokenizer"):
        _local.tokenizer = _dictionary().tokenizer(mode=SplitMode.A)
    tokenizer: Tokenizer = _local.tokenizer
    return tokenizer


def _morphemes(normal: str) -> list[_Morpheme]:
    """The Japanese words of a text, in order, by SudachiPy's shortest split."""
    if not _JAPANESE.search(normal):
        return []
    found = []
    for start, piece in _pieces(normal):
        for token in _tokenizer().tokenize(piece):
            begin, end = start + token.begin(), start + token.end()
            surface = normal[begin:end]
            if not _JAPANESE.search(surface):
                continue
            kind, subkind, *_ = token.part_of_speech()
            # A particle cannot open a phrase: one read there is a name (たろう) misread.
            opens = begin == 0 or normal[begin - 1] in _PHRASE_ENDS
            misread = kind in _DEPENDENT and opens and end - begin > 1
            form = surface if misread else token.normalized_form()
            weak = kind in _WEAK_CONTENT or subkind == "非自立可能" or form in _STOP_FORMS
            content = misread or kind in _CONTENT
            found.append(_Morpheme(begin, end, _form_term(form), content, weak and not misread))
    return found


def _pieces(normal: str) -> Iterator[tuple[int, str]]:
    """Parts of a text that SudachiPy accepts, with their offsets, cut at sentences if possible."""
    start = 0
    while start < len(normal):
        end = start + _SUDACHI_CHARACTERS
        if end < len(normal):
            end = max(normal.rfind(mark, start, end) + 1 for mark in "。. ") or end
        yield start, normal[start:end]
        start = end

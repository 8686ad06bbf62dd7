"""Which language a short text is in."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Final

_KANA: Final = re.compile(r"[ぁ-ゖァ-ヺｦ-ﾝー]")
_HAN: Final = re.compile(r"[々㐀-䶿一-鿿豈-﫿]")
_HANGUL: Final = re.compile(r"[가-힣ㄱ-ㆎ]")
_LATIN: Final = re.compile(r"[A-Za-zÀ-ɏ]")
_LETTER: Final = re.compile(r"[^\W\d_]")

_EAST_ASIAN_WEIGHT: Final = 3
"""About three Latin letters say as much as one East Asian character."""
_LATIN_LANGUAGES: Final = ["en", "de", "fr", "es", "it", "pt", "nl"]
_SHORT: Final = 3
"""Texts of fewer words carry too little to tell one Latin-script language from another."""

_detector_lock = threading.Lock()


def language_of(text: str, *, told_apart: bool = True) -> str:
    """BCP 47 code of the language that most of `text` is in; `und` without letters.

    Scripts decide where they can; the rest is left to py3langid. Latin text of one or two
    words counts as English, because no detector can tell. Unless languages of one script are
    `told_apart`, which costs most of the time, all Latin text does.
    """
    latin = len(_LATIN.findall(text))
    kana = len(_KANA.findall(text))
    han = len(_HAN.findall(text))
    hangul = len(_HANGUL.findall(text))
    if kana and (kana + han) * _EAST_ASIAN_WEIGHT >= latin:
        return "ja"
    if hangul and hangul * _EAST_ASIAN_WEIGHT >= latin:
        return "ko"
    if han and han * _EAST_ASIAN_WEIGHT >= latin:
        return _han_language(text)
    if latin:
        return _latin_language(text) if told_apart else "en"
    return _detect(text, None) if told_apart and _LETTER.search(text) else "und"


def _han_language(text: str) -> str:
    """Japanese unless a character exists only in the Chinese character sets.

    The national character sets tell the reformed characters of both countries apart.
    """
    characters = _HAN.findall(text)
    japanese = sum(_in(character, "shift_jis") for character in characters)
    chinese = sum(_in(character, "gb2312") for character in characters)
    if japanese == chinese == len(characters):
        return "zh" if any(c in _CHINESE_FUNCTION_WORDS for c in characters) else "ja"
    return "ja" if japanese >= chinese else "zh"


_CHINESE_FUNCTION_WORDS: Final = frozenset("我你她是很叫这這那吗呢们們")
"""Closed-class characters: Japanese writes these with kana around them, never without."""


def _in(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


_ENGLISH_START: Final = re.compile(
    r"\W*(?:i(?:['’](?:m|ve|d|ll)|\s+(?:am|have|live|work|like|love|moved|use|don['’]t|hate|prefer))\b"
    r"|my\s+\w+\s+is\b)",
    re.IGNORECASE,
)
"""So few words that the names among them would decide."""


def _latin_language(text: str) -> str:
    if len(text.split()) < _SHORT or _ENGLISH_START.match(text):
        return "en"
    return _detect(text, "latin")


def _detect(text: str, family: str | None) -> str:
    with _detector_lock:
        identifier = _identifier(family)
        return str(identifier.classify(text.encode("utf-8", "replace").decode())[0])  # type: ignore[attr-defined]


@cache
def _identifier(family: str | None) -> object:
    # Imported late: it loads its model, which costs half a second.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    if family:
        identifier.set_languages(_LATIN_LANGUAGES)
    return identifier

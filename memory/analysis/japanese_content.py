"""`Content` of a Japanese sentence."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from memory.analysis import japanese
from memory.analysis import japanese_grammar as grammar
from memory.analysis.content import Content, Word
from memory.analysis.lexicon import words as words_of
from memory.analysis.morphology import Token, tokens

_NUMERALS: Final = {c: i for i, c in enumerate("〇一二三四五六七八九")}
_COUNT: Final = re.compile(r"[0-9〇一二三四五六七八九十百千]+[人つ]?")
_LIGHT: Final = words_of("grammar_words_ja.txt")
"""Words that carry grammar more than meaning."""
_SUBJECT_PARTICLES: Final = frozenset({"が", "は"})
_OBJECT_PARTICLES: Final = frozenset({"を", "に", "へ", "から", "の", "より"})
_ROLES: Final = {
    "other:を": "other",
    "other:に": "other",
    "other:へ": "other",
    "other:から": "source",
    "other:の": "owner",
    "other:より": "than",
}
_DATE: Final = re.compile(
    r"(?:[0-9]+年)?[0-9]+月(?:[0-9]+日)?|[0-9]+年(?![間前後生])|[0-9]+日(?!間)|(?:午前|午後)?[0-9]+時(?!間)(?:[0-9]+分|半)?|[0-9]+:[0-9]{2}|午前|午後|夕方|正午"
    r"|[月火水木金土日]曜日?|一昨日|明後日|昨日|今日|明日|先週|今週|来週|先月|今月|来月|去年|昨年|今年|来年|今朝|今夜|昨夜|毎[朝晩日週月年]"
    r"|(?<![一-龯])(?:朝|昼|夜|晩|春|夏|秋|冬)(?![一-龯])"
)


@lru_cache(maxsize=4_096)
def content(text: str) -> Content:
    """Read a Japanese sentence."""
    plain = _digits(japanese.opened(unicodedata.normalize("NFKC", text)))
    parsed = tokens(plain)
    passive = any(_is_passive(word, following) for word, following in pairwise(parsed))
    dates = frozenset(_date(match.group()) for match in _DATE.finditer(plain))
    numbers = _numbers(_DATE.sub("、", plain))
    negated = grammar.is_negated(parsed)
    words = _words(tokens(_DATE.sub("、", plain)))
    return Content(
        words=tuple(words),
        particles=tuple(token.surface for token in parsed if token.surface in _PLACES),
        numbers=numbers,
        dates=dates,
        negations=(int(negated) + sum(_is_negating_prefix(token) for token in parsed)) % 2,
        is_certain=not grammar.is_doubtful(plain),
        tense=grammar.tense_of(parsed),
        passive=passive,
        quantities=_quantities(parsed),
    )


_QUANTITIES: Final = {
    "全部": "all",
    "全て": "all",
    "全員": "all",
    "皆": "all",
    "いつも": "all",
    "常に": "all",
    "毎日": "all",
    "沢山": "much",
    "多い": "much",
    "よく": "much",
    "大抵": "much",
    "少し": "little",
    "ちょっと": "little",
    "少ない": "little",
    "あまり": "little",
    "余り": "little",
    "滅多に": "little",
    "時々": "some",
    "偶に": "some",
    "だけ": "only",
    "のみ": "only",
    "しか": "only",
    "ばかり": "only",
}


def _quantities(parsed: list[Token]) -> frozenset[str]:
    return frozenset(_QUANTITIES[w.normal] for w in parsed if w.normal in _QUANTITIES)


def _numbers(text: str) -> tuple[float, ...]:
    """Digits, and Chinese numerals that stand alone (三対一)."""
    digits = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
    alone = [
        float(_NUMERALS[token.surface])
        for token in tokens(text)
        if "数詞" in token.tags and token.surface in _NUMERALS
    ]
    return tuple(sorted(digits + alone))


_PLACES: Final = frozenset({"中", "外", "内", "上", "下", "前", "後", "左", "右", "奥"})
"""Where something is, seen from something else."""


def _is_negating_prefix(token: Token) -> bool:
    """True for the 不 of 不可能, where Sudachi parts it from its word."""
    return token.is_a("接頭辞") and token.surface in {"不", "無", "非", "未"}


def _words(parsed: list[Token]) -> list[Word]:
    """Content words, each noun with its role at the next verb."""
    found: list[Word] = []
    pending: list[int] = []
    for position, token in enumerate(parsed):
        kind = token.tags[0] if token.tags else ""
        if grammar.is_negator(token, parsed[position - 1] if position else None):
            continue
        if kind in {"動詞", "形容詞", "形状詞"} and not _is_auxiliary(parsed, position):
            passive = kind == "動詞" and _is_passive_at(parsed, position)
            is_result = kind == "動詞" and _is_result(parsed, position)
            for index in pending:
                word = found[index]
                role = (
                    "other"
                    if is_result and word.role == "agent"
                    else _undo_passive(word.role)
                    if passive
                    else _ROLES.get(word.role, word.role)
                )
                found[index] = _with_role(word, role, token.normal)
            pending = []
            if token.normal not in _LIGHT:
                found.append(_word(token, is_verb=True))
        elif kind in {"名詞", "副詞", "代名詞"} or token.is_a("接尾辞", "名詞的"):
            particle = _particle_after(parsed, position)
            if _adds_to_word(parsed, position, found):
                # 会社 + 員, ホッケー + 選手 are one noun.
                last = found.pop()
                pending = [index for index in pending if index != len(found)]
                word = Word(
                    last.key + token.normal, last.lemma + token.surface, is_name=last.is_name
                )
            elif _is_grammar(token, parsed, position):
                continue
            else:
                word = _word(token)
            if particle in _SUBJECT_PARTICLES:
                word = _with_role(word, "agent", "")
            elif particle in _OBJECT_PARTICLES:
                word = _with_role(word, f"other:{particle}", "")
            found.append(word)
            if word.role:
                pending.append(len(found) - 1)
    return [_with_role(w, _ROLES.get(w.role, w.role), w.governor) for w in found]


_HONORIFICS: Final = frozenset(
    {"さん", "君", "くん", "ちゃん", "様", "氏", "達", "たち", "等", "ら"}
)
_FIRST_PERSON: Final = frozenset({"私", "僕", "俺", "自分", "私達"})
_PEOPLE: Final = _FIRST_PERSON | {"彼", "彼女", "貴方", "あなた", "君", "貴女"}


def _particle_after(parsed: list[Token], position: int) -> str:
    """The particle that marks the noun at `position`; さん and the like stand between."""
    for token in parsed[position + 1 :]:
        if token.surface not in _HONORIFICS:
            return token.surface if token.is_a("助詞") else ""
    return ""


def _adds_to_word(parsed: list[Token], position: int, found: list[Word]) -> bool:
    """True when the noun continues the one before it; names and honorifics stand alone."""
    token, before = parsed[position], parsed[position - 1] if position else None
    if before is None or not found or found[-1].is_verb or found[-1].role or found[-1].is_pronoun:
        return False
    if (
        "固有名詞" in before.tags
        or "固有名詞" in token.tags
        or before.normal in _LIGHT
        or "数詞" in token.tags
    ):
        return False
    if token.is_a("接尾辞"):
        return (
            token.surface not in _HONORIFICS and "助数詞" not in token.tags and before.is_a("名詞")
        )
    return (
        token.is_a("名詞")
        and before.is_a("名詞")
        and before.surface.isdigit() is False
        and token.normal not in _LIGHT
        and not _COUNT.fullmatch(before.normal)
        and not _COUNT.fullmatch(token.normal)
    )


def _is_grammar(token: Token, parsed: list[Token], position: int) -> bool:
    """True for nouns that carry no meaning of their own, counters, and 此れ and the like."""
    if token.is_a("代名詞"):
        return token.normal not in _PEOPLE and not re.fullmatch(r"[ァ-ヺー]+", token.surface)
    if token.is_a("接尾辞") or token.normal in _LIGHT or _COUNT.fullmatch(token.normal):
        return True
    return (
        "数詞" in token.tags
        or token.surface.isdigit()
        or ("助数詞可能" in token.tags and position > 0 and parsed[position - 1].surface.isdigit())
    )


def _is_auxiliary(parsed: list[Token], position: int) -> bool:
    """True for the いる of 食べている; 見る after another particle is a verb of its own."""
    token = parsed[position]
    if "非自立可能" not in token.tags:
        return False
    before = parsed[position - 1] if position else None
    return before is not None and (
        before.is_a("助詞", "接続助詞") or before.is_a("動詞") or before.is_a("助動詞")
    )


def _word(token: Token, *, is_verb: bool = False) -> Word:
    return Word(
        key=token.normal,
        lemma=token.normal,
        is_pronoun=token.normal in _FIRST_PERSON,
        is_name=_is_name(token),
        is_verb=is_verb,
        groups=frozenset(token.synonyms),
    )


def _with_role(word: Word, role: str, governor: str) -> Word:
    return replace(word, role=role, governor=governor)


def _undo_passive(role: str) -> str:
    if role == "agent":
        return "other"
    if role in {"other:の", "other:より"}:
        return _ROLES[role]
    return "agent" if role in {"other:に", "other:から"} else "other"


def _is_name(token: Token) -> bool:
    return "固有名詞" in token.tags or (token.surface.isascii() and token.surface[:1].isupper())


def _is_passive(word: Token, following: Token) -> bool:
    return word.is_a("動詞") and following.base in {"れる", "られる"} and following.is_a("助動詞")


def _is_passive_at(parsed: list[Token], position: int) -> bool:
    for offset in (1, 2):
        if (
            position + offset < len(parsed)
            and parsed[position + offset].base in {"れる", "られる"}
            and parsed[position + offset].is_a("助動詞")
        ):
            return True
    return False


def _is_result(parsed: list[Token], position: int) -> bool:
    """True for 置いてある, where が marks what was put."""
    rest = parsed[position + 1 : position + 3]
    return len(rest) == 2 and rest[0].surface in {"て", "で"} and rest[1].normal == "有る"


def _digits(text: str) -> str:
    """Counted Chinese numerals as digits: 四人 → 4人, 三月十日 → 3月10日."""

    def convert(match: re.Match[str]) -> str:
        body = match.group()
        if "十" in body:
            tens, _, ones = body.partition("十")
            return str(
                (_NUMERALS.get(tens, 1) if tens else 1) * 10
                + (_NUMERALS.get(ones, 0) if ones else 0)
            )
        return "".join(str(_NUMERALS[c]) for c in body)

    text = re.sub(
        r"[一二三四五六七八九]?十[一二三四五六七八九]?(?=[人名匹頭羽台本枚個つ回度日月年時分歳才円階冊杯件])|[〇一二三四五六七八九]+(?=[人名匹頭羽台本枚個つ回度日月年時分歳才円階冊杯件](?!緒|生|気))",
        convert,
        text,
    )
    return re.sub(r"(?<![0-9])1(?=[人つ]も)", "一", text)


def _date(text: str) -> str:
    """One spelling for a clock time: 午後3時, 15時, 15:00 → 15:00."""
    match = re.fullmatch(r"(午前|午後)?([0-9]+)(?:時(?:([0-9]+)分|(半))?|:([0-9]{2}))", text)
    if match is None:
        return text
    hour = int(match[2]) + (12 if match[1] == "午後" and int(match[2]) < 12 else 0)
    minute = "30" if match[4] else match[3] or match[5] or "00"
    return f"{hour:02}:{int(minute):02}"

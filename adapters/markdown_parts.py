"""Splits long Markdown into messages that each render on their own. Shared by all platforms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MIN_LIMIT = 160
"""Below this a part could not hold a code fence, its language and some code."""

Measure = Callable[[str], int]
"""Length of a text as the platform counts it: never less than its number of characters."""


def utf8_length(text: str) -> int:
    """Length in UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_markdown(text: str, limit: int, *, measure: Measure = len, keep: int = 0) -> list[str]:
    """Parts of `text` in order, each with `measure(part) <= limit`; none is blank.

    A code fence that is cut is closed at the end of the part and reopened with its language
    in the next. Breaks are made, best first, at paragraphs, lines, sentences, clauses and
    spaces, never inside a grapheme cluster, and inside a link, a bold run or inline code, or
    against the Japanese line breaking rules (kinsoku), only when nothing else is left. White
    space at a break is dropped; everything else is kept.

    A fence that the author left open is closed at the end. The first part begins with the
    first `keep` characters of the text (those a reader has seen already); they must leave
    room in it.

    Raises ValueError when `limit` is below MIN_LIMIT.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"limit must be at least {MIN_LIMIT}")
    parts: list[str] = []
    rest = _balanced(text.strip("\n"))
    fence: _Fence | None = None
    while rest.strip():
        head = f"{fence.reopening}\n" if fence else ""
        if measure(head + rest.rstrip()) <= limit:
            parts.append(head + rest.rstrip())
            break
        cut = _best_break(rest, head, fence, limit, measure, 0 if parts else keep)
        body = rest[: cut.at].rstrip()
        if body.strip() and not (cut.fence and _opened_by(body)):
            parts.append(head + body + _ending(cut.fence))
        rest, fence = _after_break(rest[cut.at :], cut.fence), cut.fence
        if fence and fence.is_closed_by(first := rest.partition("\n")[0]):
            rest, fence = rest[len(first) :].lstrip("\n"), None
    return parts


@dataclass(frozen=True, slots=True)
class _Fence:
    indent: str
    marker: str
    language: str

    @property
    def reopening(self) -> str:
        return f"{self.indent}{self.marker}{self.language}"

    @property
    def closing(self) -> str:
        return f"{self.indent}{self.marker}"

    def is_closed_by(self, line: str) -> bool:
        bare = line.lstrip(" \t>").rstrip()
        return len(bare) >= len(self.marker) and set(bare) == {self.marker[0]}


# Longer indents, markers and info strings than these are text: so that the cost of closing
# and reopening a fence stays well below MIN_LIMIT.
_OPENING = re.compile(
    r"(?P<indent>[ \t>]{0,12}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,3})?)"
    r"(?P<marker>`{3,8}|~{3,8})(?P<info>[^`\n]{0,24})\Z"
)
_ENDS_SENTENCE = "。！？…．"
_ENDS_CLAUSE = "、，；：）」』】"
# JIS X 4051: characters that do not begin, or do not end, a line.
_NOT_FIRST = frozenset(
    "、。，．,.)）]］}｝」』】〕〉》！？!?…ー～々ゝゞヽヾ:;：；・"
    "ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
_NOT_LAST = frozenset("(（[［{｛「『【〔〈《")
_WHOLE = re.compile(
    r"(`+)[^`\n]+?\1|\*\*[^*\n]+?\*\*|!?\[[^\]\n]*\]\([^)\n]*\)|https?://[^\s<>]+|<[^<>\n]{1,200}>"
)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _opened_by(line: str) -> _Fence | None:
    match = _OPENING.match(line)
    if match is None:
        return None
    indent = re.sub(r"[^ \t>]", " ", match["indent"])
    info = match["info"].split()
    return _Fence(indent, match["marker"], info[0] if info else "")


def _balanced(text: str) -> str:
    fence: _Fence | None = None
    for _, line in _lines(text):
        if fence is None:
            fence = _opened_by(line)
        elif fence.is_closed_by(line):
            fence = None
    return text + _ending(fence)


def _ending(fence: _Fence | None) -> str:
    return f"\n{fence.closing}" if fence else ""


def _after_break(rest: str, fence: _Fence | None) -> str:
    if fence:
        return rest.removeprefix("\n")
    # The indent of a first line means something; the space between two words does not.
    return rest.lstrip("\n") if rest.startswith("\n") else rest.removeprefix(" ")


@dataclass(frozen=True, slots=True)
class _Break:
    at: int
    rank: int
    """Index into _FILL: 0 is best."""
    fence: _Fence | None
    """Open at this point."""


_WHOLE_CODE, _PARAGRAPH, _LINE, _SENTENCE, _CLAUSE, _SPACE, _WIDE, _CHARACTER, _INSIDE = range(9)
_FILL = (1 / 4, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 4, 0, 0, 0)
"""By rank: how full a part must be for such a break to be taken before a worse one."""


def _best_break(
    rest: str, head: str, fence: _Fence | None, limit: int, measure: Measure, keep: int
) -> _Break:
    """Where to end the part that begins with `head`."""
    window = rest[: limit + 1]
    longest = _longest_prefix(window, head, limit, measure)
    for found in sorted(_breaks(window, fence), key=lambda b: (b.rank, -b.at)):
        if not max(keep, longest * _FILL[found.rank]) <= found.at <= longest:
            continue
        if measure(head + rest[: found.at].rstrip() + _ending(found.fence)) <= limit:
            return found
    return _Break(1, _INSIDE, fence)


def _longest_prefix(window: str, head: str, limit: int, measure: Measure) -> int:
    low, high = 0, len(window)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(head + window[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _breaks(window: str, fence: _Fence | None) -> Iterator[_Break]:
    for start, line in _lines(window):
        end = start + len(line)
        if fence is None:
            fence = _opened_by(line)
            if fence:
                if start:
                    # Code that fits into one part is not cut only to fill this one.
                    whole = any(fence.is_closed_by(code) for _, code in _lines(window[end:]))
                    yield _Break(start, _PARAGRAPH if whole else _WHOLE_CODE, None)
                yield _Break(end, _INSIDE, fence)
                continue
            if start:
                after_blank = window.startswith("\n\n", start - 2)
                yield _Break(start, _PARAGRAPH if after_blank else _LINE, None)
        elif fence.is_closed_by(line):
            fence = None
            yield _Break(end, _PARAGRAPH, None)
            continue
        else:
            yield _Break(end, _LINE, fence)
        for at, rank in _breaks_in_line(line, in_code=fence is not None):
            yield _Break(start + at, rank, fence)


def _breaks_in_line(line: str, *, in_code: bool) -> Iterator[tuple[int, int]]:
    spans = [] if in_code else [match.span() for match in _WHOLE.finditer(line)]
    spans.append((len(line), len(line)))
    span = 0
    for at in range(1, len(line)):
        while at >= spans[span][1]:
            span += 1
        before, after = line[at - 1], line[at]
        if not _between_clusters(before, after) or spans[span][0] < at:
            yield at, _INSIDE
        else:
            yield at, _rank_between(before, after, line[max(0, at - 2)])


def _rank_between(before: str, after: str, two_before: str) -> int:
    """How good a break between two characters is; `two_before` precedes them."""
    if before == " ":
        return _SENTENCE if two_before in ".!?" + _ENDS_SENTENCE else _SPACE
    if after in _NOT_FIRST or before in _NOT_LAST:
        return _CHARACTER
    if before in _ENDS_SENTENCE:
        return _SENTENCE
    if before in _ENDS_CLAUSE:
        return _CLAUSE
    return _WIDE if _is_wide(before) or _is_wide(after) else _CHARACTER


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _between_clusters(before: str, after: str) -> bool:
    """False inside what a reader sees as one character (a subset of UAX 29 for chat text)."""
    joiner = "\u200d"
    if joiner in (before, after) or unicodedata.combining(after):
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return False
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\ufe00" <= after <= "\ufe0f":
        return False
    flags = ("\U0001f1e6", "\U0001f1ff")
    return not (flags[0] <= before <= flags[1] and flags[0] <= after <= flags[1])

"""Cuts a message into the sentences its author wrote, leaving out what they only pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import sentencex

from memory.analysis.language import language_of
from memory.analysis.results import Sentence
from memory.types import Span

_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_FENCED_INLINE: Final = re.compile(r"```.*?```", re.DOTALL)
_QUOTE: Final = re.compile(r"^\s*(>|&gt;)")
_QUOTE_TO_END: Final = re.compile(r"^\s*(>>>|&gt;&gt;&gt;)(\s|\S)")
_REPLY_HEADER: Final = re.compile(r"^\s*(On .+ wrote|.+のメッセージ|.+さんからの引用)[:：]\s*$")
_LINK_ONLY: Final = re.compile(r"^(?:[-*•]\s*+)?(?:<?(?:https?|ftp)://\S++\s*+)+$")
_LIST_MARKER: Final = re.compile(
    r"^\s*(?:[-*+•‣◦・●○■□◆◇▪]|\(?\d{1,3}[.)）]|\[[ xX]\])\s+|^\s*[・●■◆]"
)
_INLINE_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")

_PASTED: Final = re.compile(
    r"""^\s*(?:
      \[?\d{4}[-/]\d\d[-/]\d\d[T\s,_]+\d\d:\d\d            # 2026-05-01 10:00 …
    | \[\d{1,2}:\d\d(?::\d\d)?(?:\s?[AP]M)?\]               # [10:32] somebody: …
    | \d{1,2}:\d\d:\d\d[.,]?\d*\s                           # 10:32:11.120 …
    | [A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d\s             # syslog
    | \[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|SEVERE)\]?[:\s|]
    | Traceback\s\(most\srecent\scall\slast\)
    | File\s"[^"]+",\sline\s\d+
    | at\s[\w$.<>]+\(.*\)\s*$
    | (?:Caused\sby:\s)?[\w.]*(?:Error|Exception|Warning)(?::\s|$)
    | \$\s\S | \w[\w.-]*@[\w.-]+:[^\s]*[$\#]\s               # a shell prompt
    | (?:diff\s--git|@@\s-\d|\+\+\+\s|---\s[ab]/)
    | (?:def|class)\s\w+.*:\s*$ | (?:import\s[\w.]+|from\s[\w.]+\simport\s.+)\s*;?\s*$
    | (?:const|let|var)\s\w+\s*= | (?:public|private|static)\s\w+.*[({;]\s*$
    | function\s\w*\(.*\) | \#include\s | SELECT\s.+\sFROM\s
    | [\w.\[\]"']+\s*(?:=|:=|\+=|==)\s*[\w"'\[{(].*$(?<![.。])
    | [{}\[\]();<>/]+\s*$ | </?[a-zA-Z][^>]*>\s*$ | "[\w-]+"\s*:\s
    | .*[;{]\s*$
    )""",
    re.VERBOSE,
)
_JOINED_QUOTE: Final = re.compile(r"^\s*(?:と|って)")
_OPENS_LOWER: Final = re.compile(r"^\s*[a-z]")
_CLOSING: Final = frozenset(".!?:;。！？…」』)）")
_WORD_LEFT: Final = re.compile(r"[^\W_]")


def split(text: str) -> list[Sentence]:
    """The sentences of `text` in order; each one is exactly `text[span.start:span.end]`.

    Left out: code, quoted lines, pasted logs and terminal output, lines that are only
    links, and sentences with nothing but inline code or symbols.
    """
    readable = _SURROGATE.sub("�", text)
    found = []
    for start, end in _runs(readable):
        for sentence_start, sentence_end in _sentences(readable, start, end):
            body = readable[sentence_start:sentence_end]
            if _WORD_LEFT.search(_INLINE_CODE.sub("", body)):
                span = Span(sentence_start, sentence_end)
                found.append(Sentence(text[span.start : span.end], span))
    return found


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of the author's own words: a line each, or more when a line was wrapped."""
    masked = _FENCED_INLINE.sub(lambda m: re.sub(r"[^\n]", "\0", m.group()), text)
    fenced = False
    run: tuple[int, int] | None = None
    position = 0
    for line in masked.splitlines(keepends=True):
        start, end = position, position + len(line)
        position = end
        if _FENCE.match(line):
            fenced = not fenced
            own = False
        else:
            own = not fenced and not _is_pasted(line)
        if not fenced and _QUOTE_TO_END.match(line):
            break
        marker = _LIST_MARKER.match(line)
        if run and own and not marker and _OPENS_LOWER.match(line) and not _is_closed(text, *run):
            run = (run[0], end)
            continue
        if run:
            yield from _unmasked(masked, *run)
        run = (start + (marker.end() if marker else 0), end) if own else None
    if run:
        yield from _unmasked(masked, *run)


def _is_closed(text: str, start: int, end: int) -> bool:
    """True when the range ends like a sentence."""
    while end > start and text[end - 1].isspace():
        end -= 1
    return end > start and text[end - 1] in _CLOSING


def _is_pasted(line: str) -> bool:
    if not line.strip():
        return True
    line = line.strip() + "\n"  # a run of white space would be tried at every place of it
    return bool(
        _QUOTE.match(line)
        or _REPLY_HEADER.match(line)
        or _LINK_ONLY.match(line)
        or _PASTED.match(line)
    )


def _unmasked(masked: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for part in re.finditer(r"[^\0]+", masked[start:end]):
        yield start + part.start(), start + part.end()


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Trimmed ranges; a quotation stays with the "he said" that follows it."""
    chunk = text[start:end]
    # A question mark inside inline code ends no sentence.
    plain = _INLINE_CODE.sub(lambda m: "x" * len(m.group()), chunk)
    code = language_of(chunk)
    bounds: list[tuple[int, int]] = []
    for boundary in sentencex.get_sentence_boundaries("en" if code == "und" else code, plain):
        first, last = boundary["start_index"], boundary["end_index"]
        if (
            bounds
            and _JOINED_QUOTE.match(plain[first:last])
            and plain[bounds[-1][0] : first].rstrip()[-1:] in "」』"
        ):
            first = bounds.pop()[0]
        bounds.append((first, last))
    for first, last in (part for bound in bounds for part in _at_full_stops(plain, *bound)):
        body = chunk[first:last]
        trimmed = body.strip()
        if trimmed:
            lead = len(body) - len(body.lstrip())
            yield start + first + lead, start + first + lead + len(trimmed)


def _at_full_stops(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """sentencex does not part 。 from a digit after it ("そうですね。3人です")."""
    first = start
    for stop in re.finditer(r"[。！？](?=[0-9０-９A-Za-z])", text[start:end]):
        cut = start + stop.end()
        if text[first:cut].count("「") == text[first:cut].count("」"):
            yield first, cut
            first = cut
    yield first, end

"""A file of questions answered one by one, into CSV and Markdown; resumable."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.messages import Reply

COLUMNS = ("number", "question", "type", "base", "confidence", "sources", "answer")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""How formulas begin (OWASP, "CSV Injection"); East Asian spreadsheets take full width too."""

Ask = Callable[[str], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Row:
    """One answered question, as in the reports."""

    number: int
    question: str
    type: str
    base: str
    confidence: str
    sources: str
    answer: str

    def cells(self) -> tuple[str, ...]:
        """As they stand in the file: see `inert`."""
        return tuple(inert(str(getattr(self, name))) for name in COLUMNS)


def inert(cell: str) -> str:
    """The text with a `'` before what a spreadsheet would run as a formula: answers quote what
    people and documents say.
    """
    return f"'{cell}" if cell.lstrip("'").startswith(_FORMULA) else cell


def _original(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell


def read_questions(path: Path) -> list[str]:
    """One question a line, blank lines left out; of a CSV file the column `question`, or the
    first. Raises OSError; undecodable bytes become U+FFFD.
    """
    text = path.read_text("utf-8-sig", errors="replace")
    if path.suffix.lower() != ".csv":
        return [line.strip() for line in text.splitlines() if line.strip()]
    rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    if not rows:
        return []
    header = [cell.strip().lower() for cell in rows[0]]
    if "question" in header:
        column, rows = header.index("question"), rows[1:]
    else:
        column = 0
    return [row[column].strip() for row in rows if len(row) > column and row[column].strip()]


def done_before(path: Path, questions: Sequence[str]) -> list[Row]:
    """The rows that an interrupted run has written, as far as they are of these questions."""
    if not path.is_file():
        return []
    rows: list[Row] = []
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file):
            number = len(rows) + 1
            same = (
                cells.get("number") == str(number)
                and number <= len(questions)
                and _original(cells.get("question") or "") == questions[number - 1]
                and all(cells.get(name) is not None for name in COLUMNS)
            )
            if not same:
                break
            rows.append(Row(number, *(_original(str(cells[name])) for name in COLUMNS[1:])))
    return rows


async def answer_all(questions: Sequence[str], ask: Ask, target: Path) -> AsyncIterator[Row]:
    """Answer each question that `target` (CSV) does not have yet; every row is on disk when it
    is given. Rows of an earlier run come first.
    """
    rows = done_before(target, questions)
    _write_csv(target, rows)
    for row in rows:
        yield row
    with target.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for number, question in enumerate(questions[len(rows) :], start=len(rows) + 1):
            row = to_row(number, question, await ask(question))
            writer.writerow(row.cells())
            file.flush()
            yield row


def to_row(number: int, question: str, reply: Reply) -> Row:
    """A reply as a row; an empty confidence where none was measured."""
    confidence = "" if reply.confidence is None else f"{reply.confidence:.0f}%"
    sources = "; ".join(citation.label for citation in reply.citations)
    return Row(number, question, reply.route, reply.base, confidence, sources, reply.text)


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(row.cells() for row in rows)


def to_markdown(rows: Sequence[Row]) -> str:
    """The report as a Markdown table."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(map(_cell, row.cells())) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")

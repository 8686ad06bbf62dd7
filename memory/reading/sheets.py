"""XLSX with python-calamine, and CSV; both become tables with their header row first."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterable, Iterator

from memory.reading.document import (
    CharacterBudget,
    Concern,
    Document,
    MediaType,
    Page,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.encoding import decode
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.ooxml import Package
from memory.reading.sections import table, tidy

_CELL_REFERENCE = re.compile(rb"<(?:\w+:)?c\s[^>]*?\br=[\"']([A-Z]{1,3})([0-9]{1,7})[\"']")
_DELIMITERS = ",\t;|"
_SAMPLE = 65_536

Cell = str | int | float | bool | dt.datetime | dt.date | dt.time | dt.timedelta | None


def read_workbook(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read an XLSX; each sheet is a section named after it. Raises UnreadableDocument."""
    import python_calamine

    package = Package(data, limits)
    _refuse_huge_sheets(package, limits)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        if len(workbook.sheet_names) > limits.max_pages:
            raise UnreadableDocument(Reason.TOO_BIG)
        pages = tuple(_sheets(workbook, CharacterBudget(limits.max_characters)))
    except python_calamine.PasswordError as error:
        raise UnreadableDocument(Reason.PASSWORD) from error
    except (python_calamine.CalamineError, OSError) as error:
        raise UnreadableDocument(Reason.CORRUPT) from error
    return Document(package.title() or title, MediaType.XLSX, pages)


def read_csv(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read delimited text in any encoding. Raises UnreadableDocument."""
    text, certain = decode(data)
    budget = CharacterBudget(limits.max_characters)
    try:
        body = table(csv.reader(io.StringIO(text, newline=""), _dialect(text)))
    except csv.Error:  # a quote that never closes makes one huge field
        body = tidy(text)
    if not body.strip():
        raise UnreadableDocument(Reason.EMPTY)
    warnings = () if certain else (ReadingWarning(Concern.REPLACED_CHARACTERS),)
    return Document(title, MediaType.CSV, (Page(None, (), budget.spend(body)),), warnings)


def _sheets(workbook: object, budget: CharacterBudget) -> Iterator[Page]:
    from python_calamine import CalamineWorkbook

    assert isinstance(workbook, CalamineWorkbook)
    for name in workbook.sheet_names:
        sheet = workbook.get_sheet_by_name(name)
        rows = ([budget.spend(_cell_text(cell)) for cell in row] for row in sheet.iter_rows())
        if text := table(rows):
            yield Page(None, (name,), text)


def _cell_text(cell: Cell) -> str:
    """A cell as a person reads it: whole numbers without ".0", dates in ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ", "seconds")
    return str(cell)


def _refuse_huge_sheets(package: Package, limits: ReadingLimits) -> None:
    """calamine holds the whole rectangle between the outermost cells, so look at it first."""
    for name in package.names():
        if not name.endswith(".xml"):
            continue
        rows, columns = _extent(_CELL_REFERENCE.findall(package.bytes(name)))
        if rows * columns > limits.max_cells:
            raise UnreadableDocument(Reason.TOO_BIG)


def _extent(references: Iterable[tuple[bytes, bytes]]) -> tuple[int, int]:
    rows = columns = 0
    for letters, digits in references:
        rows = max(rows, int(digits))
        number = 0
        for letter in letters:
            number = number * 26 + letter - 64
        columns = max(columns, number)
    return rows, columns


def _dialect(text: str) -> type[csv.Dialect] | csv.Dialect:
    try:
        return csv.Sniffer().sniff(text[:_SAMPLE], _DELIMITERS)
    except csv.Error:
        return csv.excel

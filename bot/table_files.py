"""Loads CSV and XLSX files into SQLite, so that questions can be asked of them."""

from __future__ import annotations

import csv
import io
import os
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bot.errors import DatabaseRefused
from memory.reading.encoding import decode

SUFFIXES: Final = frozenset({".csv", ".tsv", ".xlsx"})
MOST_BYTES: Final = 100 << 20
MOST_COLUMNS: Final = 500

_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")


def load(source: Path, target: Path) -> int:
    """Write every sheet of `source` as a table of a new SQLite file; gives the number of rows.

    The first row names the columns. A column is numeric when all its values are. Raises
    DatabaseRefused for a file without a table, or one that cannot be read.
    """
    if source.stat().st_size > MOST_BYTES:
        raise DatabaseRefused(f"{source.name} is too big.")
    made = target.with_suffix(".new")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    total = 0
    connection = sqlite3.connect(made)
    try:
        taken: set[str] = set()
        for name, rows in _sheets(source):
            total += _write(connection, _unique(name, taken), rows)
        connection.commit()
    finally:
        connection.close()
    if not total:
        made.unlink()
        raise DatabaseRefused(f"There is no table in {source.name}.")
    os.replace(made, target)
    return total


def _sheets(source: Path) -> Iterator[tuple[str, list[list[Any]]]]:
    if source.suffix.lower() == ".xlsx":
        yield from _workbook(source)
        return
    text, _ = decode(source.read_bytes())
    delimiter = "\t" if source.suffix.lower() == ".tsv" else _delimiter(text)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise DatabaseRefused(f"{source.name} is not a table: {error}") from error
    yield source.stem, [[_typed(cell) for cell in row] for row in rows]


def _workbook(source: Path) -> Iterator[tuple[str, list[list[Any]]]]:
    import python_calamine

    try:
        workbook = python_calamine.CalamineWorkbook.from_path(str(source))
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            yield name, [[_plain(cell) for cell in row] for row in sheet.to_python()]
    except (python_calamine.CalamineError, OSError) as error:
        raise DatabaseRefused(f"{source.name} cannot be read: {error}") from error


def _write(connection: sqlite3.Connection, name: str, rows: Sequence[Sequence[Any]]) -> int:
    """One table; gives its number of rows, 0 when there is no table."""
    filled = [row for row in rows if any(cell not in (None, "") for cell in row)]
    if len(filled) < 2:
        return 0
    taken: set[str] = set()
    columns = [_unique(str(cell or "column"), taken) for cell in filled[0]][:MOST_COLUMNS]
    width = len(columns)
    body = [[*row[:width], *[None] * (width - len(row))] for row in filled[1:]]
    kinds = [_kind(row[at] for row in body) for at in range(width)]
    listed = ", ".join(f"{_quoted(c)} {kind}" for c, kind in zip(columns, kinds, strict=True))
    connection.execute(f"CREATE TABLE {_quoted(name)} ({listed})")
    marks = ", ".join("?" * width)
    cells = [[None if cell == "" else cell for cell in row] for row in body]
    connection.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", cells)  # noqa: S608
    return len(body)


def _kind(values: Iterable[Any]) -> str:
    known = [value for value in values if value not in (None, "")]
    if known and all(isinstance(value, int) for value in known):
        return "INTEGER"
    return "REAL" if known and all(isinstance(v, int | float) for v in known) else "TEXT"


def _typed(cell: str) -> Any:
    """A number where the text is one; leading zeros are part of a code, not of a number."""
    plain = unicodedata.normalize("NFKC", cell).strip()
    if not _NUMBER.fullmatch(plain) or _LEADING_ZERO.match(plain):
        return cell.strip()
    digits = plain.replace(",", "")
    number = float(digits) if "." in digits else int(digits)
    return number if abs(number) < 1 << 53 else cell.strip()


def _plain(cell: Any) -> Any:
    """A cell of a workbook: whole numbers as such, times as ISO 8601."""
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 53:
        return int(cell)
    return cell if isinstance(cell, str | int | float) else str(cell)


def _delimiter(text: str) -> str:
    try:
        return csv.Sniffer().sniff(text[:65_536], ",\t;|").delimiter
    except csv.Error:
        return ","


def _unique(name: str, taken: set[str]) -> str:
    """A name that is a plain word, and not one that is taken."""
    plain = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", name).strip()).strip("_")
    word = plain or "column"
    word = f"t_{word}" if word[0].isdigit() or word.lower().startswith("sqlite") else word
    chosen, number = word, 2
    while chosen.lower() in taken:
        chosen, number = f"{word}_{number}", number + 1
    taken.add(chosen.lower())
    return chosen


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

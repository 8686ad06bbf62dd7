"""Runs one SELECT on a SQLite file in a process of its own, and ends.

Started as a script by `sql_sources`, with one JSON object on its input; it imports nothing but
the standard library, so that it starts in 50 ms. SQLite can spend time and memory inside a single
step that no handler interrupts; what the process may use is bounded by the system instead.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import time
from typing import Any
from urllib.parse import quote

STEPS_BETWEEN_LOOKS = 1_000
"""Virtual machine steps between two looks at the clock."""

LONGEST_VALUE = 1_000_000
"""Bytes of one value, also in the middle of a calculation."""

LONGEST_CELL = 500
"""Characters of a value that is given back."""


LARGEST_FILE = 1 << 20
"""Bytes that the process may write to a file: enough for the index of a write-ahead log, which
even a reader of such a database makes."""


def main() -> None:
    """Read a request, write an answer: `{"columns", "rows"}` or `{"error"}`."""
    request = json.load(sys.stdin)
    memory, seconds = request["memory_bytes"], request["seconds"]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    try:
        answer = answered(request)
    except sqlite3.Error as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": "out of memory"}
    json.dump(answer, sys.stdout)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Run the statement of a request. Raises sqlite3.Error."""
    connection = sqlite3.connect(f"file:{quote(request['path'])}?mode=ro", uri=True)
    for pragma in ("query_only = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    if request["statement"] is None:
        return _schema(connection)
    _limit(connection, request["seconds"], frozenset(request["functions"]))
    cursor = connection.execute(request["statement"])
    rows = cursor.fetchmany(request["rows"] + 1)
    names = [column[0] for column in cursor.description or ()]
    return {"columns": names, "rows": [[_cell(value) for value in row] for row in rows]}


def _schema(connection: sqlite3.Connection) -> dict[str, Any]:
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    tables = []
    for (name,) in names:
        columns = connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,))
        tables.append([name, [list(column) for column in columns]])
    return {"tables": tables}


def _limit(connection: sqlite3.Connection, seconds: float, functions: frozenset[str]) -> None:
    limits = {
        sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
        sqlite3.SQLITE_LIMIT_ATTACHED: 0,
        sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
        sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
        sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
        sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    }
    for limit, value in limits.items():
        connection.setlimit(limit, value)
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_LOOKS)

    def allowed(action: int, one: str | None, two: str | None, *_: str | None) -> int:
        """Reading tables of the user's own and plain functions; nothing else."""
        if action == sqlite3.SQLITE_SELECT:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and not (one or "").lower().startswith("sqlite_"):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in functions:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(allowed)


def _cell(value: Any) -> str | int | float | None:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return value[:LONGEST_CELL] if isinstance(value, str) else value


if __name__ == "__main__":
    main()

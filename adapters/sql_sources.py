"""Registered databases, read-only: a SQLite file or a PostgreSQL server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from adapters import sqlite_worker
from adapters.sql_guard import FUNCTIONS, checked
from bot.errors import DatabaseRefused, QueryFailed
from bot.ports import QueryResult, SqlDatabase, TableSchema

LONGEST_CELL: Final = sqlite_worker.LONGEST_CELL
OWN_TABLES: Final = frozenset({"inbox", "message", "fact", "evidence", "tombstone"})
"""A database that has all of these is one of Oboete's, which nobody may register."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How much one question may ask of a database."""

    rows: int = 50
    seconds: float = 5.0
    memory_bytes: int = 256 << 20


class SqliteDatabase:
    """A SQLite file. Each query runs in a process of its own; see `sqlite_worker`."""

    dialect = "SQLite"

    def __init__(self, path: Path, limits: QueryLimits | None = None) -> None:
        self._path = path
        self._limits = limits or QueryLimits()

    async def schema(self) -> tuple[TableSchema, ...]:
        """See `bot.ports.SqlDatabase.schema`."""
        answer = await self._ask(None)
        return tuple(
            TableSchema(name, tuple((column, kind) for column, kind in columns))
            for name, columns in answer["tables"]
        )

    async def query(self, statement: str) -> QueryResult:
        """See `bot.ports.SqlDatabase.query`."""
        tables = [table.name for table in await self.schema()]
        safe = checked(statement, tables, "sqlite", self._limits.rows + 1)
        answer = await self._ask(safe)
        rows = tuple(tuple(row) for row in answer["rows"])
        limit = self._limits.rows
        return QueryResult(tuple(answer["columns"]), rows[:limit], len(rows) > limit, safe)

    async def _ask(self, statement: str | None) -> dict[str, Any]:
        request = {
            "path": str(self._path),
            "statement": statement,
            "rows": self._limits.rows,
            "seconds": self._limits.seconds,
            "memory_bytes": self._limits.memory_bytes,
            "functions": sorted(FUNCTIONS),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-B", sqlite_worker.__file__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(self._limits.seconds + 2):
                output, _ = await process.communicate(json.dumps(request).encode())
        except TimeoutError as error:
            raise QueryFailed("The query took too long.") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        return _answer(output)


def _answer(output: bytes) -> dict[str, Any]:
    """What the worker said. Raises QueryFailed for an error, and when it was stopped."""
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise QueryFailed("The query used too much time or memory.") from error
    if "error" not in answer:
        return answer
    if answer["error"] in {"interrupted", "out of memory"}:
        raise QueryFailed("The query used too much time or memory.")
    raise QueryFailed(f"The database cannot answer: {answer['error']}")


class PostgresDatabase:
    """A PostgreSQL server. Each query has a connection and a read-only transaction of its own."""

    dialect = "PostgreSQL"

    def __init__(self, url: str, limits: QueryLimits | None = None) -> None:
        self._url = url
        self._limits = limits or QueryLimits()

    async def schema(self) -> tuple[TableSchema, ...]:
        """See `bot.ports.SqlDatabase.schema`. Tables and views of the search path."""
        _, rows = await self._run(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = ANY (current_schemas(false))"
            " ORDER BY table_name, ordinal_position"
        )
        tables: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in rows:
            tables.setdefault(str(table), []).append((str(column), str(kind)))
        return tuple(TableSchema(name, tuple(columns)) for name, columns in tables.items())

    async def query(self, statement: str) -> QueryResult:
        """See `bot.ports.SqlDatabase.query`."""
        tables = [table.name for table in await self.schema()]
        safe = checked(statement, tables, "postgres", self._limits.rows + 1)
        columns, rows = await self._run(safe)
        limit = self._limits.rows
        cells = tuple(tuple(_cell(value) for value in row) for row in rows[:limit])
        return QueryResult(columns, cells, len(rows) > limit, safe)

    async def _run(self, statement: str) -> tuple[tuple[str, ...], list[Any]]:
        return await asyncio.to_thread(self._run_now, statement)

    def _run_now(self, statement: str) -> tuple[tuple[str, ...], list[Any]]:
        try:
            # an extra: few installations have a PostgreSQL server to ask
            from pg8000 import exceptions, native
        except ImportError as error:
            raise QueryFailed(
                "PostgreSQL needs the extra `postgresql`: pip install 'oboete[postgresql]'"
            ) from error
        milliseconds = int(self._limits.seconds * 1000)
        try:
            with contextlib.closing(native.Connection(**_address(self._url))) as connection:
                connection.run("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
                connection.run(f"SET statement_timeout = {milliseconds}")
                connection.run("SET work_mem = '16MB'")
                connection.run("START TRANSACTION READ ONLY")
                rows = connection.run(statement)
                columns = tuple(str(column["name"]) for column in connection.columns or ())
                connection.run("ROLLBACK")
        except (exceptions.Error, OSError) as error:
            raise QueryFailed(f"The database cannot answer: {_reason(error)}") from error
        return columns, list(rows or ())


def _reason(error: Exception) -> str:
    """The server's own sentence, without the codes around it."""
    said = error.args[0] if error.args else ""
    return str(said.get("M", "")) if isinstance(said, dict) else str(said)


def _address(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    given: dict[str, Any] = {
        "user": unquote(parts.username or "postgres"),
        "host": parts.hostname or "localhost",
        "port": parts.port or 5432,
        "database": parts.path.lstrip("/") or None,
        "timeout": 10,
    }
    if parts.password is not None:
        given["password"] = unquote(parts.password)
    if "sslmode=require" in parts.query:
        given["ssl_context"] = ssl.create_default_context()
    return given


def _cell(value: Any) -> str | int | float | None:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)[:LONGEST_CELL]


def open_database(location: str, limits: QueryLimits | None = None) -> SqlDatabase:
    """The database at a path or a `postgresql://` address. Raises DatabaseRefused."""
    scheme = urlsplit(location).scheme
    if scheme in {"postgresql", "postgres"}:
        return PostgresDatabase(location, limits)
    path = Path(location)
    if not path.is_file():
        raise DatabaseRefused(f"There is no database file {path.name!r}.")
    return SqliteDatabase(path, limits)


async def refuse_own(database: SqlDatabase) -> None:
    """Raises DatabaseRefused for a database of Oboete's own: it holds everybody's words."""
    tables = {table.name.lower() for table in await database.schema()}
    if tables >= OWN_TABLES:
        raise DatabaseRefused("This is a database of Oboete's own, which holds private messages.")
    if not tables:
        raise DatabaseRefused("There are no tables in this database.")

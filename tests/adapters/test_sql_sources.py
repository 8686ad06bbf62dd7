"""Questions to databases: one SELECT goes through, everything else is refused or cut short."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.sql_guard import checked
from adapters.sql_sources import (
    PostgresDatabase,
    QueryLimits,
    SqliteDatabase,
    open_database,
    refuse_own,
)
from bot.errors import DatabaseRefused, QueryFailed, UnsafeQuery
from tests.adapters.hostile_sql import EXPENSIVE, REFUSED

TABLES = ("orders", "customers", "numbers")
PLAIN = (
    "SELECT count(*) FROM orders",
    "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer ORDER BY total DESC",
    "SELECT c.name, avg(o.amount) FROM orders o JOIN customers c ON o.customer = c.name GROUP BY 1",
    "WITH big AS (SELECT * FROM orders WHERE amount > 3) SELECT max(amount) FROM big",
    "WITH a AS (SELECT * FROM orders), b AS (SELECT * FROM a) SELECT count(*) FROM a, b",
    "SELECT * FROM (WITH a AS (SELECT 1 AS n) SELECT n FROM a) x, orders WHERE n = id",
    "SELECT round(avg(amount), 2) FROM orders WHERE customer LIKE '%a%' -- remark",
    "SELECT CASE WHEN amount > 3 THEN '大' ELSE '小' END AS 種類, count(*) FROM orders GROUP BY 1",
    "SELECT customer, rank() OVER (ORDER BY amount DESC) FROM orders",
    "SELECT upper(customer) || '!' FROM orders UNION SELECT name FROM customers",
    "SELECT CAST(amount AS REAL) FROM orders WHERE amount = (SELECT max(amount) FROM orders);",
)
SCHEMA = (
    "CREATE TABLE orders (id INTEGER, customer TEXT, amount INTEGER)",
    "CREATE TABLE customers (name TEXT)",
    "CREATE TABLE numbers (n INTEGER)",
    "INSERT INTO orders VALUES (1, '花子', 3), (2, 'taro', 5)",
    "INSERT INTO customers VALUES ('taro')",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    for statement in SCHEMA:
        connection.execute(statement)
    connection.executemany("INSERT INTO numbers VALUES (?)", [(n,) for n in range(2000)])
    connection.commit()
    connection.close()
    return path


def test_there_are_enough_hostile_statements() -> None:
    assert len({*REFUSED, *EXPENSIVE}) >= 60


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_not_one_plain_select_is_refused(statement: str, dialect: str) -> None:
    with pytest.raises(UnsafeQuery):
        checked(statement, TABLES, dialect, 10)


@pytest.mark.parametrize("statement", PLAIN)
async def test_plain_questions_are_answered(file: Path, statement: str) -> None:
    result = await SqliteDatabase(file).query(statement)
    assert result.rows
    assert result.statement.startswith("SELECT * FROM (")
    assert "remark" not in result.statement


async def test_columns_and_values_come_as_they_are(file: Path) -> None:
    result = await SqliteDatabase(file).query("SELECT customer AS 顧客, amount FROM orders")
    assert result.columns == ("顧客", "amount")
    assert result.rows == (("花子", 3), ("taro", 5))
    assert not result.is_cut


async def test_rows_are_cut_at_the_limit(file: Path) -> None:
    database = SqliteDatabase(file, QueryLimits(rows=10))
    result = await database.query("SELECT n FROM numbers LIMIT 1000")
    assert (len(result.rows), result.is_cut) == (10, True)
    exactly = await database.query("SELECT n FROM numbers LIMIT 10")
    assert (len(exactly.rows), exactly.is_cut) == (10, False)


@pytest.mark.parametrize("statement", EXPENSIVE)
async def test_what_would_take_hours_or_gigabytes_is_stopped(file: Path, statement: str) -> None:
    database = SqliteDatabase(file, QueryLimits(seconds=0.5, memory_bytes=128 << 20))
    with pytest.raises(QueryFailed):
        await database.query(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders VALUES (9, 'x', 1)",
        "SELECT * FROM sqlite_master",
        "SELECT load_extension('x')",
        "PRAGMA writable_schema = 1",
        "ATTACH '/tmp/evil.db' AS evil",
        "SELECT randomblob(900000)",
        "SELECT replace(replace('aa', 'a', 'bbbbbbbbbb'), 'b', 'cccccccccc') FROM orders",
    ],
)
async def test_the_database_itself_refuses_what_the_parser_would_let_through(
    file: Path, statement: str
) -> None:
    """The second wall, behind the first one."""
    before = file.read_bytes()
    harmless = "replace(" in statement
    try:
        await SqliteDatabase(file)._ask(statement)
    except QueryFailed:
        assert not harmless
    else:
        assert harmless
    assert file.read_bytes() == before
    assert not Path("/tmp/evil.db").exists()


async def test_a_view_with_a_forbidden_function_does_nothing(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE VIEW trap AS SELECT randomblob(10) AS x")
    connection.commit()
    connection.close()
    with pytest.raises(QueryFailed):
        await SqliteDatabase(file).query("SELECT * FROM trap")


async def test_the_schema_lists_tables_with_their_columns(file: Path) -> None:
    tables = await SqliteDatabase(file).schema()
    assert [table.name for table in tables] == ["customers", "numbers", "orders"]
    assert tables[2].columns == (("id", "INTEGER"), ("customer", "TEXT"), ("amount", "INTEGER"))


async def test_what_is_no_database_fails_in_words(tmp_path: Path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear Sir or Madam")
    with pytest.raises(QueryFailed):
        await SqliteDatabase(path).schema()
    with pytest.raises(DatabaseRefused):
        open_database(str(tmp_path / "missing.db"))


async def test_our_own_database_is_refused_under_any_name(
    file: Path, schema_file: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "innocent.db"
    shutil.copy(schema_file, copy)
    with pytest.raises(DatabaseRefused):
        await refuse_own(open_database(str(copy)))
    await refuse_own(open_database(str(file)))


# -- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of this module's own, in a temporary folder."""
    initdb, postgres = shutil.which("initdb"), shutil.which("postgres")
    if initdb is None or postgres is None:
        pytest.skip("there is no PostgreSQL here")
    # PostgreSQL refuses to run as root
    user = 65534 if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if user is not None:
        os.chown(folder, user, user)
    data = folder / "data"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = subprocess.run(
        [initdb, "-D", data, "-A", "trust", "-U", "oboete", "-E", "UTF8", "--no-sync"],
        user=user,
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if made.returncode:
        shutil.rmtree(folder)
        pytest.skip("PostgreSQL cannot be set up here")
    process = subprocess.Popen(
        [postgres, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-F"],
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"postgresql://oboete@127.0.0.1:{port}/postgres"
        _fill(port)
        yield url
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _fill(port: int) -> None:
    from pg8000 import exceptions, native

    for attempt in range(200):
        try:
            connection = native.Connection("oboete", "127.0.0.1", "postgres", port, timeout=5)
            break
        except (exceptions.Error, OSError):
            if attempt == 199:
                raise
            subprocess.run(["sleep", "0.1"], check=True)
    for statement in SCHEMA:
        connection.run(statement)
    connection.run("INSERT INTO numbers SELECT generate_series(1, 2000)")
    connection.run("CREATE SCHEMA hidden")
    connection.run("CREATE TABLE hidden.salaries (n INTEGER)")
    connection.close()


@pytest.mark.parametrize("statement", PLAIN)
async def test_postgresql_answers_plain_questions(server: str, statement: str) -> None:
    assert (await PostgresDatabase(server).query(statement)).rows


async def test_postgresql_shows_the_tables_of_the_search_path(server: str) -> None:
    tables = await PostgresDatabase(server).schema()
    assert [table.name for table in tables] == ["customers", "numbers", "orders"]


async def test_postgresql_stops_what_takes_too_long(server: str) -> None:
    database = PostgresDatabase(server, QueryLimits(seconds=0.5))
    with pytest.raises(QueryFailed):
        await database.query(EXPENSIVE[0])


@pytest.mark.parametrize(
    "statement", ["DELETE FROM orders", "CREATE TABLE evil (x int)", "SELECT nextval('nothing')"]
)
async def test_postgresql_itself_refuses_to_write(server: str, statement: str) -> None:
    database = PostgresDatabase(server)
    with pytest.raises(QueryFailed):
        await database._run(statement)
    assert (await database.query("SELECT count(*) FROM orders")).rows == ((2,),)


async def test_a_server_that_is_away_fails_in_words() -> None:
    with pytest.raises(QueryFailed):
        await PostgresDatabase("postgresql://nobody@127.0.0.1:1/nothing").schema()

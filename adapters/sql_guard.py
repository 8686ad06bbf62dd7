"""Lets one harmless SELECT through and nothing else, before any database sees it.

The statement is parsed by sqlglot and written anew from its tree, so that comments, tricks of
quoting and anything that the parser did not understand never arrive.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from bot.errors import UnsafeQuery

# it would write statements that it does not know into our log
logging.getLogger("sqlglot").setLevel(logging.ERROR)

MOST_CHARACTERS: Final = 10_000
MOST_NODES: Final = 2_000
"""Of a statement: more is no question that somebody asked."""

MOST_TABLES: Final = 8
"""Tables joined in one statement, repeats counted."""


FUNCTIONS: Final = frozenset(
    """abs avg cast ceil ceiling char_length coalesce concat count current_date current_timestamp
    date date_part date_trunc datetime day dense_rank exp extract floor greatest ifnull iif instr
    julianday lag lead least length ln log lower ltrim max median min mod month ntile nullif
    position power rank replace round row_number rtrim sign sqrt stddev strftime substr substring
    sum time timestamp to_char total trim trunc upper year first_value last_value
    glob like""".split()  # noqa: SIM905 - reads better
)
"""Functions by name; everything else, such as load_extension or pg_read_file, is refused."""

_EXPRESSIONS: Final = (
    *(exp.Abs, exp.Avg, exp.Cast, exp.TryCast, exp.Ceil, exp.Coalesce, exp.Concat, exp.Count),
    *(exp.CurrentDate, exp.CurrentTimestamp, exp.Date, exp.TimestampTrunc, exp.DateTrunc),
    *(exp.Exp, exp.Extract, exp.Floor, exp.Greatest, exp.If, exp.Lag, exp.Lead, exp.Least),
    *(exp.Length, exp.Ln, exp.Log, exp.Lower, exp.Max, exp.Min, exp.Nullif, exp.Pow, exp.Round),
    *(exp.RowNumber, exp.Sign, exp.Sqrt, exp.StrPosition, exp.Substring, exp.Sum, exp.Trim),
    *(exp.Upper, exp.Year, exp.Month, exp.Day, exp.TimeToStr, exp.Case, exp.And, exp.Or),
    *(exp.Stddev, exp.Median, exp.FirstValue, exp.LastValue, exp.TsOrDsToDate, exp.Replace),
    *(exp.TsOrDsToTimestamp, exp.Xor, exp.Rank, exp.DenseRank, exp.Ntile, exp.ToChar),
)
"""Functions that sqlglot has a class of its own for."""

_FORBIDDEN: Final = (
    *(exp.DDL, exp.DML, exp.Command, exp.Into, exp.Lock, exp.Pragma, exp.Attach, exp.Detach),
    *(exp.Set, exp.Use, exp.Transaction, exp.Commit, exp.Rollback, exp.Copy, exp.Parameter),
    *(exp.Placeholder, exp.SessionParameter, exp.Lateral, exp.Unnest, exp.Lambda, exp.Values),
)
_TYPES: Final = frozenset(
    """BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL NCHAR NVARCHAR SMALLINT
    TEXT TIME TIMESTAMP TIMESTAMPTZ TINYINT VARCHAR""".split()  # noqa: SIM905 - reads better
)
"""What may be cast to: `regclass` and the like tell what other tables there are."""

_ALLOWED_ROOTS: Final = (exp.Select, exp.SetOperation)


def checked(statement: str, tables: Collection[str], dialect: str, limit: int) -> str:
    """The statement as it may be run: one SELECT over `tables`, giving at most `limit` rows.

    `dialect` is sqlglot's: `sqlite` or `postgres`. Raises UnsafeQuery.
    """
    if len(statement) > MOST_CHARACTERS:
        raise UnsafeQuery("The statement is too long.")
    try:
        parsed = [tree for tree in sqlglot.parse(statement, dialect=dialect) if tree is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        raise UnsafeQuery("The statement cannot be understood.") from error
    if len(parsed) != 1:
        raise UnsafeQuery("There must be exactly one statement.")
    tree = parsed[0]
    if not isinstance(tree, _ALLOWED_ROOTS):
        raise UnsafeQuery("Only SELECT is allowed.")
    _check(tree, frozenset(tables), exact=dialect == "postgres")
    # wrapped: a limit that the statement has itself may be larger
    wrapped = exp.select("*").from_(tree.subquery("answer")).limit(limit)
    return wrapped.sql(dialect=dialect, comments=False)


def _check(tree: exp.Expression, tables: frozenset[str], *, exact: bool) -> None:
    # SQLite takes no notice of case, not even between quotation marks
    known = tables if exact else frozenset(map(str.lower, tables))
    nodes = used = 0
    for node in tree.walk():
        nodes += 1
        if isinstance(node, _FORBIDDEN) and not isinstance(node, _ALLOWED_ROOTS):
            raise UnsafeQuery("Only SELECT is allowed.")
        if isinstance(node, exp.With) and node.args.get("recursive"):
            raise UnsafeQuery("Recursion is not allowed.")
        if isinstance(node, exp.Table):
            used += 1
            _check_table(node, known, exact=exact)
        elif isinstance(node, exp.Func):
            _check_function(node)
        elif isinstance(node, exp.DataType) and getattr(node.this, "name", "") not in _TYPES:
            raise UnsafeQuery("That type is not allowed.")
    if nodes > MOST_NODES or used > MOST_TABLES:
        raise UnsafeQuery("The statement is too large.")


def _check_table(node: exp.Table, known: frozenset[str], *, exact: bool) -> None:
    """A table must be a known one, without a schema or catalogue before it, or be defined by the
    statement itself.
    """
    if node.args.get("db") or node.args.get("catalog") or not isinstance(node.this, exp.Identifier):
        raise UnsafeQuery("Only the listed tables can be read.")
    name = _folded(node.this)
    if (name if exact else name.lower()) not in known and name not in _defined_for(node):
        raise UnsafeQuery("Only the listed tables can be read.")


def _folded(name: exp.Identifier) -> str:
    """The name as databases compare it: one without quotation marks in small letters."""
    text = str(name.this)
    return text if name.args.get("quoted") else text.lower()


def _defined_for(node: exp.Table) -> set[str]:
    """The names that WITH gives to a table at this place. Elsewhere, and within its own
    definition, the same name means a table of the database.
    """
    found: set[str] = set()
    inside: exp.Expr | None = None
    below: exp.Expr = node
    while (above := below.parent) is not None:
        if isinstance(above, exp.With):
            inside = above
            found |= {_name_of(cte) for cte in above.expressions[: below.index]}
        else:
            for with_ in above.args.values():
                if isinstance(with_, exp.With) and with_ is not inside:
                    found |= {_name_of(cte) for cte in with_.expressions}
        below = above
    return found


def _name_of(cte: exp.CTE) -> str:
    return _folded(cte.args["alias"].this)


def _check_function(node: exp.Func) -> None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name in FUNCTIONS or isinstance(node, _EXPRESSIONS):
        return
    raise UnsafeQuery("That function is not allowed.")

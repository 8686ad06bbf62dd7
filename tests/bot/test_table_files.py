"""CSV and XLSX files become tables that can be asked."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bot.errors import DatabaseRefused
from bot.table_files import load


def loaded(tmp_path: Path, name: str, data: bytes) -> dict[str, tuple[list[str], list[Any]]]:
    """Tables by name, with column declarations and rows."""
    source, target = tmp_path / name, tmp_path / "out" / "table.db"
    source.write_bytes(data)
    load(source, target)
    connection = sqlite3.connect(target)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    tables = {
        table: (
            [f"{c} {t}" for _, c, t, *_ in connection.execute(f'PRAGMA table_info("{table}")')],
            connection.execute(f'SELECT * FROM "{table}"').fetchall(),
        )
        for table in names
    }
    connection.close()
    return tables


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp"])
def test_japanese_csv_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = '商品名,単価,数量\nりんご,120,3\nみかんジュース,98.5,10\n牛乳パック,"1,200",\n'
    tables = loaded(tmp_path, "売上.csv", text.encode(encoding))
    columns, rows = tables["売上"]
    assert columns == ["商品名 TEXT", "単価 REAL", "数量 INTEGER"]
    assert rows == [("りんご", 120, 3), ("みかんジュース", 98.5, 10), ("牛乳パック", 1200, None)]


def test_codes_with_leading_zeros_stay_text(tmp_path: Path) -> None:
    columns, rows = loaded(tmp_path, "a.csv", b"code;n\n007;1\n010;2\n")["a"]
    assert (columns, rows) == (["code TEXT", "n INTEGER"], [("007", 1), ("010", 2)])


def test_names_become_plain_words_and_never_collide(tmp_path: Path) -> None:
    data = b"Unit Price,unit price,,1st,drop table x; --\n1,2,3,4,5\n"
    columns, _ = loaded(tmp_path, "sqlite master.csv", data)["t_sqlite_master"]
    assert columns == [
        "Unit_Price INTEGER",
        "unit_price_2 INTEGER",
        "column INTEGER",
        "t_1st INTEGER",
        "drop_table_x INTEGER",
    ]


def test_short_and_long_rows_fit_the_header(tmp_path: Path) -> None:
    _, rows = loaded(tmp_path, "a.tsv", b"a\tb\n1\n1\t2\t3\n\n")["a"]
    assert rows == [(1, None), (1, 2)]


@pytest.mark.parametrize(
    ("name", "data"), [("a.csv", b""), ("a.csv", b"only,a,header\n"), ("a.xlsx", b"no workbook")]
)
def test_what_is_no_table_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, data: bytes
) -> None:
    with pytest.raises(DatabaseRefused):
        loaded(tmp_path, name, data)
    assert not (tmp_path / "out" / "table.db").exists()


def test_loading_again_replaces_the_table(tmp_path: Path) -> None:
    loaded(tmp_path, "a.csv", b"n\n1\n2\n")
    assert loaded(tmp_path, "a.csv", b"n\n3\n")["a"][1] == [(3,)]

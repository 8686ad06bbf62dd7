"""A file of questions, answered into one that a spreadsheet may open."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bot.batch import answer_all, done_before, inert, to_row
from bot.messages import Reply


@pytest.mark.parametrize(
    "cell",
    [
        '=HYPERLINK("http://evil.example","x")',
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "＝１＋１",
        "'=1",
    ],
)
async def test_no_cell_is_run_as_a_formula_and_an_interrupted_run_goes_on(
    tmp_path: Path, cell: str
) -> None:
    target = tmp_path / "out.csv"

    async def ask(question: str) -> Reply:
        return Reply(cell, route="talk")

    rows = [row async for row in answer_all([cell], ask, target)]
    with target.open(encoding="utf-8", newline="") as file:
        [header, cells] = list(csv.reader(file))
    assert header[0] == "number"
    assert not any(text.startswith(("=", "+", "-", "@", "\t", "＝")) for text in cells)
    assert done_before(target, [cell]) == rows == [to_row(1, cell, Reply(cell, route="talk"))]


@pytest.mark.parametrize("cell", ["plain", "'quoted'", "五=五", "", "1-2"])
def test_what_is_no_formula_stays_as_it_is(cell: str) -> None:
    assert inert(cell) == cell

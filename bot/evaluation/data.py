"""Reading evaluation data: JSON lines in folders, as laid out in the README beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.errors import BadSettings

Row = dict[str, Any]


class MissingData(BadSettings):
    """The folder does not have the data that is to be measured."""


def rows(folder: Path, name: str) -> list[Row]:
    """The rows of `name`.jsonl. Raises MissingData."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        raise MissingData(
            f"There is no evaluation data at {path}.", fix="Give its folder with --data."
        )
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def stems(folder: Path, part: str, pattern: str) -> list[str]:
    """Names of the data files of a part that fit the pattern, sorted. Raises MissingData."""
    found = sorted(path.stem for path in (folder / part).glob(f"{pattern}.jsonl"))
    if not found:
        raise MissingData(
            f"There is no evaluation data at {folder / part}/{pattern}.jsonl.",
            fix="Give its folder with --data.",
        )
    return found


def has(folder: Path, name: str) -> bool:
    """True when there is a file of that name."""
    return (folder / f"{name}.jsonl").is_file()

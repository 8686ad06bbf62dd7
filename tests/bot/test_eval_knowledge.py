"""`oboete eval route` and `ingest` on a small folder of our own, and on the shared one if there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from bot import eval_knowledge
from tests.fakes import FakeEmbedder

SHARED = Path(__file__).parents[2] / "../shared/eval"


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


async def test_routing_is_measured_beside_the_nearest_mean(tmp_path: Path) -> None:
    bases = {
        "cooking": ["boil the pasta", "bake the bread"],
        "money": ["transfer money abroad", "the interest rate of a loan"],
    }
    write(
        tmp_path / eval_knowledge.DESCRIPTIONS,
        [
            {"domain": domain, "intents": [f"{domain}_{n}" for n in range(2)], "examples": lines}
            for domain, lines in bases.items()
        ],
    )
    write(
        tmp_path / eval_knowledge.QUESTIONS,
        [
            {"text": "please boil the pasta", "domain": "cooking"},
            {"text": "what is the interest rate", "domain": "money"},
            {"text": "zebra giraffe", "domain": "oos"},
        ],
    )
    first = await eval_knowledge.route(tmp_path, FakeEmbedder())
    name = eval_knowledge.QUESTIONS.stem
    assert set(first) == {name, f"{name} nearest_mean"}
    assert first[name]["n"] == 3
    assert first[name]["accuracy"] == 100
    assert first[name]["auc"] == 1
    assert await eval_knowledge.route(tmp_path, FakeEmbedder()) == first


async def test_reading_is_measured_by_what_must_come_out(tmp_path: Path) -> None:
    folder = tmp_path / eval_knowledge.MANIFEST.parent
    folder.mkdir(parents=True)
    (folder / "good.txt").write_text("在宅勤務の規程です。", encoding="euc_jp")
    (folder / "wrong.txt").write_text("something else", encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\n")
    write(
        tmp_path / eval_knowledge.MANIFEST,
        [
            {"file": "good.txt", "expect": "must hold 在宅勤務の規程"},
            {"file": "wrong.txt", "expect": "must hold 在宅勤務の規程"},
            {"file": "broken.pdf", "expect": "clear error"},
        ],
    )
    measured = (await eval_knowledge.ingest(tmp_path))["docs"]
    assert measured == {"n": 3, "passed": 2, "total": 3, "read": 2, "refused": 1}


async def test_missing_data_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await eval_knowledge.route(tmp_path, FakeEmbedder())
    with pytest.raises(FileNotFoundError):
        await eval_knowledge.ingest(tmp_path)


@pytest.mark.slow
async def test_every_shared_file_gives_what_it_must() -> None:
    if not (SHARED / eval_knowledge.MANIFEST).is_file():
        pytest.skip("the shared evaluation data is not here")
    before = _digests(SHARED / eval_knowledge.MANIFEST.parent)
    measured = (await eval_knowledge.ingest(SHARED))["docs"]
    assert measured["passed"] == measured["total"]
    assert _digests(SHARED / eval_knowledge.MANIFEST.parent) == before


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

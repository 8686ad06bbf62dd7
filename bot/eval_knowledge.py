"""What `oboete eval route` and `oboete eval ingest` measure: plain functions over a data folder.

Each gives `{set: {metric: number}}`, in percent unless named otherwise; same input, same output.
"""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import migrations
from bot.prompts import count_tokens
from memory import routing
from memory.base_router import BaseRouter, Routed
from memory.embedding import EmbeddingService
from memory.index import VectorIndex
from memory.knowledge import Knowledge, NewSource
from memory.ports import Embedder
from memory.ranking import Floats
from memory.reading import (
    Document,
    MediaType,
    Page,
    ReadingLimits,
    UnreadableDocument,
    read_in_subprocess,
)
from memory.store import base_means
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.store.tombstones import Ledger
from memory.types import Audience, Person, Readable

Sets = dict[str, dict[str, float]]

DESCRIPTIONS = Path("routing/clinc150_kb_descriptions.jsonl")
QUESTIONS = Path("routing/clinc150_routing_en.jsonl")
MANIFEST = Path("docs/MANIFEST.jsonl")
OUT_OF_SCOPE = "oos"

_PLACE = Audience("eval", "local", "knowledge")
_BY = Person("eval", "local", "nobody")
_THEN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A memory of its own, in a temporary folder."""

    database: Database
    embedding: EmbeddingService
    knowledge: Knowledge
    router: BaseRouter


@asynccontextmanager
async def _bench(embedder: Embedder) -> AsyncIterator[_Bench]:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/eval.db")
        try:
            database.prepare()
            migrations.upgrade(database.engine)
            index = VectorIndex(database)
            embedding = EmbeddingService(database, index, embedder, lambda: _THEN)
            await embedding.open()
            knowledge = Knowledge(
                database,
                embedding,
                Ledger(Path(folder)),
                lambda: _THEN,
                count_tokens,
                read=_as_it_is,
            )
            yield _Bench(database, embedding, knowledge, BaseRouter(database, index, embedding))
        finally:
            database.close()


async def _as_it_is(data: bytes, name: str, _limits: ReadingLimits) -> Document:
    """Text of our own making needs no process of its own."""
    return Document(Path(name).stem, MediaType.TEXT, (Page(None, (), data.decode()),))


# -- route ---------------------------------------------------------------------------------------


async def route(data: Path, embedder: Embedder) -> Sets:
    """Which base is a question for? Every example line becomes a document named after its topic.

    `accuracy` of in-scope questions and `auc` of in scope or not; `sure` is the mean confidence
    in the chosen base where the question is in scope, to be compared with `accuracy`;
    `accepted_in_scope` and `refused_out_of_scope` are at the shipped threshold. `nearest_mean` is
    the method of S5. FileNotFoundError when the data is not there.
    """
    described, asked = _rows(data / DESCRIPTIONS), _rows(data / QUESTIONS)
    async with _bench(embedder) as bench:
        names: dict[int, str] = {}
        for row in described:
            base = await bench.knowledge.ensure_base(row["domain"], _PLACE, _BY)
            names[base.id] = row["domain"]
            for number, (topic, line) in enumerate(
                zip(row["intents"], row["examples"], strict=True)
            ):
                new = NewSource(f"{row['domain']}/{number}", topic.replace("_", " "), _BY)
                await bench.knowledge.add(base, new, line.encode())
        await bench.embedding.drain()
        await bench.knowledge.refresh_means()
        readable = Readable.of(_PLACE)
        routed = [await bench.router.route(row["text"], readable) for row in asked]
        nearest = [await _nearest_mean(bench, row["text"], list(names)) for row in asked]
    gold = [row["domain"] for row in asked]
    chosen = [names[each.choices[0][0].id] for each in routed]
    return {
        QUESTIONS.stem: {
            **_routing_metrics(gold, chosen, np.array([_in_scope(each) for each in routed])),
            **_confidence_metrics(gold, chosen, routed),
        },
        f"{QUESTIONS.stem} nearest_mean": _routing_metrics(
            gold,
            [names[each[0].base_id] for each in nearest],
            np.array([each[0].score for each in nearest]),
        ),
    }


def _in_scope(routed: Routed) -> float:
    return sum(choice.confidence for _, choice in routed.choices)


async def _nearest_mean(bench: _Bench, text: str, base_ids: Sequence[int]) -> list[routing.Choice]:
    embedded = await bench.embedding.query(text)
    assert embedded is not None
    model: Model = embedded[0]
    means = await bench.database.read(lambda s: base_means.load(s, base_ids, model.id))
    vectors = {base_id: mean.vector for base_id, mean in means.items()}
    return routing.nearest_mean(embedded[1], vectors)


def _routing_metrics(gold: Sequence[str], chosen: Sequence[str], scope: Floats) -> dict[str, float]:
    inside = np.array([domain != OUT_OF_SCOPE for domain in gold])
    right = np.array([a == b for a, b in zip(gold, chosen, strict=True)])
    return {
        "n": len(gold),
        "accuracy": 100 * float(right[inside].mean()),
        "auc": _auc(scope[inside], scope[~inside]),
    }


def _confidence_metrics(
    gold: Sequence[str], chosen: Sequence[str], routed: Sequence[Routed]
) -> dict[str, float]:
    inside = np.array([domain != OUT_OF_SCOPE for domain in gold])
    refused = np.array([each.out_of_scope for each in routed])
    sure = np.array([each.confidence for each in routed])
    within = [
        domain in {base.name for base in each.bases}
        for domain, each in zip(gold, routed, strict=True)
    ]
    return {
        "accuracy_of_close": 100 * float(np.array(within)[inside].mean()),
        "bases_searched": float(np.mean([len(each.bases) for each in routed])),
        "sure": float(sure[inside].mean()),
        "accepted_in_scope": 100 * float((~refused)[inside].mean()),
        "refused_out_of_scope": 100 * float(refused[~inside].mean()),
    }


def _auc(positive: Floats, negative: Floats) -> float:
    """Probability that a positive has the higher score, ties counting half; 0 to 1."""
    higher = (positive[:, None] > negative).mean()
    return float(higher + 0.5 * (positive[:, None] == negative).mean())


# -- ingest --------------------------------------------------------------------------------------


async def ingest(data: Path, limits: ReadingLimits | None = None) -> Sets:
    """Every file of the manifest: read into text, or refused with a reason; never a crash.

    What must come out is stated in words for people; of it, the Japanese text that is quoted is
    looked for. `passed` counts files that gave what they should. FileNotFoundError when the data
    is not there.
    """
    passed, read, refused = 0, 0, 0
    rows = _rows(data / MANIFEST)
    for row in rows:
        content = (data / MANIFEST.parent / row["file"]).read_bytes()
        try:
            document = await read_in_subprocess(content, row["file"], limits or ReadingLimits())
        except UnreadableDocument:
            refused += 1
            passed += _may_refuse(row["expect"])
            continue
        read += 1
        passed += _holds(document, row["expect"])
    return {
        MANIFEST.parent.name: {
            "n": len(rows),
            "passed": passed,
            "total": len(rows),
            "read": read,
            "refused": refused,
        }
    }


_REFUSAL = re.compile(r"error|password|0 characters|no crash", re.IGNORECASE)
_ONLY_REFUSAL = re.compile(r"^(?:clear|0 characters)", re.IGNORECASE)
_JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff々ー、。]{3,}")


def _may_refuse(expected: str) -> bool:
    return _REFUSAL.search(expected) is not None


def _holds(document: Document, expected: str) -> bool:
    """True when the Japanese that the manifest quotes is in the text."""
    if _ONLY_REFUSAL.search(expected):
        return False
    text = _squeezed("".join(page.text for page in document.pages))
    return all(_squeezed(quoted) in text for quoted in _JAPANESE.findall(expected)[:1])


def _squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]

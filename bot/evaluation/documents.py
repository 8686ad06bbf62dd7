"""Is the paragraph found that answers, and is it noticed when none does?"""

from __future__ import annotations

from collections.abc import Iterable

from bot.evaluation import data
from bot.evaluation.bench import Bench, Stage
from bot.evaluation.data import Row
from bot.evaluation.measures import Metrics, Sets, auc, count, found_at, share
from memory.retrieve import RELEVANT
from memory.types import Audience, Hit

CUTOFFS = (1, 5, 10)
MOST = 2 * max(CUTOFFS)
"""Records asked for: several may be of one document."""
_PART = "retrieval"


async def evaluate(bench: Bench) -> Sets:
    """`hit@1/5/10` and `mrr`; with unanswerable questions also `auc`, `false_answer`,
    `false_refusal` at the shipped threshold.
    """
    async with bench.memory() as stage:
        places = await libraries(stage)
        return {name: await figures(stage, name, at) for name, at in places.items()}


async def libraries(stage: Stage) -> dict[str, Audience]:
    """Take in every corpus; the place where each set of questions is asked."""
    folder = stage.bench.folder
    places: dict[str, Audience] = {}
    for name in data.stems(folder, _PART, "*_corpus"):
        rows = data.rows(folder, f"{_PART}/{name}")
        places[name.removesuffix("_corpus")] = await stage.take_in(
            name, [(row["id"], _title(row), row["text"]) for row in rows]
        )
    await stage.embed("documents")
    asked = {}
    for name in data.stems(folder, _PART, "*_questions"):
        corpora = [corpus for corpus in places if name.startswith(f"{corpus}_")]
        if corpora:  # the longest: "jsquad_full" is not "jsquad"
            asked[name] = places[max(corpora, key=len)]
    return asked


def _title(row: Row) -> str:
    return str(row.get("title") or "").replace("_", " ")


async def figures(stage: Stage, name: str, audience: Audience) -> Metrics:
    """Ask a set of questions in the place that has its corpus."""
    folder = stage.bench.folder
    asked = [row for row in data.rows(folder, f"{_PART}/{name}") if row["gold"]]
    missing = f"{_PART}/{name.removesuffix('_questions')}_unanswerable"
    open_ = data.rows(folder, missing) if data.has(folder, missing) else []
    answered = [await _ask(stage, name, row, audience) for row in asked]
    metrics = found_at(
        [sources(hits) for hits in answered],
        [row["gold"] for row in asked],
        CUTOFFS,
    )
    if open_:
        known = [_best(hits) for hits in answered]
        unknown = [_best(await _ask(stage, name, row, audience)) for row in open_]
        metrics["auc"] = auc(known, unknown)
        metrics["false_answer"] = share(each >= RELEVANT for each in unknown)
        metrics["false_refusal"] = share(each < RELEVANT for each in known)
        metrics["n_unanswerable"] = count(open_)
    return {**metrics, "n": count(asked)}


async def _ask(stage: Stage, name: str, row: Row, audience: Audience) -> list[Hit]:
    stage.bench.progress(name, 0, 0)
    return await stage.ask(row["question"], audience, MOST)


def sources(hits: Iterable[Hit]) -> list[str]:
    """The documents that were found, best first, none twice."""
    return list(dict.fromkeys(hit.chunk.source for hit in hits if hit.chunk is not None))


def _best(hits: list[Hit]) -> float:
    return max((hit.evidence for hit in hits), default=0.0)

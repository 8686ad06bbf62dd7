"""Is the paragraph found that answers, and is it noticed when none does?"""

from __future__ import annotations

from bot.evaluation import data
from bot.evaluation.bench import Bench, Stage
from bot.evaluation.data import Row
from bot.evaluation.measures import Metrics, Sets, auc, count, found_at, share
from memory.retrieve import RELEVANT
from memory.types import Audience, Hit

CUTOFFS = (1, 5, 10)
_PART = "retrieval"


async def evaluate(bench: Bench) -> Sets:
    """`hit@1/5/10` and `mrr`; with unanswerable questions also `auc`, `false_answer`,
    `false_refusal` at the shipped threshold.
    """
    corpora = data.stems(bench.folder, _PART, "*_corpus")
    names = data.stems(bench.folder, _PART, "*_questions")
    sets: Sets = {}
    async with bench.memory() as stage:
        places: dict[str, Audience] = {}
        for name in corpora:
            rows = data.rows(bench.folder, f"{_PART}/{name}")
            documents = [(row["id"], _title(row), row["text"]) for row in rows]
            places[name] = await stage.take_in(name, documents)
        await stage.embed("documents")
        for name in names:
            corpus = max(
                (c for c in corpora if name.startswith(c.removesuffix("_corpus"))),
                key=len,
                default=None,
            )
            if corpus is not None:
                sets[name] = await _questions(stage, name, places[corpus])
    return sets


def _title(row: Row) -> str:
    return str(row.get("title") or "").replace("_", " ")


async def _questions(stage: Stage, name: str, audience: Audience) -> Metrics:
    folder = stage.bench.folder
    asked = [row for row in data.rows(folder, f"{_PART}/{name}") if row["gold"]]
    missing = f"{_PART}/{name.removesuffix('_questions')}_unanswerable"
    open_ = data.rows(folder, missing) if data.has(folder, missing) else []
    answered = [await _ask(stage, name, row, audience) for row in asked]
    metrics = found_at(
        [[hit.chunk.source for hit in hits if hit.chunk] for hits in answered],
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
    return await stage.ask(row["question"], audience, max(CUTOFFS))


def _best(hits: list[Hit]) -> float:
    return max((hit.evidence for hit in hits), default=0.0)

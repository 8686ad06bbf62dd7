"""Are questions understood that lean on what was said before?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bot.evaluation import data
from bot.evaluation.bench import START, Bench, Stage, place, turns
from bot.evaluation.data import Row
from bot.evaluation.measures import Metrics, Sets, count, found_at, mean, share
from bot.plan import Plan
from memory import tokens
from memory.types import Audience

CUTOFFS = (1, 5, 10)
_PART = "rewrite"


async def evaluate(bench: Bench) -> Sets:
    """Sets with passages: `hit@1/5/10` and `mrr` as the bot would search, `:raw` for the bare
    question, `:manual` for the rewriting of a person. Sets with rewritings only: `f1` of the
    words that the search looks for against those of the person's, and `f1:raw`.
    """
    sets: Sets = {}
    async with bench.memory() as stage:
        for name in data.stems(bench.folder, _PART, "*"):
            rows = data.rows(bench.folder, f"{_PART}/{name}")
            passages = name.replace("_turns_", "_passages_")
            if passages != name and data.has(bench.folder, f"{_PART}/{passages}"):
                sets[name] = await _searches(stage, name, rows, passages)
            elif rows and {"history", "gold"} <= rows[0].keys():
                sets[name] = await _rewritings(stage, name, rows)
    return sets


async def _searches(stage: Stage, name: str, rows: list[Row], passages: str) -> Metrics:
    corpus = data.rows(stage.bench.folder, f"{_PART}/{passages}")
    audience = await stage.take_in(
        passages, [(row["id"], row.get("title") or "", row["text"]) for row in corpus]
    )
    await stage.embed(passages)
    plans: dict[str, list[Plan]] = {"": [], ":raw": [], ":manual": []}
    for number, row in enumerate(rows):
        planned = await _planned(stage, f"{name} {number}", row, row["question"])
        plans[""].append(planned)
        plans[":raw"].append(replace(planned, query=row["question"], earlier="", sub_questions=()))
        if "manual" in row:
            bare = replace(planned, query=row["manual"], earlier="", sub_questions=())
            plans[":manual"].append(bare)
    gold = [row["gold"] for row in rows]
    metrics: Metrics = {}
    for suffix, each in plans.items():
        if len(each) == len(rows):
            ranked = [await _sources(stage, planned, audience) for planned in each]
            metrics |= {
                f"{key}{suffix}": value for key, value in found_at(ranked, gold, CUTOFFS).items()
            }
    return {**metrics, "leaning": share(bool(p.earlier or p.rewritten) for p in plans[""])} | {
        "n": count(rows)
    }


async def _sources(stage: Stage, planned: Plan, audience: Audience) -> list[str]:
    hits = await stage.find(planned, audience, max(CUTOFFS))
    return [hit.chunk.source for hit in hits if hit.chunk is not None]


async def _planned(stage: Stage, name: str, row: Row, question: str) -> Plan:
    history = await stage.hear(place(name), turns(name, row["history"]))
    if not history:
        stage.clock.now = START
    return await stage.plan(question, place(name), history=history)


async def _rewritings(stage: Stage, name: str, rows: list[Row]) -> Metrics:
    found: list[float] = []
    raw: list[float] = []
    for number, row in enumerate(rows):
        question = row.get("question") or next(
            (t["text"] for t in reversed(row["history"]) if t["role"] == "user"), ""
        )
        golds = [row["gold"], *row.get("alt", ())]
        planned = await _planned(stage, f"{name} {number}", row, question)
        looked_for = f"{planned.query} {planned.earlier}"
        found.append(max(_overlap(looked_for, gold) for gold in golds))
        raw.append(max(_overlap(question, gold) for gold in golds))
        stage.bench.progress(name, number + 1, len(rows))
    return {"f1": mean(found), "f1:raw": mean(raw), "n": count(rows)}


def _overlap(a: str, b: str) -> float:
    """F1 of the words that two questions are searched by, in [0, 1]."""
    first, second = Counter(tokens.query_terms(a).exact), Counter(tokens.query_terms(b).exact)
    shared = (first & second).total()
    return 2 * shared / (first.total() + second.total()) if shared else 0.0

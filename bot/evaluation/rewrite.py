"""Are questions understood that lean on what was said before?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bot.evaluation import data
from bot.evaluation.bench import START, Bench, Stage, place, turns
from bot.evaluation.data import Row
from bot.evaluation.documents import MOST, sources
from bot.evaluation.measures import Metrics, Sets, count, found_at, mean, share
from bot.plan import Plan
from memory import tokens
from memory.types import Audience

CUTOFFS = (1, 5, 10)
_PART = "rewrite"


async def evaluate(bench: Bench) -> Sets:
    """Sets with passages: `hit@1/5/10` and `mrr` as the bot would search, `:raw` for the bare
    question, `:manual` for the rewriting of a person. Sets with rewritings only: `recall`, how
    much of a person's rewriting the words hold that the bot looks for, and `f1` of its query
    with that rewriting; `:raw` for the bare question. `leaning`: how often it looks back.
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
    return {**metrics, "leaning": share(map(_looks_back, plans[""])), "n": count(rows)}


async def _sources(stage: Stage, planned: Plan, audience: Audience) -> list[str]:
    return sources(await stage.find(planned, audience, MOST))


async def _planned(stage: Stage, name: str, row: Row, question: str) -> Plan:
    history = await stage.hear(place(name), turns(name, row["history"]))
    if not history:
        stage.clock.now = START
    return await stage.plan(question, place(name), history=history)


async def _rewritings(stage: Stage, name: str, rows: list[Row]) -> Metrics:
    scores: dict[str, list[float]] = {"recall": [], "recall:raw": [], "f1": [], "f1:raw": []}
    leaning: list[bool] = []
    for number, row in enumerate(rows):
        question, row = _question(row)
        planned = await _planned(stage, f"{name} {number}", row, question)
        wanted = [_words(gold) for gold in (row["gold"], *row.get("alt", ()))]
        own, asked = _words(planned.query), _words(question)
        looked_for = _words(f"{planned.query} {planned.earlier}")
        scores["recall"].append(max(_recall(looked_for, gold) for gold in wanted))
        scores["recall:raw"].append(max(_recall(asked, gold) for gold in wanted))
        scores["f1"].append(max(_f1(own, gold) for gold in wanted))
        scores["f1:raw"].append(max(_f1(asked, gold) for gold in wanted))
        leaning.append(_looks_back(planned))
        stage.bench.progress(name, number + 1, len(rows))
    metrics = {key: mean(values) for key, values in scores.items()}
    return {**metrics, "leaning": share(leaning), "n": count(rows)}


def _question(row: Row) -> tuple[str, Row]:
    """The question of a row; where it is one of the turns, the others are its history."""
    if "question" in row:
        return row["question"], row
    at = row.get("base_utt_idx", len(row["history"]) - 1)
    others = [turn for number, turn in enumerate(row["history"]) if number != at]
    return row["history"][at]["text"], {**row, "history": others}


def _looks_back(planned: Plan) -> bool:
    return bool(planned.earlier or planned.rewritten)


def _words(text: str) -> Counter[str]:
    """What a question is searched by."""
    return Counter(tokens.query_terms(text).exact)


def _recall(found: Counter[str], wanted: Counter[str]) -> float:
    return (found & wanted).total() / wanted.total() if wanted else 1.0


def _f1(found: Counter[str], wanted: Counter[str]) -> float:
    shared = (found & wanted).total()
    return 2 * shared / (found.total() + wanted.total()) if shared else 0.0

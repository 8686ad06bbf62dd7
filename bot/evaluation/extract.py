"""Is read off a message what it says, and nothing where it says nothing?"""

from __future__ import annotations

from collections import Counter

from bot.evaluation import data
from bot.evaluation.bench import PAUSE, START, Bench, Said, Stage, place, turns
from bot.evaluation.data import Row
from bot.evaluation.measures import Sets, count, mean, share
from memory import tokens
from memory.types import Readable

_FACTS = "rewrite/asdc_scud_ja"
_NO_FACT = "extract/asdc_no_fact_ja"
_USER = "customer"


async def evaluate(bench: Bench) -> Sets:
    """`f1` of the words of the facts that were read against those of the right ones (with its
    `precision` and `recall`), and `spurious`: percent of messages without a fact that gave one.
    """
    async with bench.memory() as stage:
        stated = data.rows(bench.folder, _FACTS)
        scores = [
            _scores(await _read(stage, f"facts {number}", row), row["gold_facts"])
            for number, row in enumerate(stated)
        ]
        sets: Sets = {
            "asdc_scud_ja": {
                "f1": mean([f1 for f1, _, _ in scores]),
                "precision": mean([precision for _, precision, _ in scores]),
                "recall": mean([recall for _, _, recall in scores]),
                "n": count(stated),
            }
        }
        if data.has(bench.folder, _NO_FACT):
            silent = data.rows(bench.folder, _NO_FACT)
            spoke = [
                bool(await _read(stage, f"none {number}", row)) for number, row in enumerate(silent)
            ]
            sets["asdc_no_fact_ja"] = {"spurious": share(spoke), "n": count(silent)}
    return sets


async def _read(stage: Stage, name: str, row: Row) -> list[str]:
    """The facts that the extractor reads off the utterance, in the light of what came before."""
    stage.bench.progress(name, 0, 0)
    audience = place(name)
    history = turns(name, row["history"], _USER)
    await stage.hear(audience, history)
    sent_at = (history[-1].sent_at if history else START) + PAUSE
    (message,) = await stage.hear(
        audience, [Said(f"{name}-said", _USER, row["utterance"], sent_at)], learn=True
    )
    await stage.extractor.drain()
    return [fact.text for fact in await stage.memory.facts_from(message.id, Readable.of(audience))]


def _scores(found: list[str], gold: list[str]) -> tuple[float, float, float]:
    """F1, precision and recall over the words of all facts together, each in [0, 1]."""
    read, right = _words(found), _words(gold)
    shared = (read & right).total()
    if not shared:
        return (1.0, 1.0, 1.0) if not read and not right else (0.0, 0.0, 0.0)
    precision, recall = shared / read.total(), shared / right.total()
    return 2 * precision * recall / (precision + recall), precision, recall


def _words(texts: list[str]) -> Counter[str]:
    return Counter(
        term
        for text in texts
        for term in tokens.query_terms(text).exact
        if not tokens.is_spelling(term)
    )

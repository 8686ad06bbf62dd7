"""Are two facts recognised as one, and two different ones never?"""

from __future__ import annotations

from bot.evaluation import data
from bot.evaluation.bench import PAUSE, START, Bench, Said, Stage, place
from bot.evaluation.data import Row
from bot.evaluation.measures import Metrics, Sets, count, share
from bot.extract import facts_stated, verbatim
from bot.model_extract import ModelJudge
from memory.types import Message, NewFact

_PART = "pairs"
_USER = "speaker"


async def evaluate(bench: Bench) -> Sets:
    """`accuracy`, `recall_same`, `false_merge` (percent of the different pairs that become one
    fact), and `false_merge:KIND`. With a model it judges what the words leave open.
    """
    sets: Sets = {}
    async with bench.memory() as stage:
        for name in data.stems(bench.folder, _PART, "dup_pairs_*"):
            rows = data.rows(bench.folder, f"{_PART}/{name}")
            merged = []
            for number, row in enumerate(rows):
                merged.append(await _merged(stage, f"{name} {number}", row))
                bench.progress(name, number + 1, len(rows))
            sets[name] = _metrics(rows, merged)
    return sets


async def _merged(stage: Stage, name: str, row: Row) -> bool:
    """True when the second sentence, said after the first, is taken for the same fact."""
    model = stage.bench.model
    judge = ModelJudge(model) if model is not None else None
    said = [Said("a", _USER, row["a"], START), Said("b", _USER, row["b"], START + PAUSE)]
    first, second = await stage.hear(place(name), said)
    await stage.memory.remember([_fact(first)], judge=judge)
    (outcome,) = await stage.memory.remember([_fact(second)], judge=judge)
    return outcome.known


def _fact(message: Message) -> NewFact:
    """What a sentence states, as one fact, however it is read."""
    stated = facts_stated(message)
    return stated[0] if len(stated) == 1 else verbatim(message)


def _metrics(rows: list[Row], merged: list[bool]) -> Metrics:
    same = [row["label"] == "SAME" for row in rows]
    different: dict[str, list[bool]] = {}
    for row, is_same, is_merged in zip(rows, same, merged, strict=True):
        if not is_same:
            different.setdefault(row["kind"], []).append(is_merged)
    return {
        "accuracy": share(a == b for a, b in zip(same, merged, strict=True)),
        "recall_same": share(m for s, m in zip(same, merged, strict=True) if s),
        "false_merge": share(m for s, m in zip(same, merged, strict=True) if not s),
        **{f"false_merge:{kind}": share(flags) for kind, flags in sorted(different.items())},
        "n": count(rows),
    }

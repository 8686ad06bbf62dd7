"""When a value changes, is the latest one found, and is one left at all?"""

from __future__ import annotations

from collections import defaultdict

from bot.evaluation import data
from bot.evaluation.bench import PAUSE, START, Bench, Said, Stage, person, place
from bot.evaluation.data import Row
from bot.evaluation.measures import Measure, Metrics, Sets, count, share
from memory.types import Fact, Hit, Readable

_PART = "memory"
_USER = "speaker"
SCORED = ("Colours", "NameList")
"""Tasks of the GoodAI LTM benchmark that change a value; the others ask for arithmetic, for what
somebody else believes, or for obeying an instruction.
"""
FOUND = 5
"""Records among which the value must be."""
LISTED = 10
"""The same where a question asks for all values there ever were."""


async def evaluate(bench: Bench) -> Sets:
    """`latest_found`: percent of scripts whose last value is a current fact that the question
    finds; `zero_left`: percent that end without any current fact. Tasks that change no value
    are reported as `latest_found:TASK` and not counted.
    """
    sets: Sets = {}
    async with bench.memory() as stage:
        for name in data.stems(bench.folder, _PART, "*_updates_*"):
            rows = data.rows(bench.folder, f"{_PART}/{name}")
            results = []
            for number, row in enumerate(rows):
                results.append(await _script(stage, f"{name} {number}", row))
                bench.progress(name, number + 1, len(rows))
            sets[name] = _metrics(rows, results)
    return sets


async def _script(stage: Stage, name: str, row: Row) -> tuple[bool, bool]:
    """Whether the latest value was found, and whether no current fact was left."""
    audience = place(name)
    question = ""
    for number, (line, asks) in enumerate(zip(row["script"], row["is_question"], strict=True)):
        if asks:
            question = line
            continue
        said = Said(str(number), _USER, line, START + number * PAUSE)
        await stage.hear(audience, [said], learn=True)
        await stage.extractor.drain()
    await stage.embed(name)
    stage.clock.now += PAUSE
    values = [str(value) for value in row["expected"]]
    hits = await stage.ask(question, audience, LISTED, asker=_USER)
    current = await stage.memory.facts_by_id(
        [hit.fact.id for hit in hits[:FOUND] if hit.fact is not None], Readable.of(audience)
    )
    living = [fact for fact in current if fact.is_current(stage.clock())]
    found = bool(values) and _names(living, values[-1])
    if len(values) > 1:  # asked for all values there ever were: the past ones too
        found = found and all(_mentions(hits, value) for value in values)
    known = await stage.memory.facts_about(person(_USER), Readable.of(audience))
    return found, not known


def _names(facts: list[Fact], value: str) -> bool:
    return any(value.casefold() in fact.text.casefold() for fact in facts)


def _mentions(hits: list[Hit], value: str) -> bool:
    return any(value.casefold() in hit.text.casefold() for hit in hits)


def _metrics(rows: list[Row], results: list[tuple[bool, bool]]) -> Metrics:
    by_task: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row, result in zip(rows, results, strict=True):
        by_task[row["task"]].append(result)
    scored = [result for task in SCORED for result in by_task.get(task, [])]
    metrics: Metrics = {
        "latest_found": share(found for found, _ in scored),
        "zero_left": share(none for _, none in scored),
        "n": count(scored),
    }
    for task, each in sorted(by_task.items()):
        metrics[f"latest_found:{task}"] = share(found for found, _ in each)
        metrics[f"n:{task}"] = Measure(float(len(each)))
    return metrics

"""Quality figures on evaluation data: `oboete eval KIND --data FOLDER`.

Everything is measured through the product's own path: messages are heard, documents taken in and
questions asked as in a conversation, over a real database in a temporary folder. Nothing here
knows a data set: a kind reads every set of its layout that the folder has.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from bot import eval_knowledge
from bot.evaluation import calibrate, dedup, documents, extract, retrieval, rewrite, updates
from bot.evaluation.bench import Bench
from bot.evaluation.data import MissingData
from bot.evaluation.measures import Measure, Report, Sets

Evaluate = Callable[[Bench], Awaitable[Sets]]


async def _route(bench: Bench) -> Sets:
    return await _as_measures(eval_knowledge.route(bench.folder, bench.embedder))


async def _ingest(bench: Bench) -> Sets:
    return await _as_measures(eval_knowledge.ingest(bench.folder))


async def _as_measures(numbers: Awaitable[dict[str, dict[str, float]]]) -> Sets:
    try:
        sets = await numbers
    except FileNotFoundError as error:
        raise MissingData(
            f"There is no evaluation data at {error.filename}.", fix="Give its folder with --data."
        ) from error
    return {
        name: {key: Measure(100 * value if key == "auc" else value) for key, value in each.items()}
        for name, each in sets.items()
    }


KINDS: dict[str, Evaluate] = {
    "retrieval": retrieval.evaluate,
    "documents": documents.evaluate,
    "dedup": dedup.evaluate,
    "calibrate": calibrate.evaluate,
    "updates": updates.evaluate,
    "rewrite": rewrite.evaluate,
    "extract": extract.evaluate,
    "route": _route,
    "ingest": _ingest,
}
"""What can be measured, by the name of the kind."""


async def run(kind: str, bench: Bench) -> Report:
    """Measure one kind. Raises MissingData, and KeyError for a kind that there is not."""
    started = time.perf_counter()
    sets = await KINDS[kind](bench)
    return Report(
        kind,
        bench.model.name if bench.model is not None else None,
        bench.embedder.name,
        time.perf_counter() - started,
        sets,
    )

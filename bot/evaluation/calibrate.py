"""Does calibrated similarity order pairs of sentences as people do?"""

from __future__ import annotations

import numpy as np

from bot.errors import ModelUnavailable
from bot.evaluation import data
from bot.evaluation.bench import Bench
from bot.evaluation.data import Row
from bot.evaluation.measures import Measure, Metrics, Sets, auc, count, rank_correlation
from memory.calibration import Calibration, calibrate
from memory.errors import EmbeddingFailed
from memory.reconcile import NEAR
from memory.types import Vectors

_PART = "pairs"
SAME, UNRELATED = 4.0, 1.0
"""Grades by people, 0 to 5, from which on sentences mean the same, and up to which they are
unrelated."""


async def evaluate(bench: Bench) -> Sets:
    """`spearman` with people's grades (times 100), `auc` of same against unrelated, and percent
    of the same that a duplicate check would look at (`near`) beside that of the unrelated.
    """
    calibration = await calibrate(bench.embedder)
    sets: Sets = {}
    for name in data.stems(bench.folder, _PART, "sts_graded_*"):
        rows = data.rows(bench.folder, f"{_PART}/{name}")
        sets[name] = await _pairs(bench, rows, calibration)
    return sets


async def _pairs(bench: Bench, rows: list[Row], calibration: Calibration) -> Metrics:
    first = calibration.center(await _vectors(bench, [row["a"] for row in rows]))
    second = calibration.center(await _vectors(bench, [row["b"] for row in rows]))
    scores = calibration.standardize(np.einsum("ij,ij->i", first, second)).tolist()
    grades = [float(row["score"]) for row in rows]
    same = [s for s, grade in zip(scores, grades, strict=True) if grade >= SAME]
    unrelated = [s for s, grade in zip(scores, grades, strict=True) if grade <= UNRELATED]
    return {
        "spearman": Measure(100 * rank_correlation(scores, grades)),
        "auc": auc(same, unrelated),
        "near:same": Measure(100 * float(np.mean([s >= NEAR for s in same])), len(same)),
        "near:unrelated": Measure(
            100 * float(np.mean([s >= NEAR for s in unrelated])), len(unrelated)
        ),
        "n": count(rows),
    }


async def _vectors(bench: Bench, texts: list[str]) -> Vectors:
    vectors = await bench.embedder.embed(texts, "document")
    good = [each for each in vectors if not isinstance(each, EmbeddingFailed)]
    if len(good) < len(texts):
        raise ModelUnavailable(f"{bench.embedder.name} refused {len(texts) - len(good)} texts.")
    return np.stack(good)

"""Figures, with how many rows they rest on, and a table and an object of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Z_95 = 1.959964
"""Normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: percent, unless its name says otherwise."""

    value: float
    rows: int | None = None
    """Of how many rows it is the share; None for what is no share of rows."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of a share, in percent (Wilson 1927)."""
        if not self.rows:
            return None
        share, n = self.value / 100, self.rows
        divisor = 1 + Z_95**2 / n
        middle = share + Z_95**2 / (2 * n)
        half = Z_95 * math.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n * n))
        return (
            100 * max(0.0, (middle - half) / divisor),
            100 * min(1.0, (middle + half) / divisor),
        )


Metrics = dict[str, Measure]
Sets = dict[str, Metrics]


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of one kind."""

    kind: str
    model: str | None
    embedder: str
    seconds: float
    sets: Sets

    def as_data(self) -> dict[str, Any]:
        """As the README of the evaluation data wants it."""
        return {
            "kind": self.kind,
            "model": self.model,
            "embedder": self.embedder,
            "seconds": round(self.seconds, 1),
            "sets": {
                name: {metric: round(each.value, 2) for metric, each in metrics.items()}
                for name, metrics in self.sets.items()
            },
        }

    def as_table(self) -> str:
        """Lines for people: set, metric, figure, 95 % interval of what is a share of rows."""
        model = self.model or "no language model"
        lines = [f"{self.kind}: {model}, {self.embedder}, {self.seconds:.0f} s"]
        widest = max((len(m) for metrics in self.sets.values() for m in metrics), default=0)
        for name, metrics in self.sets.items():
            lines += ["", name]
            for metric, each in metrics.items():
                digits = 0 if metric == "n" or metric.startswith(("n:", "n_")) else 1
                shown = f"{each.value:8.{digits}f}"
                bounds = each.interval
                span = f"  [{bounds[0]:.1f}, {bounds[1]:.1f}]" if bounds else ""
                lines.append(f"  {metric:<{widest}}{shown}{span}")
        return "\n".join(lines)


def count(rows: Sequence[object]) -> Measure:
    """`n`."""
    return Measure(float(len(rows)))


def share(flags: Iterable[bool]) -> Measure:
    """Percent that are true; 0 of none."""
    values = list(flags)
    return Measure(100 * sum(values) / len(values) if values else 0.0, len(values))


def mean(values: Sequence[float]) -> Measure:
    """Mean of shares in [0, 1], as percent; 0 of none."""
    return Measure(100 * float(np.mean(values)) if len(values) else 0.0)


def auc(positive: Sequence[float], negative: Sequence[float]) -> Measure:
    """Percent of pairs in which the positive one scores higher; ties count half."""
    above = np.array(positive)[:, None] - np.array(negative)[None, :]
    return Measure(100 * float((above > 0).mean() + (above == 0).mean() / 2))


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's, [-1, 1]; ties get their mean rank."""
    return float(np.corrcoef(_ranks(np.array(a)), _ranks(np.array(b)))[0, 1])


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return ranks


def found_at(
    ranked: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], cutoffs: Sequence[int]
) -> Metrics:
    """`hit@k` for each k: percent of questions with a right record among the first k; and `mrr`."""
    places = [
        next((at for at, name in enumerate(names, start=1) if name in wanted), None)
        for names, wanted in zip(ranked, gold, strict=True)
    ]
    metrics = {f"hit@{k}": share(p is not None and p <= k for p in places) for k in cutoffs}
    metrics["mrr"] = mean([1 / place if place is not None else 0.0 for place in places])
    return metrics

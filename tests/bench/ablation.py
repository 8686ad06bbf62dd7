"""What does each signal of the ranking add? The table of docs/retrieval.md.

`python -m tests.bench.ablation --data FOLDER [--cache FILE]` takes everything in once, then asks
all questions again with one signal after the other switched off.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np

from adapters.embedded_models import EmbeddedEmbedder
from bot.evaluation import documents, retrieval
from bot.evaluation.bench import Bench
from bot.evaluation.cached_embedder import CachedEmbedder
from memory import cascade, ranking

SHOWN = ("share@5", "share@10", "share@20", "hit@1", "hit@5", "auc")

_Change = tuple[object, str, object]


def _no_meaning(_: ranking.Question, rows: ranking.Pool, *__: object) -> ranking.Floats:
    return np.zeros(len(rows.vectors))


VARIANTS: dict[str, list[_Change]] = {
    "as shipped": [],
    "without meaning": [(ranking, "_meaning", _no_meaning)],
    "without words": [(ranking, "WORDS", 0.0)],
    "without context": [(ranking, "_CONTEXT_WEIGHTS", np.zeros(5))],
    "without speaker": [(ranking, "_SPEAKER", 0.0)],
    "without asks": [(ranking, "_ASKS", 0.0)],
    "without time": [(ranking, "_TIME", 0.0)],
    "without phrases": [(cascade, "ALL_WORDS", 0.0), (cascade, "PHRASE", 0.0)],
}


@contextlib.contextmanager
def changed(changes: list[_Change]) -> Iterator[None]:
    """With these attributes in place of the shipped ones."""
    with contextlib.ExitStack() as stack:
        for where, name, value in changes:
            stack.enter_context(patch.object(where, name, value))
        yield


async def main(folder: Path, cache: Path | None) -> None:
    """Print the table, a line as soon as it is measured."""
    bundled = EmbeddedEmbedder()
    embedder = CachedEmbedder(bundled, cache) if cache is not None else bundled
    bench = Bench(folder, embedder, None, lambda *_: None)
    async with bench.memory() as stage:
        questions = await retrieval.conversations(stage)
        places = await documents.libraries(stage)
        print(f"| | locomo_qa_en | {' | '.join(places)} |")
        print(f"|---|{'---|' * (len(places) + 1)}")
        for variant, changes in VARIANTS.items():
            with changed(changes):
                measured = [await retrieval.shares(stage, questions)]
                for name, audience in places.items():
                    measured.append(await documents.figures(stage, name, audience))
            cells = (
                " / ".join(f"{each[key].value:.1f}" for key in SHOWN if key in each)
                for each in measured
            )
            print(f"| {variant} | {' | '.join(cells)} |", flush=True)
    await embedder.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    asyncio.run(main(given.data, given.cache))

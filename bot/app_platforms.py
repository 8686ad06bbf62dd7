"""Part of the composition root: the platforms that have tokens, and what they ask of the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from adapters.discord_commands import ArgumentSpec, CommandSpec
from adapters.discord_platform import Connection, DiscordPlatform
from adapters.discord_state import Hooks, Rules
from adapters.slack_events import SlackRules
from adapters.slack_gap import Followed
from adapters.slack_http import HttpEndpoint
from adapters.slack_platform import SlackPlatform, SlackSettings
from bot.command_registry import REGISTRY, Command
from bot.dispatch import Dispatcher
from bot.i18n import languages, translator
from bot.ports import Platform
from bot.settings import Settings
from memory.directory import Directory
from memory.knowledge import Knowledge
from memory.long_term import LongTermMemory
from memory.ports import Clock
from memory.redaction import redact
from memory.types import Audience, Person, Readable

FOLLOWED_FOR = timedelta(days=14)
"""How far back a conversation may have been active to be read again after downtime."""

SUGGESTIONS = 25
"""Discord shows at most this many."""


def make_platforms(
    settings: Settings,
    memory: LongTermMemory,
    directory: Directory,
    knowledge: Knowledge,
    dispatcher: Dispatcher,
    clock: Clock,
    *,
    http: bool,
) -> list[Platform]:
    """The platforms that have tokens."""
    platforms: list[Platform] = []
    admins = frozenset(Person.parse(name) for name in settings.admins)

    def clean(text: str) -> str:
        found = redact(
            text,
            phone_numbers=settings.redact_phone_numbers,
            postal_codes=settings.redact_postal_codes,
        )
        return found.text

    if settings.slack_bot_token.get_secret_value():
        platforms.append(
            SlackPlatform(
                slack_settings(settings, admins, http=http),
                dispatcher,
                clock,
                clean,
                privacy=directory.privacy,
                listens=directory.listens,
                collects=knowledge.collects,
                followed=lambda: _followed(memory, clock),
            )
        )
    if settings.discord_token.get_secret_value():
        platforms.append(
            DiscordPlatform(
                settings.discord_token.get_secret_value(),
                inbox=dispatcher,
                keep=directory,
                privacy=directory.privacy,
                ledger=Stored(memory, directory, knowledge),
                rules=Rules(
                    allow_channels=frozenset(settings.allow_channels),
                    deny_channels=frozenset(settings.deny_channels),
                    allow_users=frozenset(settings.allow_users),
                    deny_users=frozenset(settings.deny_users),
                    admins=admins,
                    answer_in_thread=settings.discord_threads,
                ),
                commands=command_specs(),
                hooks=Hooks(redact=clean, suggest=Suggestions(memory)),
                clock=clock,
                connection=Connection(
                    api_url=settings.discord_api_url or None,
                    gateway_url=settings.discord_gateway_url or None,
                ),
            )
        )
    return platforms


def slack_settings(settings: Settings, admins: frozenset[Person], *, http: bool) -> SlackSettings:
    """The Slack adapter's values."""
    endpoint = None
    if http:
        endpoint = HttpEndpoint(
            settings.slack_signing_secret.get_secret_value(),
            settings.slack_http_host,
            settings.slack_http_port,
        )
    return SlackSettings(
        bot_token=settings.slack_bot_token.get_secret_value(),
        app_token=settings.slack_app_token.get_secret_value(),
        http=endpoint,
        api_url=settings.slack_api_url,
        admins=admins,
        rules=SlackRules(
            allowed_channels=frozenset(settings.allow_channels),
            denied_channels=frozenset(settings.deny_channels),
            allowed_users=frozenset(settings.allow_users),
            denied_users=frozenset(settings.deny_users),
        ),
    )


async def _followed(memory: LongTermMemory, clock: Clock) -> Sequence[Followed]:
    """The Slack conversations to read again, with what is stored of them."""
    last = await memory.last_received("slack")
    if last is None:
        return ()
    active = await memory.active_conversations("slack", clock() - FOLLOWED_FOR)
    return [Followed(conversation, last, known) for conversation, known in active.items()]


class Stored:
    """What the store knows of messages and places, as the Discord adapter asks for it."""

    def __init__(self, memory: LongTermMemory, directory: Directory, knowledge: Knowledge) -> None:
        self._memory = memory
        self._directory = directory
        self._knowledge = knowledge

    async def knows(self, audience: Audience, message_id: str) -> bool:
        known = await self._memory.knows(audience, message_id)
        return known or await self._knowledge.has(audience, message_id)

    async def stored(self, audience: Audience, limit: int) -> Sequence[tuple[str, str]]:
        return await self._memory.stored_in(audience, limit)

    async def listens(self, audience: Audience) -> bool:
        return self._directory.listens(audience)

    async def collects(self, audience: Audience) -> bool:
        return self._knowledge.collects(audience)


class Suggestions:
    """Offers a person's own facts while they type."""

    def __init__(self, memory: LongTermMemory) -> None:
        self._memory = memory

    async def __call__(
        self, person: Person, readable: Readable, text: str
    ) -> Sequence[tuple[str, str]]:
        known = await self._memory.facts_about(person, readable)
        wanted = text.casefold()
        fitting = [fact for fact in known if wanted in fact.text.casefold()]
        return [(f"{fact.id} {fact.text}", str(fact.id)) for fact in fitting[-SUGGESTIONS:]]


def command_specs() -> list[CommandSpec]:
    """The registry as Discord needs it."""
    return [_spec(command) for command in REGISTRY if not command.hidden]


def _spec(command: Command) -> CommandSpec:
    argument: tuple[ArgumentSpec, ...] = ()
    if command.argument:
        choices = tuple(
            word.strip(" []")
            for word in command.argument.split("|")
            if command.argument.replace("[", "").replace("]", "").replace("|", "").islower()
        )
        argument = (
            ArgumentSpec(
                name="what",
                descriptions=_texts(command.argument),
                suggested=command.name == "forget",
                long=command.name == "remember",
                choices=choices,
            ),
        )
    names = {"ja": command.japanese[0]} if command.japanese else {}
    return CommandSpec(command.name, _texts(command.summary), argument, names)


def _texts(message: str) -> Mapping[str, str]:
    return {language: translator(language)(message) for language in languages()}

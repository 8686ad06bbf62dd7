"""Commands, menus, buttons and forms: on disk first, then deferred, well within three seconds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import aiohttp
import discord

from adapters import discord_buttons as buttons
from adapters.discord_audiences import Audiences, person
from adapters.discord_commands import CommandSpec, Invocation, parse, suggestions
from adapters.discord_events import Self, of_interaction, quoted_by
from adapters.discord_recorder import Recorder
from adapters.discord_state import KeyValue, Rules, Suggest
from adapters.discord_texts import means_yes, say
from memory.errors import StoreUnavailable

log = logging.getLogger(__name__)

LOCALE: Final = "discord.locale."
"""+ user id → the language of the user's client, which only interactions tell."""
ALREADY_ANSWERED: Final = 40060
_ACKNOWLEDGED_LIMIT: Final = 1000

Interaction = discord.Interaction[Any]


class Interactions:
    """Answers the first call of an interaction; what it asks for is done from the inbox."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        keep: KeyValue,
        rules: Rules,
        commands: Sequence[CommandSpec],
        suggest: Suggest,
        audiences: Callable[[], Audiences],
        me: Callable[[], Self],
    ) -> None:
        self._recorder = recorder
        self._keep = keep
        self._rules = rules
        self._commands = commands
        self._suggest = suggest
        self._audiences = audiences
        self._me = me
        self._acknowledged: dict[str, asyncio.Future[bool]] = {}

    async def handle(self, interaction: Interaction) -> None:
        """Answer an interaction of any type. Those that are not ours are left alone."""
        try:
            await self._handle(interaction)
        except StoreUnavailable:
            log.warning("store unavailable, interaction %s refused", interaction.id)
            if interaction.type is not discord.InteractionType.autocomplete:
                await _whisper(interaction, say("not_stored", str(interaction.locale)))
        except discord.HTTPException as refused:
            log.warning("interaction %s: not answered (%s)", interaction.id, refused.code)

    async def _handle(self, interaction: Interaction) -> None:
        data: Mapping[str, Any] = interaction.data or {}
        match interaction.type:
            case discord.InteractionType.autocomplete:
                await self._autocomplete(interaction, parse(data, self._commands))
            case discord.InteractionType.application_command:
                await self._command(interaction, parse(data, self._commands))
            case discord.InteractionType.component | discord.InteractionType.modal_submit:
                await self._pressed(interaction, data)
            case _:
                return
        await self._keep_locale(interaction)

    async def was_deferred(self, delivery: str) -> bool | None:
        """Whether Discord took the first answer in time; None when another process gave it."""
        future = self._acknowledged.get(delivery)
        if future is None:
            return None
        in_time = await future
        self._acknowledged.pop(delivery, None)
        return in_time

    async def _command(self, interaction: Interaction, called: Invocation | None) -> None:
        if called is None:
            return
        if not self._permitted(interaction):
            await _whisper(interaction, say("not_here", str(interaction.locale)))
            return
        if called.missing:
            language = str(interaction.locale).partition("-")[0]
            descriptions = called.missing.descriptions
            await interaction.response.send_modal(
                await buttons.question(
                    called.text,
                    interaction.user.id,
                    say("remember_title", str(interaction.locale)),
                    descriptions.get(language, descriptions["en"]),
                    self._keep,
                )
            )
            return
        arguments = dict(called.arguments)
        if called.target:
            arguments |= quoted_by(interaction, called.target, self._me())
        await self._take(interaction, "command", called.text, arguments)

    async def _pressed(self, interaction: Interaction, data: Mapping[str, Any]) -> None:
        pressed = await buttons.read(str(data.get("custom_id", "")), self._keep)
        if pressed is None:
            return
        locale = str(interaction.locale)
        if pressed.owner != str(interaction.user.id):
            await _whisper(interaction, say("not_yours", locale))
        elif not self._permitted(interaction):
            await _whisper(interaction, say("not_here", locale))
        elif pressed.danger and not pressed.is_form:
            form = await buttons.confirmation(
                pressed.command, interaction.user.id, locale, self._keep
            )
            await interaction.response.send_modal(form)
        elif pressed.danger and not means_yes(_field(data)):
            await _whisper(interaction, say("cancelled", locale))
        elif pressed.is_form and not pressed.danger:
            text = _field(data)
            await self._take(interaction, "command", f"{pressed.command} {text}", {"text": text})
        else:
            await self._take(interaction, "action", pressed.command, {}, pressed.page)

    async def _take(
        self,
        interaction: Interaction,
        kind: str,
        text: str,
        arguments: Mapping[str, str],
        page: int = 0,
    ) -> None:
        heard = of_interaction(
            interaction, self._me(), kind=kind, text=text, arguments=arguments, page=page
        )
        if heard.delivery in self._acknowledged:
            return
        self._expect(heard.delivery)
        committed = None
        try:
            committed = await self._recorder.commit_once(heard)
        finally:
            if committed is None:
                del self._acknowledged[heard.delivery]
        if committed is not None:
            self._settle(heard.delivery, await _defer(interaction))

    async def _autocomplete(self, interaction: Interaction, called: Invocation | None) -> None:
        found: Sequence[tuple[str, str]] = ()
        if called and called.focused is not None and self._permitted(interaction):
            asker, guild_id = interaction.user.id, interaction.guild_id
            readable = await self._audiences().of_asker(asker, guild_id)
            found = await self._suggest(person(interaction.user.id), readable, called.focused)
        await interaction.response.autocomplete(
            [discord.app_commands.Choice(name=n, value=v) for n, v in suggestions(found)]
        )

    def _permitted(self, interaction: Interaction) -> bool:
        channel = interaction.channel
        parent = channel.parent_id if isinstance(channel, discord.Thread) else None
        ids = [str(i) for i in (interaction.channel_id, parent) if i]
        return self._rules.permit(str(interaction.user.id), ids if interaction.guild_id else [])

    def _expect(self, delivery: str) -> None:
        while len(self._acknowledged) >= _ACKNOWLEDGED_LIMIT:
            del self._acknowledged[next(iter(self._acknowledged))]
        self._acknowledged[delivery] = asyncio.get_running_loop().create_future()

    def _settle(self, delivery: str, deferred: bool) -> None:
        future = self._acknowledged.get(delivery)
        if future and not future.done():
            future.set_result(deferred)

    async def _keep_locale(self, interaction: Interaction) -> None:
        key, locale = f"{LOCALE}{interaction.user.id}", str(interaction.locale)
        if await self._keep.get(key) != locale:
            await self._keep.put(key, locale)


async def _defer(interaction: Interaction) -> bool:
    """Tell Discord that an answer will come: over the message of a button that only its owner
    sees, else as a new message that only they see. False when it was too late for that."""
    message = interaction.message
    try:
        if message is not None and message.flags.ephemeral:
            await interaction.response.defer()
        else:
            await interaction.response.defer(ephemeral=True, thinking=True)
    except discord.HTTPException as refused:
        if refused.code == ALREADY_ANSWERED:
            return True
        log.warning("interaction %s: not deferred (%s)", interaction.id, refused.code)
        return False
    except (aiohttp.ClientError, OSError) as failed:
        log.warning("interaction %s: not deferred (%s)", interaction.id, type(failed).__name__)
        return False
    return True


async def _whisper(interaction: Interaction, text: str) -> None:
    try:
        await interaction.response.send_message(text, ephemeral=True)
    except discord.HTTPException as refused:
        log.warning("interaction %s: not answered (%s)", interaction.id, refused.code)


def _field(data: Mapping[str, Any]) -> str:
    """What was typed into a form's only field."""
    for row in data.get("components") or ():
        for component in row.get("components") or [row.get("component") or {}]:
            if component.get("custom_id") == buttons.FIELD:
                return str(component.get("value", "")).strip()
    return ""

"""Writes one answer: grows it by edits while it is streamed, and makes sure that it ends whole."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import discord
from discord.http import Route, handle_message_parameters

from adapters.discord_buttons import view_of
from adapters.discord_format import Extras, to_parts
from adapters.discord_state import KeyValue
from bot.messages import FileReply

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attached:
    """What is shown around the text of one message."""

    embed: discord.Embed | None = None
    view: discord.ui.View | None = None
    file: FileReply | None = None

    def for_sending(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if self.embed is not None:
            given["embed"] = self.embed
        if self.view is not None:
            given["view"] = self.view
        if self.file is not None:
            given["file"] = discord.File(io.BytesIO(self.file.data), filename=self.file.name)
        return given

    def for_editing(self) -> dict[str, Any]:
        """As for sending; what is not there is taken away."""
        given: dict[str, Any] = {"embed": self.embed, "view": self.view}
        if self.file is not None:
            given["attachments"] = [self.for_sending()["file"]]
        return given


class Sink(Protocol):
    """Where the messages of one answer go. Raises discord.HTTPException."""

    async def create(self, index: int, content: str, attached: Attached) -> str:
        """Send message number `index`; returns how to name it later."""
        ...

    async def edit(self, ref: str, content: str, attached: Attached) -> None: ...

    async def remove(self, ref: str) -> None: ...


class ChannelSink:
    """Normal messages. `open_channel` is asked once, before the first message is sent, for
    (channel id, id of the message to reply to or None). References are `channel/message`."""

    def __init__(
        self,
        client: discord.Client,
        open_channel: Callable[[], Awaitable[tuple[int, int | None]]],
        nonce: str,
    ) -> None:
        self._client = client
        self._open_channel = open_channel
        self._opened: tuple[int, int | None] | None = None
        self._nonce = nonce
        self._created: Counter[int] = Counter()

    async def create(self, index: int, content: str, attached: Attached) -> str:
        self._opened = self._opened or await self._open_channel()
        channel_id, reply_to = self._opened
        given = attached.for_sending()
        if reply_to is not None and index == 0:
            given["reference"] = discord.MessageReference(
                message_id=reply_to, channel_id=channel_id, fail_if_not_exists=False
            )
            given["mention_author"] = False
        sent = await self._client.get_partial_messageable(channel_id).send(
            content or None,
            nonce=self._nonce_of(index),
            allowed_mentions=discord.AllowedMentions.none(),
            **given,
        )
        return f"{channel_id}/{sent.id}"

    async def edit(self, ref: str, content: str, attached: Attached) -> None:
        await self._message(ref).edit(
            content=content,
            allowed_mentions=discord.AllowedMentions.none(),
            **attached.for_editing(),
        )

    async def remove(self, ref: str) -> None:
        await self._message(ref).delete()

    def _nonce_of(self, index: int) -> str:
        """discord.py sends it enforced: a retry gets the message that is there already. What
        replaces a message gets another nonce, or Discord would hand back the removed one."""
        again = self._created[index]
        self._created[index] += 1
        return f"{self._nonce}{index:x}" + (f".{again:x}" if again else "")

    def _message(self, ref: str) -> discord.PartialMessage:
        channel_id, _, message_id = ref.partition("/")
        channel = self._client.get_partial_messageable(int(channel_id))
        return channel.get_partial_message(int(message_id))


class InteractionSink:
    """The answer to an interaction, seen by the asker alone; works for fifteen minutes.

    Goes by the interaction's token, which is all that is left of it after a restart. `original`
    is the reference of its first message, when that was written already.
    """

    def __init__(
        self, client: discord.Client, application_id: int, token: str, original: str | None
    ) -> None:
        self._client = client
        self._webhook = {"webhook_id": application_id, "webhook_token": token}
        self._original = original

    async def create(self, index: int, content: str, attached: Attached) -> str:
        if index == 0:
            self._original = await self._call(
                "PATCH", "/messages/@original", content, **attached.for_editing()
            )
            return self._original
        whispered = discord.MessageFlags(ephemeral=True)
        return await self._call("POST", "", content, flags=whispered, **attached.for_sending())

    async def edit(self, ref: str, content: str, attached: Attached) -> None:
        await self._call("PATCH", self._path(ref), content, **attached.for_editing())

    async def remove(self, ref: str) -> None:
        await self._client.http.request(self._route("DELETE", self._path(ref)))

    async def _call(self, method: str, path: str, content: str, **given: Any) -> str:
        with handle_message_parameters(
            content=content, allowed_mentions=discord.AllowedMentions.none(), **given
        ) as sent:
            body: dict[str, Any] = {"json": sent.payload}
            if sent.files:
                body = {"files": sent.files, "form": sent.multipart}
            answer = await self._client.http.request(self._route(method, path), **body)
        return str(answer["id"])

    def _route(self, method: str, path: str) -> Route:
        address = "/webhooks/{webhook_id}/{webhook_token}" + path
        return Route(method, address, metadata=None, **self._webhook)

    def _path(self, ref: str) -> str:
        return "/messages/@original" if ref == self._original else f"/messages/{int(ref)}"


class Writer:
    """Keeps the messages of one answer equal to its text.

    `noted` is told all references after each new message, so that they survive a crash.
    `existing` are those of an earlier attempt, which are edited instead of sent again.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        owner: str,
        keep: KeyValue,
        interval: float,
        monotonic: Callable[[], float],
        noted: Callable[[list[str]], Awaitable[None]],
        existing: list[str],
    ) -> None:
        self._sink = sink
        self._owner = owner
        self._keep = keep
        self._interval = interval
        self._monotonic = monotonic
        self._noted = noted
        self._refs = list(existing)
        self._shown: list[str | None] = [None] * len(existing)
        self._last = monotonic()

    @property
    def refs(self) -> list[str]:
        """The messages of the answer, in order."""
        return list(self._refs)

    async def preview(self, text: str) -> None:
        """Show what there is of the answer, unless that was done a moment ago.

        A failure is left to `finish`.
        """
        now = self._monotonic()
        if now - self._last < self._interval or not text.strip():
            return
        self._last = now
        try:
            for index, part in enumerate(to_parts(text)):
                await self._put(index, part, None)
        except discord.HTTPException as refused:
            log.warning("preview not shown: %s %s", refused.status, refused.code)

    async def finish(self, parts: list[str], extras: Extras, file: FileReply | None) -> None:
        """Show the whole answer, whatever became of the previews. Raises HTTPException."""
        parts = parts or [""]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            attached = await self._around(extras, file) if last else Attached()
            await self._put_or_replace(index, part, attached)
        await self._drop_from(len(parts))

    async def withdraw(self) -> None:
        """Take back what was shown."""
        await self._drop_from(0)

    async def _around(self, extras: Extras, file: FileReply | None) -> Attached:
        view = await view_of(extras.choices, extras.pages, self._owner, self._keep)
        return Attached(extras.embed, view if view.children else None, file)

    async def _put(self, index: int, content: str, attached: Attached | None) -> None:
        if index >= len(self._refs):
            self._refs.append(await self._sink.create(index, content, attached or Attached()))
            self._shown.append(content)
            await self._noted(self._refs)
        elif self._shown[index] != content or attached:
            await self._sink.edit(self._refs[index], content, attached or Attached())
            self._shown[index] = content

    async def _put_or_replace(self, index: int, content: str, attached: Attached) -> None:
        decorated = attached if attached != Attached() else None
        if index < len(self._refs):
            try:
                await self._put(index, content, decorated)
                return
            except discord.HTTPException as refused:
                log.warning("edit refused (%s %s), sent anew", refused.status, refused.code)
            # The rest follows in new messages, so that the order stays right.
            await self._drop_from(index)
        await self._put(index, content, decorated)

    async def _drop_from(self, index: int) -> None:
        surplus, self._refs = self._refs[index:], self._refs[:index]
        self._shown = self._shown[:index]
        for ref in reversed(surplus):
            try:
                await self._sink.remove(ref)
            except discord.HTTPException as refused:
                log.warning("message not taken back: %s %s", refused.status, refused.code)
        if surplus:
            await self._noted(self._refs)

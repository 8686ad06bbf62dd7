"""Talk in the terminal: lines in, answers out, through the same inbox as every other platform."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TextIO

from bot.errors import PlatformUnavailable
from bot.messages import (
    Author,
    Delta,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Reply,
    ReplyStream,
    Status,
    Surface,
)
from bot.ports import Inbox
from memory.types import Audience, Person, Readable

NAME = "console"
DEFAULT_TENANT = "local"
MAX_CHARACTERS = 100_000
"""A longer line is cut, and the person told."""

FindReadable = Callable[[], Awaitable[Readable]]
_COMMAND = re.compile(r"^/(?:memory\b\s*)?(.*)$", re.DOTALL)


def dm(person: Person) -> Audience:
    """The place of a person's own talk with Oboete."""
    return Audience(person.platform, person.tenant, f"@{person.name}")


class ConsolePlatform:
    """One person at one terminal, in a DM or in a channel."""

    name = NAME

    def __init__(
        self,
        inbox: Inbox,
        person: Person,
        channel: Audience | None,
        readable: FindReadable,
        *,
        channel_readable: FindReadable | None = None,
        is_admin: bool = False,
        private_channel: bool = False,
        locale: str = "en",
        time_zone: str = "UTC",
        redact: Callable[[str], str] = str,
        source: TextIO | None = None,
        out: TextIO | None = None,
        trace: Callable[[int], Awaitable[str]] | None = None,
    ) -> None:
        """`readable`: what the person may read; `channel_readable`: what all in the channel may."""
        self._inbox = inbox
        self._person = person
        self._channel = channel
        self._readable = readable
        self._channel_readable = channel_readable
        self._is_admin = is_admin
        self._private_channel = private_channel
        self._locale = locale
        self._time_zone = time_zone
        self._redact = redact
        self._source = source or sys.stdin
        self._out = out or sys.stdout
        self._trace = trace
        self._session = secrets.token_hex(8)
        self._count = 0
        self._closed = False
        self._answered: dict[int, asyncio.Event] = {}
        self.interactive = self._source.isatty() and self._out.isatty()

    def lane(self, event: InboxEvent) -> str:
        return str(event.payload.get("channel"))

    async def run(self) -> None:
        """Read lines until the end of input, one answer after the other.

        Lines are read in a daemon thread: one that waits for the keyboard cannot be stopped,
        and must not keep the program from ending.
        """
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        wanted = threading.Semaphore(0)

        def read() -> None:
            while True:
                wanted.acquire()
                line = self._read()
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    loop.call_soon_threadsafe(lines.put_nowait, line)
                if line is None:
                    return

        threading.Thread(target=read, name="oboete-console", daemon=True).start()
        while not self._closed:
            wanted.release()
            line = await lines.get()
            if line is None:
                return
            line = clean(line)
            if line.strip() or not self.interactive:
                await self._submit(line)

    def _read(self) -> str | None:
        if self.interactive:
            try:
                return input("> ")
            except EOFError:
                self._print("\n")
                return None
        try:
            line = self._source.readline()
        except (OSError, ValueError):
            return None
        return line.rstrip("\r\n") if line else None

    async def _submit(self, line: str) -> None:
        self._count += 1
        payload: dict[str, Any] = {
            "text": self._redact(line[:MAX_CHARACTERS]),
            "cut": len(line) > MAX_CHARACTERS,
            "person": str(self._person),
            "channel": str(self._channel or dm(self._person)),
            "session": self._session,
            "sent_at": datetime.now(UTC).isoformat(),
        }
        delivery = f"{self._session}-{self._count}"
        event_id = await self._inbox.commit(NAME, self._person.tenant, delivery, payload)
        if event_id is None:
            return
        done = self._answered.setdefault(event_id, asyncio.Event())
        await done.wait()
        del self._answered[event_id]

    async def incoming(self, event: InboxEvent) -> IncomingMessage | None:
        """See `bot.ports.Platform`. A line left over from a killed session is only stored."""
        payload = event.payload
        person = Person.parse(payload["person"])
        place = Audience.parse(payload["channel"])
        in_channel = place != dm(person)
        command = _COMMAND.match(payload["text"])
        ours = payload["session"] == self._session
        if not ours and command is not None:
            return None
        private = command is not None
        readable = self._readable
        if in_channel and not private and self._channel_readable is not None:
            readable = self._channel_readable
        surface = Surface.DM
        if in_channel:
            surface = Surface.PRIVATE if self._private_channel else Surface.PUBLIC
        return IncomingMessage(
            platform=NAME,
            tenant=event.tenant,
            event_id=event.delivery,
            kind=EventKind.COMMAND if command else EventKind.MESSAGE,
            surface=surface,
            channel=payload["channel"],
            message_id=event.delivery,
            author=Author(person, person.name, time_zone=self._time_zone, is_admin=self._is_admin),
            text=command.group(1) if command else payload["text"],
            sent_at=datetime.fromisoformat(payload["sent_at"]),
            audience=dm(person) if private else place,
            place=place,
            readable=await readable() if ours else Readable.of(place),
            conversation=payload["channel"],
            mention=Mention.DIRECT,
            answer=ours,
            locale=self._locale,
            private_reply=private,
        )

    async def until_ready(self) -> None:
        """See `bot.ports.Platform`."""

    async def still_readable(self, message: IncomingMessage, used: Readable) -> Readable:
        """See `bot.ports.Platform`."""
        in_channel = message.surface is not Surface.DM and not message.private_reply
        readable = self._readable
        if in_channel and self._channel_readable is not None:
            readable = self._channel_readable
        return Readable(used.audiences & (await readable()).audiences)

    async def deliver(
        self, event: InboxEvent, message: IncomingMessage, reply: ReplyStream
    ) -> str | None:
        """Print the reply as it comes; the rest of it, or all, when it is whole."""
        shown = ""
        try:
            async for part in reply:
                if isinstance(part, Delta):
                    shown += part.text
                    self._print(part.text)
                elif isinstance(part, Status):
                    continue
                elif not part.silent:
                    await self._print_final(event, part, shown)
        finally:
            done = self._answered.get(event.id)
            if done is not None:
                done.set()
        return None

    async def _print_final(self, event: InboxEvent, reply: Reply, shown: str) -> None:
        text = reply.text
        if event.payload.get("cut"):
            text = f"{text}\n(Only the first {MAX_CHARACTERS} characters were read.)"
        if shown and text.startswith(shown.strip()):
            self._print(text[len(shown.strip()) :])
        else:
            self._print(("\n" if shown else "") + text)
        lines = [f"[{c.number}] {c.label}" for c in reply.citations if shown]
        if reply.file is not None:
            lines.append(reply.file.data.decode("utf-8"))
        if self._trace is not None and reply.trace_id is not None:
            lines.append(await self._trace(reply.trace_id))
        self._print("".join(f"\n{line}" for line in lines))
        self._print("\n\n")

    async def post(self, audience: Audience, text: str, *, conversation: str) -> str | None:
        """Show what was not asked for now, such as a reminder.

        Raises PlatformUnavailable when this is not the place, or nobody sits before it: what a
        pipe reads is answers, one after the other.
        """
        if audience not in {self._channel, dm(self._person)} or not self.interactive:
            raise PlatformUnavailable("Nobody who could read it is here now.")
        self._print(f"\n{text}\n\n")
        return None

    async def readable_for(self, audience: Audience) -> Readable:
        """What everybody who reads the place can read."""
        if audience == self._channel and self._channel_readable is not None:
            return await self._channel_readable()
        return await self._readable() if audience == dm(self._person) else Readable.of(audience)

    def _print(self, text: str) -> None:
        if self._closed:
            return
        try:
            self._out.write(printable(text))
            self._out.flush()
        except BrokenPipeError:
            self._closed = True

    @property
    def closed(self) -> bool:
        """True when whoever read the answers has gone away."""
        return self._closed


_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: arrow keys, colours
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90-\x9f]*(?:\x07|\x1b\\|\x9c)"  # titles
    r"|\x1b[NO][ -~]"  # single shifts: arrow keys in application mode
    r"|\x1b[ -/]*[0-~]"
)
"""Escape sequences as ECMA-48 (5th edition, 5.3 to 5.6, 8.3.141) and xterm write them."""


def clean(text: str) -> str:
    """Text as it can be stored and shown: without the escape sequences and control characters that
    keys send and terminals obey; lone surrogates (undecodable bytes) become U+FFFD.
    """
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return printable(_ESCAPES.sub("", whole))


def printable(text: str) -> str:
    """Text that cannot steer the terminal: control characters but tab and newline are dropped."""
    return "".join(c for c in text if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f"))

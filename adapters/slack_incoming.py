"""Turns what Slack sent into `IncomingMessage`s: names resolved, audiences computed live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adapters.slack_audiences import SlackDirectory
from adapters.slack_envelopes import SlackEnvelopes
from adapters.slack_events import (
    GAP,
    PLATFORM,
    REMOVED,
    SPOKEN,
    Redact,
    SlackIdentity,
    channel_of,
    event_of,
    moment,
)
from adapters.slack_files import SlackFiles
from adapters.slack_interactions import SlackInteractions
from adapters.slack_text import read_text
from adapters.slack_threads import SlackThreads, ThreadBefore, names_in
from bot.messages import (
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Surface,
)
from memory.types import Person

Json = dict[str, Any]


class SlackIncoming:
    """Parses events of the inbox. Safe to use from several tasks at once."""

    def __init__(
        self,
        me: SlackIdentity,
        directory: SlackDirectory,
        threads: SlackThreads,
        files: SlackFiles,
        *,
        admins: frozenset[Person],
        wants: Callable[[Json, str], bool],
        redact: Redact,
    ) -> None:
        self._me = me
        self._directory = directory
        self._threads = threads
        self._files = files
        self._wants = wants
        self._redact = redact
        self._envelopes = SlackEnvelopes(me, directory, admins=admins, redact=redact)
        self._interactions = SlackInteractions(me, directory, self._envelopes, redact=redact)

    async def parse(self, inbox: InboxEvent) -> IncomingMessage | None:
        """None when the event does not concern Oboete after all.

        Raises PlatformUnavailable when that cannot be found out now.
        """
        payload = inbox.payload
        event = event_of(payload)
        if not event:
            return await self._interactions.parse(inbox)
        match event.get("type"):
            case "message" if event.get("subtype") == "message_deleted":
                return await self._deletion(inbox, str(event.get("deleted_ts")))
            case "message" if event.get("subtype") == "message_changed":
                return await self._change(inbox)
            case "message" | "app_mention":
                return await self._message(inbox, event, EventKind.MESSAGE)
            case "reaction_added" | "reaction_removed":
                return await self._reaction(inbox)
            case "file_deleted":
                return await self._file_deletion(inbox)
            case "app_home_opened":
                return await self._envelopes.private(inbox, EventKind.HOME, "")
            case "member_joined_channel":
                return await self._joined(inbox)
            case "app_uninstalled" | "tokens_revoked":
                return await self._happening(inbox, "uninstalled", self._me.user)
            case "user_change":
                return await self._happening(inbox, "deactivated", str(event["user"].get("id")))
        return None

    # --- messages -----------------------------------------------------------------------

    async def _message(
        self, inbox: InboxEvent, event: Json, kind: EventKind
    ) -> IncomingMessage | None:
        if event.get("subtype") not in SPOKEN or not event.get("user"):
            return None
        channel, ts = channel_of(inbox.payload), str(event["ts"])
        place = await self._envelopes.place(channel, event_of(inbox.payload))
        direct = place.surface is Surface.DM
        names = await names_in([event], self._directory, self._me)
        text = read_text(event, names, self._me.user)
        mention = text.mention
        if event.get("type") == "app_mention" and mention is Mention.NONE:
            mention = Mention.DIRECT  # Slack found it where there is neither text nor rich text
        root = str(event.get("thread_ts") or ts)
        before = ThreadBefore(followed=False, context=())
        if root != ts and not direct:
            before = await self._threads.before(channel, root, ts)
        addressed = direct or mention is Mention.DIRECT or before.followed
        if not (addressed or kind is EventKind.EDIT or self._wants(event, channel)):
            return None
        author = await self._envelopes.author(str(event["user"]))
        if author is None:
            return None
        gap = inbox.payload.get(GAP)
        edited = str((event.get("edited") or {}).get("ts") or "")
        return IncomingMessage(
            platform=PLATFORM,
            tenant=self._directory.tenant,
            event_id=inbox.delivery,
            kind=EventKind.EDIT if edited else kind,
            surface=place.surface,
            channel=channel,
            message_id=ts,
            author=author,
            text=self._redact(text.markdown),
            sent_at=moment(ts),
            audience=self._directory.audience(channel),
            readable=await self._envelopes.readable(place, str(event["user"])),
            # All threads of a DM are one conversation: there they are only Slack's layout.
            conversation=channel if direct else f"{channel}/{root}",
            thread=root,
            revision=edited,
            mention=mention,
            addressed=addressed,
            answer=bool(gap) if gap is not None else True,
            references=await self._envelopes.references(event, names),
            attachments=await self._files.shared_with(event),
            reply_to=root if root != ts else None,
            locale=(await self._directory.user(str(event["user"]))).locale,
            permalink=self._me.permalink(channel, ts, root),
            context=before.context,
            quoted=self._redact(text.quoted),
        )

    async def _change(self, inbox: InboxEvent) -> IncomingMessage | None:
        event = event_of(inbox.payload)
        message = event.get("message") or {}
        if message.get("subtype") == REMOVED:
            return await self._deletion(inbox, str(message.get("ts")))
        found = await self._message(inbox, message, EventKind.EDIT)
        if found is None:
            return None
        return replace(
            found, kind=EventKind.EDIT, revision=found.revision or str(event.get("event_ts") or "")
        )

    async def _deletion(self, inbox: InboxEvent, ts: str) -> IncomingMessage:
        event = event_of(inbox.payload)
        channel = channel_of(inbox.payload)
        place = await self._envelopes.place(channel, event)
        previous = event.get("previous_message") or {}
        root = str(previous.get("thread_ts") or ts)
        direct = place.surface is Surface.DM
        return self._envelopes.bare(
            inbox,
            EventKind.DELETE,
            surface=place.surface,
            channel=channel,
            message_id=ts,
            author=await self._envelopes.known_author(str(previous.get("user") or self._me.user)),
            audience=self._directory.audience(channel),
            conversation=channel if direct else f"{channel}/{root}",
            revision=str(event.get("event_ts") or ""),
        )

    async def _file_deletion(self, inbox: InboxEvent) -> IncomingMessage:
        file = str(event_of(inbox.payload).get("file_id"))
        return self._envelopes.bare(
            inbox,
            EventKind.DELETE,
            surface=Surface.UNKNOWN,
            channel=file,
            message_id=file,
            author=await self._envelopes.known_author(self._me.user),
            audience=self._directory.audience(file),
            conversation=file,
            arguments={"file": file},
        )

    async def _reaction(self, inbox: InboxEvent) -> IncomingMessage | None:
        event = event_of(inbox.payload)
        stamp = str(event["item"]["ts"])
        found = await self._envelopes.private(inbox, EventKind.REACTION, str(event.get("reaction")))
        if found is None:
            return None
        removed = {"removed": "yes"} if event["type"] == "reaction_removed" else {}
        return replace(found, reply_to=stamp, arguments=found.arguments | removed)

    async def _joined(self, inbox: InboxEvent) -> IncomingMessage:
        channel = channel_of(inbox.payload)
        place = await self._directory.place(channel)
        inviter = str(event_of(inbox.payload).get("inviter") or self._me.user)
        return replace(
            await self._happening(inbox, "joined", inviter),
            surface=place.surface,
            channel=channel,
            audience=self._directory.audience(channel),
            conversation=channel,
            locale=(await self._directory.user(inviter)).locale,
        )

    async def _happening(self, inbox: InboxEvent, name: str, user: str) -> IncomingMessage:
        """Something that nobody said. Only the adapter fills `arguments`, so none can be faked."""
        return self._envelopes.bare(
            inbox,
            EventKind.ACTION,
            surface=Surface.UNKNOWN,
            channel=user,
            message_id=inbox.delivery,
            author=await self._envelopes.known_author(user),
            audience=self._directory.audience(user),
            conversation=f"user:{user}",
            arguments={"event": name},
        )

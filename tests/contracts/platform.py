"""What every chat platform must do with events and replies, whatever its wire looks like.

A platform's tests subclass `PlatformContract` and give a `stage` fixture: the platform running
against its wire double, and the few verbs by which people act there.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol, cast

import pytest

from bot.errors import PlatformRefused
from bot.health import connections
from bot.messages import (
    Choice,
    Delta,
    EventKind,
    InboxEvent,
    IncomingMessage,
    Mention,
    Reply,
    ReplyPart,
    ReplyStream,
    Said,
    Status,
    Surface,
)
from bot.place_names import Naming
from bot.ports import Platform
from bot.reminders import Poster
from bot.rereading import Rereadable
from memory.types import Audience

LONG = "\n\n".join(
    [
        "# 手順",
        "これは長い説明です。" * 60,
        "```python\n" + "\n".join(f"print({n})  # 表示する" for n in range(300)) + "\n```",
        "And **this** is how it ends. " * 40,
        "おわり。",
    ]
)


class MemoryPrivacy:
    """Implements `bot.ports.Privacy`: notes what it is told, and knows no earlier private times."""

    def __init__(self) -> None:
        self.public: set[Audience] = set()
        self.private: set[Audience] = set()

    async def opened(self, public: Collection[Audience]) -> None:
        self.public.update(public)

    async def closed(self, private: Collection[Audience]) -> None:
        self.private.update(private)

    async def of_members(self, private: Collection[Audience]) -> frozenset[Audience]:
        return frozenset(private)


class MemoryInbox:
    """An inbox that forgets with the process. `events` are in the order of their arrival."""

    def __init__(self) -> None:
        self.events: list[InboxEvent] = []
        self.reply_refs: dict[int, str] = {}
        self.failure: Exception | None = None
        """Raised by the next commits while set."""

    async def commit(
        self, platform: str, tenant: str, delivery: str, payload: dict[str, Any]
    ) -> int | None:
        if self.failure:
            raise self.failure
        if any(
            (e.platform, e.tenant, e.delivery) == (platform, tenant, delivery) for e in self.events
        ):
            return None
        number = len(self.events) + 1
        now = datetime.now(UTC)
        self.events.append(InboxEvent(number, platform, tenant, delivery, payload, now, 1))
        return number

    async def note_reply(self, event_id: int, reply_ref: str) -> None:
        self.reply_refs[event_id] = reply_ref

    def again(self, event: InboxEvent) -> InboxEvent:
        """The event as it comes out of the inbox after a crash."""
        return replace(event, attempts=event.attempts + 1, reply_ref=self.reply_refs.get(event.id))


class Stage(Protocol):
    """A platform, running, with one public channel in which Alice and Bob are."""

    inbox: MemoryInbox
    limit: int
    """Characters that one message of the bot may have."""

    @property
    def platform(self) -> Platform: ...

    async def mention(self, text: str, *, user: str = "alice") -> IncomingMessage:
        """Say something to the bot in the public channel; gives what came out of the inbox.

        Returns when every copy of it has been acknowledged.
        """
        ...

    async def event(self, after: int) -> InboxEvent:
        """Wait for an event in the inbox beyond the first `after`."""
        ...

    async def edit(self, message: IncomingMessage, text: str) -> None: ...

    async def delete(self, message: IncomingMessage) -> None: ...

    def edit_unseen(self, message: IncomingMessage, text: str) -> None:
        """The event of it is lost."""
        ...

    def delete_unseen(self, message: IncomingMessage) -> None:
        """The event of it is lost."""
        ...

    async def press(self, label: str, *, user: str = "alice") -> None:
        """Press the newest button with that label, and confirm when asked."""
        ...

    async def redeliver(self) -> None:
        """The wire delivers everything once more."""
        ...

    def shown(self) -> list[str]:
        """Texts of the bot's messages that everybody in the channel sees, oldest first."""
        ...

    def shown_to(self, user: str) -> list[str]:
        """Texts that only this person sees: ephemeral or in their DM."""
        ...

    def buttons(self) -> list[str]:
        """Labels of the buttons that are shown to anybody."""
        ...

    def pings(self) -> list[str]:
        """What in the bot's messages would notify somebody."""
        ...

    def fail_sending(self, times: int) -> None:
        """The next calls that send or edit a message fail for the moment."""
        ...

    def fail_edits(self) -> None:
        """From now on messages cannot be changed or added to any more, only posted."""
        ...


async def stream(*parts: ReplyPart) -> AsyncIterator[ReplyPart]:
    """A reply as the core would give it."""
    for part in parts:
        yield part


class Killed(BaseException):
    """Stands for kill -9: nothing catches it."""


async def killed_after(*parts: ReplyPart) -> AsyncIterator[ReplyPart]:
    """A reply during which the process dies."""
    for part in parts:
        yield part
    raise Killed


def deltas(text: str, size: int = 40) -> list[ReplyPart]:
    return [Delta(text[at : at + size]) for at in range(0, len(text), size)]


def bare(text: str) -> str:
    """A text without white space, code fences and what is added to keep it from pinging."""
    return re.sub(r"\s|\u200b|\u200d", "", re.sub(r"(?m)^```.*$", "", text))


@dataclass
class Delivery:
    """Delivers replies to one message."""

    stage: Stage
    message: IncomingMessage
    event: InboxEvent = field(init=False)

    def __post_init__(self) -> None:
        self.event = next(e for e in self.stage.inbox.events if e.delivery == self.message.event_id)

    async def __call__(self, reply: ReplyStream) -> str | None:
        return await self.stage.platform.deliver(self.event, self.message, reply)

    async def again(self, reply: ReplyStream) -> str | None:
        """After a crash."""
        event = self.stage.inbox.again(self.event)
        return await self.stage.platform.deliver(event, self.message, reply)


class PlatformContract:
    """Subclass it and give it a fixture `stage`."""

    # --- in ---------------------------------------------------------------------------------

    async def test_mention_becomes_one_message(self, stage: Stage) -> None:
        message = await stage.mention("猫が好きです。Do you remember?")
        assert message.kind is EventKind.MESSAGE
        assert message.platform == stage.platform.name == message.audience.platform
        assert message.surface is Surface.PUBLIC
        assert message.mention is Mention.DIRECT
        assert message.addressed
        assert message.text == "猫が好きです。Do you remember?"
        assert message.audience in message.readable
        assert not message.author.is_bot
        assert message.tenant == message.audience.tenant
        assert message.author.person.platform == stage.platform.name
        assert message.sent_at.tzinfo is not None

    async def test_redelivery_is_not_committed_again(self, stage: Stage) -> None:
        await stage.mention("once")
        before = [event for event in stage.inbox.events if "once" in str(event.payload)]
        await stage.redeliver()
        await stage.mention("something else")
        assert [e for e in stage.inbox.events if "once" in str(e.payload)] == before

    async def test_own_answer_is_not_an_event(self, stage: Stage) -> None:
        message = await stage.mention("hello")
        count = len(stage.inbox.events)
        await Delivery(stage, message)(stream(Reply("こんにちは")))
        await stage.redeliver()
        await stage.mention("next")
        assert "こんにちは" not in str([e.payload for e in stage.inbox.events[count:]])

    async def test_edit_and_deletion_name_the_message_and_share_its_lane(
        self, stage: Stage
    ) -> None:
        message = await stage.mention("I live in Osaka")
        first = Delivery(stage, message).event
        count = len(stage.inbox.events)
        await stage.edit(message, "I live in Kyoto")
        edited = await stage.event(count)
        change = await stage.platform.incoming(edited)
        assert change is not None
        assert change.kind is EventKind.EDIT
        assert change.message_id == message.message_id
        assert "Kyoto" in change.text
        assert change.revision != message.revision
        count = len(stage.inbox.events)
        await stage.delete(message)
        deleted = await stage.event(count)
        gone = await stage.platform.incoming(deleted)
        assert gone is not None
        assert gone.kind is EventKind.DELETE
        assert (gone.message_id, gone.audience) == (message.message_id, message.audience)
        lanes = {stage.platform.lane(event) for event in (first, edited, deleted)}
        assert len(lanes) == 1

    # --- out --------------------------------------------------------------------------------

    async def test_reply_without_deltas_is_shown(self, stage: Stage) -> None:
        message = await stage.mention("question")
        sent = await Delivery(stage, message)(stream(Status("考え中"), Reply("答えです。")))
        assert sent
        assert stage.shown() == ["答えです。"]

    async def test_text_is_whole_after_deltas(self, stage: Stage) -> None:
        text = "One. " * 30 + "二つ目です。" * 30
        message = await stage.mention("question")
        await Delivery(stage, message)(stream(*deltas(text), Reply(text)))
        assert bare("".join(stage.shown())) == bare(text)

    async def test_final_text_replaces_other_deltas(self, stage: Stage) -> None:
        message = await stage.mention("question")
        await Delivery(stage, message)(stream(*deltas("a draft " * 20), Reply("The answer.")))
        assert stage.shown() == ["The answer."]

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_long_text_is_split_within_the_limit_with_code_intact(
        self, stage: Stage, streamed: bool
    ) -> None:
        message = await stage.mention("question")
        parts = deltas(LONG, 200) if streamed else []
        await Delivery(stage, message)(stream(*parts, Reply(LONG)))
        shown = stage.shown()
        assert all(len(text) <= stage.limit for text in shown)
        assert all(text.count("```") % 2 == 0 for text in shown)
        assert bare("\n".join(shown)) == bare(LONG)

    async def test_silent_reply_leaves_nothing(self, stage: Stage) -> None:
        message = await stage.mention("stop")
        parts: Sequence[ReplyPart] = [Status("…"), Delta("never mind"), Reply("", silent=True)]
        assert await Delivery(stage, message)(stream(*parts)) is None
        assert stage.shown() == []

    @pytest.mark.parametrize("reply", [Reply("秘密", private=True), Reply("秘密", failed=True)])
    async def test_private_or_failed_reply_is_for_the_asker_alone(
        self, stage: Stage, reply: Reply
    ) -> None:
        message = await stage.mention("question")
        await Delivery(stage, message)(stream(Delta("half of "), reply))
        assert stage.shown() == []
        assert any("秘密" in text for text in stage.shown_to("alice"))
        assert stage.shown_to("bob") == []

    async def test_pressed_choice_comes_back_as_the_command_of_whoever_pressed(
        self, stage: Stage
    ) -> None:
        message = await stage.mention("question")
        choices = (Choice("Again", "search 猫"), Choice("Forget it", "forget 7", danger=True))
        await Delivery(stage, message)(stream(Reply("Found.", choices=choices)))
        assert {"Again", "Forget it"} <= set(stage.buttons())
        for label, command in (("Again", "search 猫"), ("Forget it", "forget 7")):
            count = len(stage.inbox.events)
            await stage.press(label, user="alice")
            action = await stage.platform.incoming(await stage.event(count))
            assert action is not None
            assert action.kind is EventKind.ACTION
            assert action.text == command
            assert action.author.person == message.author.person
            assert action.private_reply

    async def test_nothing_a_model_writes_pings_anybody(self, stage: Stage) -> None:
        message = await stage.mention("question")
        text = "@everyone @here <!channel> <!here> <@U2> <@&123> <@456> みんな@channel"
        await Delivery(stage, message)(stream(*deltas(text, 3), Reply(text)))
        assert stage.shown()
        assert stage.pings() == []

    # --- when things break --------------------------------------------------------------------

    async def test_answer_is_complete_although_sending_fails_at_times(self, stage: Stage) -> None:
        text = "これは回答です。" * 40
        message = await stage.mention("question")
        stage.fail_sending(2)
        await Delivery(stage, message)(stream(*deltas(text), Reply(text)))
        assert bare("".join(stage.shown())) == bare(text)

    async def test_answer_is_complete_although_nothing_can_be_edited(self, stage: Stage) -> None:
        text = "An answer. " * 30
        message = await stage.mention("question")

        async def broken() -> AsyncIterator[ReplyPart]:
            for part in deltas(text[:200]):
                yield part
            stage.fail_edits()
            for part in deltas(text[200:]):
                yield part
            yield Reply(text)

        await Delivery(stage, message)(broken())
        assert bare(text) in bare("\n".join(stage.shown()))

    @pytest.mark.parametrize("text", ["短い答え。", LONG])
    async def test_answer_that_was_sent_before_a_crash_is_not_sent_again(
        self, stage: Stage, text: str
    ) -> None:
        delivery = Delivery(stage, await stage.mention("question"))
        await delivery(stream(*deltas(text, 200), Reply(text)))
        before = stage.shown()
        await delivery.again(stream(*deltas(text, 200), Reply(text)))
        assert stage.shown() == before

    async def test_answer_that_a_crash_cut_off_is_completed_once(self, stage: Stage) -> None:
        text = "The complete answer. " * 20
        delivery = Delivery(stage, await stage.mention("question"))
        with pytest.raises(Killed):
            await delivery(killed_after(*deltas(text[:200])))
        await delivery.again(stream(*deltas(text), Reply(text)))
        assert bare("".join(stage.shown())) == bare(text)

    async def test_answer_that_was_never_begun_is_sent_after_a_crash(self, stage: Stage) -> None:
        delivery = Delivery(stage, await stage.mention("question"))
        with pytest.raises(Killed):
            await delivery(killed_after(Status("…")))
        await delivery.again(stream(Reply("答えです。")))
        assert stage.shown() == ["答えです。"]

    # --- looked at again ----------------------------------------------------------------------

    async def test_what_became_of_a_message_unseen_is_found_by_looking_it_up(
        self, stage: Stage
    ) -> None:
        kept, edited, gone = [await stage.mention(text) for text in ("残す", "old", "gone")]
        stage.edit_unseen(edited, "新しい")
        stage.delete_unseen(gone)
        said = [
            Said(m.audience, m.message_id, m.permalink, m.revision) for m in (kept, edited, gone)
        ]
        count = len(stage.inbox.events)
        assert await rereadable(stage).recheck(said) == 2
        found = [await stage.platform.incoming(e) for e in stage.inbox.events[count:]]
        assert [(m.kind, m.message_id, m.audience) for m in found if m] == [
            (EventKind.EDIT, edited.message_id, edited.audience),
            (EventKind.DELETE, gone.message_id, gone.audience),
        ]
        assert found[0] is not None
        assert "新しい" in found[0].text
        known = Said(edited.audience, edited.message_id, edited.permalink, found[0].revision)
        assert await rereadable(stage).recheck([said[0], known]) == 0

    async def test_a_file_that_a_message_has_no_more_is_found_by_looking_it_up(
        self, stage: Stage
    ) -> None:
        message = await stage.mention("the file is gone")
        stage.edit_unseen(message, "without it")
        said = Said(message.audience, message.message_id, message.permalink, files=("404",))
        count = len(stage.inbox.events)
        assert await rereadable(stage).recheck([said]) == 1
        found = await stage.platform.incoming(stage.inbox.events[count])
        assert found is not None
        assert found.attachments == ()
        assert found.message_id in (message.message_id, "404")

    async def test_what_cannot_be_looked_up_is_not_taken_for_deleted(self, stage: Stage) -> None:
        message = await stage.mention("question")
        here, id_, link = message.audience, message.message_id, message.permalink
        assert link is not None
        elsewhere = link.replace(message.channel, "4040404").replace(message.tenant, "5050505")
        said = [
            Said(here, id_, None),
            Said(here, id_, "https://x.example"),
            Said(here, id_, elsewhere),
        ]
        assert await rereadable(stage).recheck(said) == 0

    # --- unasked: reminders and digests -------------------------------------------------------

    async def test_post_is_shown_in_its_place_and_can_be_taken_back(self, stage: Stage) -> None:
        message = await stage.mention("question")
        platform = posting(stage)
        text = f"{LONG}\n\n@everyone <!channel> 起きて"
        sent = await platform.post(message.audience, text, conversation="")
        shown = stage.shown()
        assert sent is not None
        assert all(len(part) <= stage.limit for part in shown)
        assert bare("\n".join(shown)) == bare(text)
        assert stage.pings() == []
        assert await platform.retract(message.audience, sent) == len(shown)
        assert stage.shown() == []

    async def test_post_in_a_dm_is_for_that_person_alone(self, stage: Stage) -> None:
        direct = await direct_place(stage)
        before = len(stage.shown())
        await posting(stage).post(direct, "Wake up. 起きて", conversation="")
        assert len(stage.shown()) == before
        assert "Wake up. 起きて" in stage.shown_to("alice")
        assert stage.shown_to("bob") == []

    async def test_post_is_shown_once_although_sending_fails_at_times(self, stage: Stage) -> None:
        message = await stage.mention("question")
        stage.fail_sending(2)
        await posting(stage).post(message.audience, "Wake up.", conversation="")
        assert stage.shown() == ["Wake up."]

    async def test_post_to_a_place_that_is_not_there_is_refused(self, stage: Stage) -> None:
        message = await stage.mention("question")
        nowhere = replace(message.audience, name="4040404")
        with pytest.raises(PlatformRefused):
            await posting(stage).post(nowhere, "Wake up.", conversation="")

    async def test_post_draws_on_what_every_reader_of_its_place_can_read(
        self, stage: Stage
    ) -> None:
        message = await stage.mention("question")
        direct = await direct_place(stage)
        platform = posting(stage)
        assert set(await platform.readable_for(message.audience)) == {message.audience}
        assert set(await platform.readable_for(direct)) == {direct, message.audience}
        nowhere = replace(message.audience, name="4040404")
        assert set(await platform.readable_for(nowhere)) <= {nowhere}

    async def test_place_has_the_name_that_people_see(self, stage: Stage) -> None:
        message = await stage.mention("question")
        platform = stage.platform
        assert isinstance(platform, Naming)
        name = await platform.place_name(message.audience, "en")
        assert name.startswith("#")
        assert "general" in name.lower()
        direct = await direct_place(stage)
        shown = [await platform.place_name(direct, locale) for locale in ("en", "ja")]
        assert all(shown)
        assert shown[0] != shown[1]
        assert direct.name not in "".join(shown)
        nowhere = replace(message.audience, name="4040404")
        assert await platform.place_name(nowhere, "en") == ""

    async def test_connection_that_stands_is_told(self, stage: Stage) -> None:
        assert connections({"it": stage.platform}) == {"it": True}


def rereadable(stage: Stage) -> Rereadable:
    platform = stage.platform
    assert isinstance(platform, Rereadable)
    return platform


class Posting(Poster, Protocol):
    """A platform that can post unasked and take a post back."""

    async def retract(self, place: Audience, post: str, /) -> int: ...


def posting(stage: Stage) -> Posting:
    platform = stage.platform
    assert isinstance(platform, Poster)
    return cast("Posting", platform)


async def direct_place(stage: Stage) -> Audience:
    """Alice's DM, as the platform names it."""
    message = await stage.mention("question")
    await Delivery(stage, message)(stream(Reply("Found.", choices=(Choice("Again", "list"),))))
    count = len(stage.inbox.events)
    await stage.press("Again", user="alice")
    action = await stage.platform.incoming(await stage.event(count))
    assert action is not None
    return action.audience

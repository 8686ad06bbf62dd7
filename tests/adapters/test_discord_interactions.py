"""Commands, suggestions, menus, forms and buttons, over sockets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.discord_audiences import direct_place
from adapters.discord_commands import MENUS
from adapters.discord_state import Rules
from bot.errors import PlatformRefused
from bot.messages import (
    Choice,
    Delta,
    EventKind,
    FileReply,
    IncomingMessage,
    Reply,
    ReplyStream,
    Surface,
)
from memory.types import Audience, Evidence, Fact, Origin, Person, Span
from tests.adapters.discord_fakes import Bench, Stage, posts, running, saying, stage, streaming
from tests.e2e.discord_double import DiscordDouble, Fault, until
from tests.e2e.discord_people import Interaction

DEFERRED, DEFERRED_UPDATE, MODAL, MESSAGE = 5, 6, 9, 4


def facts(count: int) -> tuple[Fact, ...]:
    now, who = datetime.now(UTC), Person("discord", "@me", "1")
    one = Fact(
        0, "fact", who, who, Audience("discord", "1", "2"), "en", Origin.STATED, None,
        False, now, now, None, None, None, 1, (Evidence(1, Span(0, 1)),),
    )  # fmt: skip
    return tuple(replace(one, id=n) for n in range(count))


def buttons(message: dict[str, object]) -> dict[str, str]:
    """Custom ids by label."""
    rows = message["components"]
    assert isinstance(rows, list)
    return {b["label"]: b["custom_id"] for row in rows for b in row["components"]}


def texts(interaction: Interaction) -> str:
    return str((interaction.response or {}).get("data", {}).get("content"))


async def test_a_command_is_answered_to_the_asker_alone() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        called = await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert called.response is not None
        assert called.response["type"] == DEFERRED
        assert called.is_ephemeral
        assert called.shown == ["heard: list"]
        assert posts(s.general) == []
        message = bench.heard[0]
        assert message.kind is EventKind.COMMAND
        assert message.private_reply
        assert (message.audience, message.place) == (direct_place(s.alice.id), s.place)
        assert {direct_place(s.alice.id), s.place} == set(message.readable)
        assert bench.sent == [(called.original or {})["id"]]


async def test_arguments_become_the_command_line() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.slash(s.alice, s.general, "forget", fact="12")
        await s.double.slash(s.alice, s.general, "remember", text="お茶が好き hunter2")
        await until(lambda: len(bench.sent) == 2)
        assert [m.text for m in bench.heard] == ["forget 12", "remember お茶が好き ▇"]
        assert "hunter2" not in str(bench.inbox.events)


async def test_it_is_on_disk_before_discord_is_told_that_an_answer_will_come() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        committed_before: list[bool] = []
        commit = bench.inbox.commit

        async def watched(*given: object) -> int | None:
            committed_before.append(not s.double.calls("POST", "callback"))
            return await commit(*given)  # type: ignore[arg-type]

        bench.inbox.commit = watched  # type: ignore[assignment]
        await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert committed_before == [True]


async def test_complaint_9_it_defers_first_however_long_the_answer_takes() -> None:
    release = asyncio.Event()

    async def slow(_: IncomingMessage) -> ReplyStream:
        await release.wait()
        yield Reply("at last")

    async with stage() as s, running(s.double, Bench(script=slow)) as bench:
        called = await s.double.slash(s.alice, s.general, "list")
        await until(lambda: called.response)
        assert not bench.sent
        release.set()
        await until(lambda: bench.sent)
        assert called.shown == ["at last"]


async def test_complaint_9_a_late_interaction_is_answered_by_a_message_to_the_asker() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        called = await s.double.slash(s.alice, s.general, "list", locale="ja", late=True)
        await until(lambda: bench.sent)
        assert called.shown == []
        told, answer = posts(s.double.world.dm(s.alice))
        assert "/memory list" in told
        assert answer == "heard: list"
        assert posts(s.general) == []


async def test_complaint_9_a_token_that_expires_meanwhile_falls_back_as_well() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        expired = {"code": 50027, "message": "Invalid Webhook Token"}
        s.double.faults.append(Fault("PATCH", "webhooks", 401, expired, times=99))
        await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert posts(s.double.world.dm(s.alice))[-1] == "heard: list"


async def test_a_late_private_answer_is_never_posted_in_the_channel() -> None:
    async with stage() as s:
        s.alice.accepts_dms = False
        async with running(s.double, Bench(retries=1)) as bench:
            await s.double.slash(s.alice, s.general, "list", late=True)
            await until(lambda: bench.failures)
        (told,) = posts(s.general)
        assert "too late" in told
        assert "heard" not in told
        assert isinstance(bench.failures[0], PlatformRefused)


async def test_an_interaction_from_before_a_crash_is_answered_after_it() -> None:
    async with stage() as s:
        bench = Bench(script=saying(Reply("one"), Reply("one")))
        async with running(s.double, bench):
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: bench.sent)
        bench.inbox.done.clear()
        async with running(s.double, bench):
            await until(lambda: len(bench.sent) == 2)
        assert called.shown == ["one"]


async def test_a_long_answer_to_a_command_has_only_whispered_parts() -> None:
    async with stage() as s, running(s.double, Bench(script=streaming("word " * 1000))) as bench:
        called = await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert len(called.shown) == 3
        assert all(len(part) <= 2000 for part in called.shown)
        assert all(each["flags"] & 64 for each in called.followups)


async def test_when_it_cannot_be_stored_the_asker_is_told_and_nothing_is_done() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await until(lambda: bench.inbox.done)
        bench.inbox.broken = 1
        called = await s.double.slash(s.alice, s.general, "list", locale="ja")
        await until(lambda: called.response)
        assert called.response is not None
        assert called.response["type"] == MESSAGE
        assert "保存できなかった" in texts(called)
        assert called.is_ephemeral
        assert not bench.heard


async def test_a_message_waits_while_the_store_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adapters.discord_recorder.PAUSES", (0.0,))
    async with stage() as s, running(s.double, Bench()) as bench:
        await until(lambda: bench.inbox.done)
        bench.inbox.broken = 3
        await s.double.mention(s.alice, s.general, "one")
        await s.double.mention(s.alice, s.general, "two")
        await until(lambda: len(bench.sent) == 2)
        assert sorted(m.text for m in bench.heard) == ["one", "two"]


async def test_suggestions_are_the_callers_own_and_within_the_limits() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        bench.suggestions = [(f"お茶 {n} " + "x" * 200, str(n)) for n in range(40)]
        called = await s.double.slash(s.alice, s.general, "forget", focused="fact", fact="お茶")
        await until(lambda: called.response)
        assert called.response is not None
        choices = called.response["data"]["choices"]
        assert len(choices) == 25
        assert all(len(each["name"]) <= 100 for each in choices)
        who, readable, typed = bench.suggested_for[0]
        assert (who, typed) == (Person("discord", "@me", str(s.alice.id)), "お茶")
        assert direct_place(s.alice.id) in readable
        assert not bench.inbox.done or not bench.heard  # suggestions are not events


async def test_a_text_that_was_left_out_is_asked_for_in_a_form() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        called = await s.double.slash(s.alice, s.general, "remember", locale="ja")
        await until(lambda: called.response)
        assert called.response is not None
        assert called.response["type"] == MODAL
        assert called.response["data"]["title"] == "覚える"
        done = await s.double.submit(called, "鍵は引き出しの中")
        await until(lambda: bench.sent)
        assert bench.heard[0].text == "remember 鍵は引き出しの中"
        assert done.shown == ["heard: remember 鍵は引き出しの中"]


@pytest.mark.parametrize("name", ["Remember this", "Forget this"])
async def test_the_menu_of_a_message_hands_over_the_message_and_who_wrote_it(name: str) -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        said = await s.double.say(s.bob, s.general, "締め切りは金曜日 hunter2")
        called = await s.double.menu(s.alice, s.general, name, said)
        await until(lambda: bench.sent)
        message = bench.heard[0]
        assert message.text == name.split()[0].lower()
        assert message.quoted == "締め切りは金曜日 ▇"
        assert message.reply_to == said["id"]
        assert message.arguments["quoted_author"] == f"discord:@me:{s.bob.id}"
        assert message.arguments["quoted_audience"] == str(s.place)
        assert called.is_ephemeral


async def test_the_menu_of_a_user_lists_what_is_known_about_the_caller() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        data = {"id": "902", "name": "What do you know about me", "type": 2}
        data["target_id"] = str(s.bob.id)
        await s.double._interact(s.alice, s.general, 2, data)
        await until(lambda: bench.sent)
        assert bench.heard[0].text == "list"
        assert bench.heard[0].author.person.name == str(s.alice.id)


async def with_button(s: Stage, bench: Bench, *choices: Choice) -> dict[str, object]:
    """A message in Alice's thread with these buttons."""
    bench.script = saying(Reply("Done.", choices=choices))
    asked = await s.double.mention(s.alice, s.general, "do it")
    count = len(bench.sent)
    await until(lambda: len(bench.sent) > count)
    thread = s.double.world.channels[int(asked["id"])]
    return list(thread.messages.values())[-1]


async def test_a_button_runs_its_command_and_still_does_after_a_restart() -> None:
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            message = await with_button(s, bench, Choice("元に戻す", "undo"))
        async with running(s.double, bench):
            bench.script = saying(Reply("Undone."))
            pressed = await s.double.press(s.alice, s.general, message, "元に戻す")
            await until(lambda: len(bench.sent) == 2)
        assert (bench.heard[1].kind, bench.heard[1].text) == (EventKind.ACTION, "undo")
        assert pressed.shown == ["Undone."]
        assert pressed.is_ephemeral


async def test_a_long_command_of_a_button_survives_a_restart_too() -> None:
    command = "forget " + " ".join(str(n) for n in range(100))
    async with stage() as s:
        bench = Bench()
        async with running(s.double, bench):
            message = await with_button(s, bench, Choice("Forget", command))
        assert all(len(custom_id) <= 100 for custom_id in buttons(message).values())
        async with running(s.double, bench):
            await s.double.press(s.alice, s.general, message, "Forget")
            await until(lambda: len(bench.sent) == 2)
        assert bench.heard[1].text == command


async def test_only_the_person_who_was_answered_can_press() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        message = await with_button(s, bench, Choice("Undo", "undo"))
        pressed = await s.double.press(s.bob, s.general, message, "Undo")
        await until(lambda: pressed.response)
        assert texts(pressed) == "Only the person I answered can use these buttons."
        assert pressed.is_ephemeral
        assert len(bench.heard) == 1


async def test_danger_is_confirmed_in_a_form_first() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        message = await with_button(s, bench, Choice("Forget", "forget 12", danger=True))
        pressed = await s.double.press(s.alice, s.general, message, "Forget")
        await until(lambda: pressed.response)
        assert pressed.response is not None
        assert pressed.response["type"] == MODAL
        refused = await s.double.submit(pressed, "no")
        await until(lambda: refused.response)
        assert texts(refused) == "Nothing was changed."
        assert len(bench.heard) == 1
        await s.double.submit(pressed, "はい")
        await until(lambda: len(bench.sent) == 2)
        assert (bench.heard[1].kind, bench.heard[1].text) == (EventKind.ACTION, "forget 12")


async def test_a_form_belongs_to_its_owner_as_well() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        message = await with_button(s, bench, Choice("Forget", "forget 12", danger=True))
        pressed = await s.double.press(s.alice, s.general, message, "Forget")
        await until(lambda: pressed.response)
        pressed.user = s.bob
        refused = await s.double.submit(pressed, "yes")
        await until(lambda: refused.response)
        assert "Only the person" in texts(refused)
        assert len(bench.heard) == 1


async def test_a_long_list_is_shown_by_pages_that_survive_a_restart() -> None:
    text = "\n".join(f"- **{n}** fact {n} " + "お茶" * 30 for n in range(100))
    async with stage() as s:
        bench = Bench(script=saying(Reply(text, facts=facts(100), private=True)))
        async with running(s.double, bench):
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: len(bench.sent) == 1)
            assert len(called.shown) == 1
            first = called.original
            assert first is not None
            assert len(first["content"]) <= 2000
        async with running(s.double, bench):
            turned = await s.double.press(s.alice, s.general, first, "▶")
            await until(lambda: len(bench.sent) == 2)
        assert turned.response is not None
        assert turned.response["type"] == DEFERRED_UPDATE  # in place
        assert turned.original is not None
        second = turned.original["content"]
        assert second != first["content"]
        assert second.splitlines()[-1].startswith("-# 2/")
        assert (bench.heard[1].kind, bench.heard[1].text) == (EventKind.ACTION, "list")


async def test_an_export_by_command_is_delivered_in_the_dm() -> None:
    file = FileReply("export.json", "application/json", '{"猫": 1}'.encode())
    script = saying(Reply("Here it is.", file=file, private=True))
    async with stage() as s, running(s.double, Bench(script=script)) as bench:
        called = await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert called.shown == ["Here it is."]
        (sent,) = s.double.world.dm(s.alice).messages.values()
        assert sent["files"] == ["export.json"]


async def test_an_export_is_whispered_where_the_asker_allows_no_dm() -> None:
    file = FileReply("export.json", "application/json", b"{}")
    script = saying(Delta("Here"), Reply("Here it is.", file=file, private=True))
    async with stage() as s:
        s.alice.accepts_dms = False
        async with running(s.double, Bench(script=script)) as bench:
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: bench.sent)
        assert called.shown == ["Here it is."]
        uploads = [r.body for r in s.double.calls("PATCH", "webhooks") if r.body.get("files")]
        assert uploads[0]["files"] == {"export.json": b"{}"}


async def test_commands_work_by_user_install_where_the_bot_is_no_member() -> None:
    async with stage() as s:
        async with running(s.double, Bench()) as bench:
            elsewhere = s.double.world.guild("elsewhere", s.alice)  # the gateway never tells of it
            channel = s.double.world.channel(elsewhere, "general")
            called = await s.double.slash(s.alice, channel, "list")
            await until(lambda: bench.sent)
        assert called.shown == ["heard: list"]
        message = bench.heard[0]
        assert message.surface is Surface.UNKNOWN
        assert list(message.readable) == [direct_place(s.alice.id)]
        assert message.audience == direct_place(s.alice.id)


async def test_the_language_of_a_command_is_remembered_for_mentions() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        await s.double.slash(s.alice, s.general, "list", locale="ja")
        await until(lambda: len(bench.sent) == 1)
        await until(lambda: f"discord.locale.{s.alice.id}" in bench.keep.values)
        await s.double.mention(s.alice, s.general, "hi")
        await s.double.mention(s.bob, s.general, "hi")
        await until(lambda: len(bench.sent) == 3)
        assert {m.author.display_name: m.locale for m in bench.heard[1:]} == {
            "alice": "ja",
            "ボブ": "en-US",
        }


async def test_whoever_is_denied_gets_no_more_than_a_refusal() -> None:
    async with stage() as s:
        bench = Bench(rules=Rules(deny_users=frozenset({str(s.alice.id)})))
        async with running(s.double, bench):
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: called.response)
            suggested = await s.double.slash(s.alice, s.general, "forget", focused="fact", fact="")
            await until(lambda: suggested.response)
        assert texts(called) == "I am not allowed to answer you here."
        assert (suggested.response or {})["data"]["choices"] == []
        assert not bench.heard
        assert not bench.suggested_for


async def test_commands_of_others_are_left_alone() -> None:
    async with stage() as s, running(s.double, Bench()) as bench:
        data = {"id": "9", "name": "weather", "type": 1, "options": []}
        unknown = await s.double._interact(s.alice, s.general, 2, data)
        pressed = await s.double._interact(
            s.alice, s.general, 3, {"component_type": 2, "custom_id": "someone:else"}
        )
        await s.double.slash(s.alice, s.general, "list")
        await until(lambda: bench.sent)
        assert unknown.response is None
        assert pressed.response is None
        assert [m.text for m in bench.heard] == ["list"]


async def test_commands_are_sent_only_when_they_changed() -> None:
    async with DiscordDouble().serve() as double:
        bench = Bench()
        for _ in range(2):
            async with running(double, bench):
                pass
        assert len(double.calls("PUT", "commands")) == 1
        group, *menus = double.commands
        assert group["name"] == "memory"
        assert group["integration_types"] == [0, 1]
        assert group["contexts"] == [0, 1, 2]
        assert group["options"][0]["name_localizations"] == {"ja": "一覧"}
        assert [menu["name_localizations"]["ja"] for menu in menus] == [
            menu.names["ja"] for menu in MENUS
        ]
        bench.keep.values["discord.commands"] = "1:other"
        async with running(double, bench):
            pass
        assert len(double.calls("PUT", "commands")) == 2

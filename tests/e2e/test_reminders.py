"""Reminders and digests reach both platforms, also those that came due while nobody was there."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from tests.e2e.discord_world import BOT, Channel
from tests.e2e.slack_run import everything
from tests.e2e.test_two_platforms import Both, both


def due_now(run: Both) -> None:
    """Set the clock forward, as far as reminders see it."""
    with contextlib.closing(sqlite3.connect(run.program.program.folder / "oboete.db")) as database:
        database.execute("UPDATE reminder SET next_at = created_at")
        database.commit()


async def test_what_came_due_while_it_was_stopped_is_posted_once_where_it_was_asked_for(
    tmp_path: Path,
) -> None:
    async with both(tmp_path) as run:
        run.slack.workspace.users["U1"].admin = True
        alice = run.discord.person("alice")
        guild = await run.discord.guild("g", alice)
        guild.owner = alice.id
        await run.discord.discord.emit("GUILD_UPDATE", run.discord.world.guild_body(guild))
        general = run.discord.channel(guild, "general")
        dm = run.slack.workspace.open_dm("U1").id

        await run.slack.say("U1", dm, "Remind me in 2 hours to water the fern")
        asked = "2時間後に会議の準備をリマインドして"
        root = await run.slack.say("U1", "C1", f"<@UBOT> {asked}")
        await run.slack.command("U1", "C2", "listen on")
        await run.program.until(lambda: run.slack.workspace.answers("C2"))
        await run.slack.say("U1", "C2", "We decided to hire a piano tuner.")
        await run.slack.command("U1", "C2", "remind every Monday at 9, what did we decide?")
        said = await run.discord.ask(alice, general, "remind me in 2 hours to call Ken")
        await run.discord.say(alice, run.discord.world.dm(alice), asked)
        await run.program.until(lambda: not run.slack.unacknowledged)
        await run.program.until(lambda: not run.program.open_events())
        assert run.program.rows("SELECT count(*) FROM reminder") == [(5,)]

        await run.program.stop()
        due_now(run)
        before = run.slack.connections
        await run.program.start(
            ready=lambda: run.slack.connections > before and run.discord.discord.is_connected
        )
        await run.program.until(
            lambda: (
                run.program.rows("SELECT count(*) FROM reminder WHERE last_at IS NULL") == [(0,)]
            )
        )

        def on_slack(channel: str, thread: str | None = None) -> list[str]:
            return [everything(m) for m in run.slack.workspace.answers(channel, thread)]

        def on_discord(channel: Channel) -> list[str]:
            posted = channel.messages.values()
            return [m["content"] for m in posted if m["author"]["id"] == str(BOT)]

        assert on_slack(dm)[1:] == ["hanako, you asked me to remind you: water the fern"]
        assert "会議の準備" in on_slack("C1", root)[-1]
        assert len(on_slack("C1", root)) == 2
        digest = on_slack("C2")[-1]
        assert "piano tuner" in digest
        assert "what did we decide" in digest
        thread = run.discord.world.channels[int(said["id"])]
        assert on_discord(thread)[1:] == ["alice, you asked me to remind you: call Ken"]
        told, posted = on_discord(run.discord.world.dm(alice))
        assert "会議の準備" in told
        assert "会議の準備" in posted
        assert told != posted

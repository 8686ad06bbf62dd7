"""Nobody hears on Discord what they could not have read, whatever they try.

Secrets are told in every kind of place; then everybody asks for them everywhere, in words, with
every command, menu and button. All that the program sends while somebody asks is looked at, so
that an embed, a suggestion, a file or the name of a thread counts like an answer. `model none`
quotes what it finds; the scripted model repeats its whole prompt.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from bot.command_registry import REGISTRY
from tests.e2e.discord_people import Interaction
from tests.e2e.discord_run import DiscordRun, discord_run, labels
from tests.e2e.discord_world import EVERYDAY, VIEW, Channel, Guild, Json, Overwrite, Person
from tests.e2e.served import CHAT
from tests.model_script import echo
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRETS = {
    "public": "amberfish",
    "board": "basaltowl",
    "thread": "cobaltnewt",
    "dm": "duskheron",
    "other public": "emberlynx",
    "other board": "flintmoth",
}
"""A word by the place in which it was told."""
ASKED = ("What is the pass phrase?", "合言葉は何ですか？")
ARGUMENTS = {"search": "pass phrase", "forget": "pass phrase", "remember": "tea", "export": "json"}
NOT_TRIED = {"pause", "resume", "listen", "undo"}
"""Change what is stored, or take back what the test needs."""


@dataclass
class Scene:
    """Two guilds, their people, and a secret in each kind of place."""

    run: DiscordRun
    alice: Person = field(init=False)
    """In everything, and the one who told the secrets."""
    bob: Person = field(init=False)
    """In the first guild, without a role."""
    carol: Person = field(init=False)
    """Has the role of the board."""
    dave: Person = field(init=False)
    """In the private thread."""
    erin: Person = field(init=False)
    """In both guilds, without a role."""
    guild: Guild = field(init=False)
    other: Guild = field(init=False)
    general: Channel = field(init=False)
    board: Channel = field(init=False)
    thread: Channel = field(init=False)
    abroad: Channel = field(init=False)
    other_board: Channel = field(init=False)
    answer: Json = field(init=False)
    """To Alice, from her DM, with buttons under it."""

    async def set_up(self) -> None:
        run = self.run
        self.alice, self.bob, self.carol, self.dave, self.erin = everybody = [
            run.person(name) for name in ("alice", "bob", "carol", "dave", "erin")
        ]
        self.guild = await run.guild("first", *everybody)
        self.other = await run.guild("second", self.alice, self.erin)
        self.general = run.channel(self.guild, "general")
        self.abroad = run.channel(self.other, "general")
        self.board = await self._restricted(self.guild, self.alice, self.carol)
        self.other_board = await self._restricted(self.other, self.alice)
        self.thread = run.world.thread(self.general, "aside", self.alice, self.dave, private=True)
        await run.open_channel(self.thread)
        for where, channel in self.places().items():
            await run.ask(self.alice, channel, f"remember that the pass phrase is {SECRETS[where]}")
            await run.ask(self.alice, channel, f"合言葉は{SECRETS[where]}です。")
        asked = await run.ask(self.alice, run.world.dm(self.alice), ASKED[0])
        (*_, self.answer) = run.answers(run.world.dm(self.alice), asked)

    def places(self) -> dict[str, Channel]:
        return {
            "public": self.general,
            "board": self.board,
            "thread": self.thread,
            "dm": self.run.world.dm(self.alice),
            "other public": self.abroad,
            "other board": self.other_board,
        }

    async def _restricted(self, guild: Guild, *allowed: Person) -> Channel:
        role = self.run.world.role(guild)
        body = {"guild_id": str(guild.id), "role": self.run.world.role_body(guild, role)}
        await self.run.discord.emit("GUILD_ROLE_CREATE", body)
        for who in allowed:
            await self.run.discord.set_roles(guild, who, role)
        return await self.run.open_channel(self.run.world.restricted(guild, "board", role))

    async def seen_in_words(self, who: Person, where: Channel) -> set[str]:
        """Places whose secret comes up when somebody asks in words."""
        mark = self.run.mark()
        for question in ASKED:
            await self.run.ask(who, where, question)
        return self._found(mark)

    async def seen_by_all_means(self, who: Person, where: Channel) -> set[str]:
        """Places whose secret comes up whatever command, menu or button somebody tries."""
        mark = self.run.mark()
        for question in ("what do you know about me?", "export my data", "why?"):
            await self.run.ask(who, where, question)
        await self._commands(who, where)
        return self._found(mark)

    async def seen_by_commands(self, who: Person, where: Channel) -> set[str]:
        """The same where there is nobody to talk to."""
        mark = self.run.mark()
        await self._commands(who, where)
        return self._found(mark)

    async def _commands(self, who: Person, where: Channel) -> None:
        for command in (c for c in REGISTRY if not c.hidden and c.name not in NOT_TRIED):
            given = ARGUMENTS.get(command.name, "")
            await self.run.command(who, where, command.name, **({"what": given} if given else {}))
        await self.run.command(who, where, "export", what="markdown")
        await self.run.suggested(who, where, "")
        await self.run.suggested(who, where, "pass")
        for name in ("What do you know about me", "Remember this", "Forget this"):
            shown = {**self.answer, "content": "nothing that matters"}
            await self.run.menu(who, where, name, shown)

    async def seen_by_buttons(self, who: Person, where: Channel) -> set[str]:
        """Places whose secret comes up from the buttons of somebody else's answer, as they are
        and with the owner forged."""
        mark = self.run.mark()
        for label in labels(self.answer):
            pressed = await self.run.discord.press(who, where, self.answer, label)
            await self.run.program.until(lambda pressed=pressed: pressed.response)  # type: ignore[misc]
            await self.run.handled(f"interaction:{(await self._forged(who, where, label)).id}")
        return self._found(mark)

    async def _forged(self, who: Person, where: Channel, label: str) -> Interaction:
        """Press a copy of the button that says it is one's own."""
        rows = [
            {
                "components": [
                    {**b, "custom_id": b["custom_id"].replace(str(self.alice.id), str(who.id))}
                    for b in row["components"]
                ]
            }
            for row in self.answer["components"]
        ]
        return await self.run.discord.press(who, where, {**self.answer, "components": rows}, label)

    def _found(self, mark: int) -> set[str]:
        sent = self.run.sent_since(mark)
        return {where for where, secret in SECRETS.items() if secret in sent}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["none", CHAT])
async def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with (
        OllamaDouble(script=echo) as ollama,
        discord_run(
            tmp_path_factory.mktemp("leaks"), ollama, OBOETE_CHAT_MODEL=request.param
        ) as run,
    ):
        made = Scene(run)
        await made.set_up()
        yield made


async def test_an_answer_draws_on_what_all_who_read_it_can_read(scene: Scene) -> None:
    s = scene
    assert await s.seen_in_words(s.alice, s.general) == {"public"}
    assert await s.seen_in_words(s.bob, s.general) == {"public"}
    assert await s.seen_in_words(s.alice, s.board) == {"public", "board"}
    assert await s.seen_in_words(s.alice, s.thread) == {"public", "thread"}
    assert await s.seen_in_words(s.erin, s.abroad) == {"other public"}
    assert await s.seen_in_words(s.alice, s.other_board) == {"other public", "other board"}


async def test_a_direct_message_reads_the_mutual_guilds_as_that_person_can(scene: Scene) -> None:
    s, dm = scene, scene.run.world.dm
    assert await s.seen_by_commands(s.alice, dm(s.alice)) == set(SECRETS)
    assert await s.seen_in_words(s.bob, dm(s.bob)) == {"public"}
    assert await s.seen_in_words(s.carol, dm(s.carol)) == {"public", "board"}
    assert await s.seen_in_words(s.dave, dm(s.dave)) == {"public", "thread"}
    assert await s.seen_in_words(s.erin, dm(s.erin)) == {"public", "other public"}


async def test_no_command_menu_or_suggestion_shows_more(scene: Scene) -> None:
    s, dm = scene, scene.run.world.dm
    here = {"public", "board", "thread", "dm"}
    assert await s.seen_by_all_means(s.alice, s.general) == here
    assert await s.seen_by_all_means(s.bob, s.general) <= {"public"}
    assert await s.seen_by_all_means(s.erin, dm(s.erin)) <= {"public", "other public"}


async def test_buttons_under_another_persons_answer_show_nothing(scene: Scene) -> None:
    s = scene
    assert labels(s.answer) == ["Why?", "👍", "👎"]
    assert await s.seen_by_buttons(s.bob, s.general) == set()
    assert await s.seen_by_buttons(s.carol, s.run.world.dm(s.carol)) == set()


async def test_where_the_bot_is_no_member_a_person_reads_their_own_messages_alone(
    scene: Scene,
) -> None:
    s = scene
    elsewhere = s.run.world.channel(Guild(s.run.world.new_id(), "strangers", 0), "hall")
    assert await s.seen_by_commands(s.alice, elsewhere) == {"dm"}


async def test_what_somebody_may_no_longer_read_is_not_shown_from_that_moment(
    scene: Scene,
) -> None:
    """Last of all: it changes who may read what."""
    s, dm = scene, scene.run.world.dm
    await s.run.discord.set_roles(s.guild, s.carol)
    assert await s.seen_in_words(s.carol, dm(s.carol)) == {"public"}
    assert await s.seen_by_all_means(s.carol, s.general) <= {"public"}

    await s.run.discord.leave_thread(s.thread, s.dave)
    assert await s.seen_in_words(s.dave, dm(s.dave)) == {"public"}

    await s.run.discord.leave(s.other, s.erin)
    assert await s.seen_in_words(s.erin, dm(s.erin)) == {"public"}

    closed = Overwrite(s.guild.id, False, deny=VIEW), Overwrite(1, True, allow=EVERYDAY)
    await s.run.discord.set_overwrites(s.general, *closed)
    assert await s.seen_in_words(s.bob, dm(s.bob)) == set()
    assert await s.seen_in_words(s.carol, dm(s.carol)) == set()
    assert await s.seen_in_words(s.alice, s.board) == {"board"}

    # a private channel opens: what was said in it before is said to nobody, until it closes again
    kept = tuple(s.board.overwrites)
    await s.run.discord.set_overwrites(s.board)
    assert await s.seen_in_words(s.bob, s.board) == set()
    assert await s.seen_by_all_means(s.bob, s.board) == set()
    assert "board" not in await s.seen_in_words(s.alice, dm(s.alice))
    await s.run.ask(s.alice, s.board, "remember that the pass phrase is zorilla")
    mark = s.run.mark()
    await s.run.ask(s.bob, dm(s.bob), ASKED[0])
    assert "zorilla" in s.run.sent_since(mark)
    await s.run.discord.set_overwrites(s.board, *kept)
    assert "board" in await s.seen_in_words(s.alice, s.board)
    assert await s.seen_in_words(s.bob, dm(s.bob)) == set()

    log = s.run.program.log_text()
    assert not [secret for secret in SECRETS.values() if secret in log]

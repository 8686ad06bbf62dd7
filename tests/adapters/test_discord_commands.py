"""What Discord is told of the commands, and how to install the bot."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlparse

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import discord_buttons as buttons
from adapters.discord_commands import (
    ArgumentSpec,
    CommandSpec,
    Invocation,
    digest,
    parse,
    suggestions,
    to_payload,
)
from adapters.discord_invite import (
    application_id,
    explain_intents,
    invite_link,
    invite_text,
    missing_intents,
)
from adapters.discord_recorder import LoopBreaker
from bot.messages import Choice
from tests.adapters.discord_fakes import COMMANDS, MemoryKeep, Time


def test_the_registry_fits_discords_limits() -> None:
    long = "long " * 50
    spec = CommandSpec(
        "search",
        {"en": long, "ja": long},
        (
            ArgumentSpec("limit", {"en": long}, choices=tuple(map(str, range(40)))),
            ArgumentSpec("words", {"en": long}, required=True, suggested=True),
        ),
        {"ja": "検索"},
    )
    group = to_payload([spec])[0]
    (command,) = group["options"]
    assert len(command["description"]) == 100
    assert len(command["description_localizations"]["ja"]) == 100
    required, optional = command["options"]
    assert (required["name"], required["required"], required["autocomplete"]) == (
        "words", True, True,
    )  # fmt: skip
    assert (optional["name"], len(optional["choices"])) == ("limit", 25)


def test_the_hash_changes_exactly_when_the_commands_do() -> None:
    payload = to_payload(COMMANDS)
    reordered = [dict(reversed(each.items())) for each in payload]
    assert digest(payload) == digest(reordered)
    assert digest(payload) != digest(to_payload(COMMANDS[:-1]))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"name": "memory", "options": [{"name": "list"}]}, Invocation("list", {})),
        (
            {"name": "memory", "options": [
                {"name": "forget", "options": [{"name": "fact", "value": " 12 "}]}]},
            Invocation("forget 12", {"fact": "12"}),
        ),
        ({"name": "memory", "options": [{"name": "unknown"}]}, None),
        ({"name": "memory"}, None),
        ({"name": "other", "options": [{"name": "list"}]}, None),
        ({"name": "Forget this", "type": 3, "target_id": "9"},
         Invocation("forget", {}, target="9")),
        ({"name": "Other menu", "type": 3, "target_id": "9"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_call_becomes_a_command_line(
    data: dict[str, object], expected: Invocation | None
) -> None:
    assert parse(data, COMMANDS) == expected


@given(st.lists(st.tuples(st.text(max_size=150), st.text(max_size=150)), max_size=40))
def test_suggestions_are_always_acceptable(found: list[tuple[str, str]]) -> None:
    offered = suggestions(found)
    assert len(offered) <= 25
    for label, value in offered:
        assert 1 <= len(label) <= 100
        assert 1 <= len(value) <= 100


@given(st.text(min_size=1, max_size=300), st.booleans())
async def test_a_button_says_what_it_was_given(command: str, danger: bool) -> None:
    keep = MemoryKeep()
    view = await buttons.view_of([Choice("label", command, danger)], None, 5, keep)
    (button,) = view.children
    assert isinstance(button, discord.ui.Button)
    assert button.custom_id is not None
    assert len(button.custom_id) <= 100
    assert await buttons.read(button.custom_id, keep) == buttons.Pressed(
        "5", command, danger, is_form=False, page=0
    )


@pytest.mark.parametrize(
    "custom_id",
    ["", "x", "oboete", "oboete|b|5|-|", "oboete|x|5|-|list", "other|b|5|-|list",
     "oboete|b|5|-|#lost"],
)  # fmt: skip
async def test_what_is_not_a_button_of_ours_is_nothing(custom_id: str) -> None:
    assert await buttons.read(custom_id, MemoryKeep()) is None


def test_the_loop_breaker_counts_pairs_apart() -> None:
    loops = LoopBreaker(Time())
    assert all(loops.allows(1, 5) for _ in range(40))
    assert not loops.allows(1, 5)
    assert loops.allows(1, 6)
    assert loops.allows(2, 5)


def test_the_invitation_asks_for_exactly_what_is_used() -> None:
    query = parse_qs(urlparse(invite_link(123)).query)
    permissions = discord.Permissions(int(query["permissions"][0]))
    assert {name for name, on in permissions if on} == {
        "read_messages", "send_messages", "send_messages_in_threads", "create_public_threads",
        "read_message_history", "embed_links", "attach_files",
    }  # fmt: skip
    assert query["scope"] == ["bot applications.commands"]
    text = invite_text(123)
    assert invite_link(123) in text
    assert "Message Content Intent" in text
    assert "Server Members Intent" in text


def test_the_application_is_read_off_the_token() -> None:
    head = base64.b64encode(b"1234567890123456789").decode().rstrip("=")
    assert application_id(f"{head}.abc.def") == 1234567890123456789
    for wrong in ("", "no token", "日本.x.y"):
        with pytest.raises(ValueError, match="not a Discord bot token"):
            application_id(wrong)


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        (0, ["Message Content Intent", "Server Members Intent"]),
        (1 << 18, ["Server Members Intent"]),
        (1 << 19, ["Server Members Intent"]),
        (1 << 14 | 1 << 19, []),
        (1 << 15 | 1 << 18, []),
    ],
)
def test_missing_intents_are_read_off_the_applications_flags(
    flags: int, missing: list[str]
) -> None:
    found = missing_intents(discord.ApplicationFlags._from_value(flags))
    assert found == missing
    assert len(explain_intents(found).splitlines()) == len(missing)

"""Slack's markup read as Markdown, with mentions told apart."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.slack_text import Names, from_mrkdwn, ids_in, read_text
from bot.messages import Mention

NAMES = Names({"U1": "佐藤", "W2": "Bob", "UBOT": "Oboete"}, {"C1": "general"}, {"S1": "dev"})


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"text": "", "blocks": [{"type": "rich_text", "elements": list(elements)}]}


def section(*elements: dict[str, Any], kind: str = "rich_text_section") -> dict[str, Any]:
    return {"type": kind, "elements": list(elements)}


def words(text: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


BOT = {"type": "user", "user_id": "UBOT"}


@pytest.mark.parametrize(
    ("mrkdwn", "markdown"),
    [
        ("<@U1> と <@W2|bob> へ", "@佐藤 と @Bob へ"),
        ("<@U9|carol> and <@U8>", "@carol and @…"),
        ("see <#C1> and <#C2|random>", "see #general and #random"),
        ("<!subteam^S1> <!subteam^S2|@ops> <!here>", "@dev @ops @here"),
        ("<!date^1392734382^{date}|18 Feb 2014>", "18 Feb 2014"),
        (
            "<https://example.com|例> <https://example.com>",
            "[例](https://example.com) https://example.com",
        ),
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("*太字* and ~gone~ and _it_", "**太字** and ~~gone~~ and _it_"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`*not bold* &lt;T&gt;` *bold*", "`*not bold* <T>` **bold**"),
        ("```x = *p;\nif (a &lt; b)```", "```x = *p;\nif (a < b)```"),
    ],
)
def test_mrkdwn_becomes_markdown(mrkdwn: str, markdown: str) -> None:
    assert from_mrkdwn(mrkdwn, NAMES) == markdown


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ("<@UBOT> hi", Mention.DIRECT),
        ("ねえ<@UBOT|oboete>、覚えて", Mention.DIRECT),
        ("`<@UBOT>` is how you call it", Mention.CODE),
        ("```\n<@UBOT> hi\n```", Mention.CODE),
        ("&gt; <@UBOT> hi\nwhat was that?", Mention.QUOTED),
        ("&gt; <@UBOT> hi\n<@UBOT> again", Mention.DIRECT),
        ("<@UBOTHER> hi", Mention.NONE),
        ("oboete, hi", Mention.NONE),
    ],
)
def test_mention_in_text(text: str, mention: Mention) -> None:
    assert read_text({"text": text}, NAMES, "UBOT").mention is mention


@pytest.mark.parametrize(
    ("element", "mention"),
    [
        (section(BOT, words(" hi")), Mention.DIRECT),
        (section(section(BOT), kind="rich_text_list"), Mention.DIRECT),
        (section(BOT, kind="rich_text_quote"), Mention.QUOTED),
        (section(BOT, kind="rich_text_preformatted"), Mention.CODE),
        (section(BOT | {"style": {"code": True}}), Mention.CODE),
        (section({"type": "user", "user_id": "U1"}), Mention.NONE),
    ],
)
def test_mention_in_rich_text(element: dict[str, Any], mention: Mention) -> None:
    assert read_text(rich(element), NAMES, "UBOT").mention is mention


def test_address_at_the_beginning_is_not_part_of_what_was_said() -> None:
    assert read_text({"text": "<@UBOT>、猫が好き"}, NAMES, "UBOT").markdown == "猫が好き"
    kept = read_text({"text": "ask <@UBOT> about it"}, NAMES, "UBOT").markdown
    assert kept == "ask @Oboete about it"


def test_rich_text_becomes_markdown() -> None:
    message = rich(
        section(words("買い物", bold=True), words(" list: "), words("x", code=True)),
        section(section(words("卵")), section(words("milk", italic=True)), kind="rich_text_list")
        | {"style": "ordered"},
        section(words("fn main() {}"), kind="rich_text_preformatted") | {"language": "rust"},
        section(words("one\ntwo"), kind="rich_text_quote"),
        section(
            {"type": "link", "url": "https://e.com", "text": "例"},
            {"type": "emoji", "name": "cat", "unicode": "1f431"},
            {"type": "channel", "channel_id": "C1"},
            {"type": "broadcast", "range": "here"},
            {"type": "usergroup", "usergroup_id": "S1"},
        ),
    )
    assert read_text(message, NAMES, "UBOT").markdown == (
        "**買い物** list: `x`\n1. 卵\n2. *milk*\n```rust\nfn main() {}\n```\n> one\n> two\n"
        "[例](https://e.com)🐱#general@here@dev"
    )


def test_marks_touch_the_words_they_mark() -> None:
    message = rich(section(words("  太字 ", bold=True), words("です")))
    assert read_text(message, NAMES, "UBOT").markdown == "**太字** です"


def test_forwarded_and_unfurled_text_is_kept_apart() -> None:
    message = {
        "text": "<@UBOT> is this right?",
        "attachments": [{"text": "I live in *Osaka*", "fallback": "x"}, {"fallback": "A page"}],
    }
    found = read_text(message, NAMES, "UBOT")
    assert found.markdown == "is this right?"
    assert found.quoted == "I live in **Osaka**\n\nA page"


def test_ids_are_found_in_text_blocks_and_attachments() -> None:
    message = rich(section(BOT, {"type": "channel", "channel_id": "C1"})) | {
        "text": "<@U1|x>",
        "attachments": [{"text": "<@W2> <#C2>"}],
    }
    found = ids_in(message)
    assert set(found.users) == {"UBOT", "U1", "W2"}
    assert set(found.channels) == {"C1", "C2"}

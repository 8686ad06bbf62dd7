"""Mentions and names in Discord's markup, and Markdown as Discord shows it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord_format import (
    CONTENT_LIMIT,
    Extras,
    citations_embed,
    compose,
    to_discord,
    to_parts,
)
from adapters.discord_text import Names, mention_of, resolve, without_quotes
from adapters.discord_texts import _TEXTS, languages, means_yes, say
from bot.messages import Choice, Citation, Mention, Reply

BOT = frozenset({"1", "77"})
NAMES = Names(
    users={"5": "アリス", "6": "e[v]il`*"},
    roles={"8": "crew"},
    channel={"9": "general"}.get,
    bot=BOT,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@1> hi", Mention.DIRECT),
        ("こんにちは<@!1>さん", Mention.DIRECT),
        ("<@&77> the bot's own role", Mention.DIRECT),
        ("`<@1>`", Mention.CODE),
        ("``a ` <@1>``", Mention.CODE),
        ("```\n<@1>\n```", Mention.CODE),
        ("```py\n<@1> never closed", Mention.CODE),
        ("> <@1> said", Mention.QUOTED),
        (">>> all of this\n<@1>", Mention.QUOTED),
        ("> <@1>\nbut <@1> now", Mention.DIRECT),
        ("`x` <@1>", Mention.DIRECT),
        ("a > <@1>", Mention.DIRECT),
        ("<@2> hi", Mention.NONE),
        ("@oboete hi", Mention.NONE),
        ("", Mention.NONE),
    ],
)
def test_a_mention_counts_only_outside_code_and_quotes(text: str, expected: Mention) -> None:
    assert mention_of(text, BOT) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@1> ask <@5>", "ask @アリス"),
        ("<@5> と <@5>", "@アリス と @アリス"),
        ("<@6>", "@e v il"),
        ("<@99> left", "@someone left"),
        ("<@&8> in <#9> and <#10>", "@crew in #general and #channel"),
        ("<:wave:123><a:dance:456>", ":wave::dance:"),
        ("<t:0:f>", "1970-01-01 00:00 UTC"),
        ("<t:9999999999999>", "<t:9999999999999>"),
        ("</memory list:12>", "/memory list"),
        ("`<@5>` <@5>", "`<@5>` @アリス"),
        ("x  = 1 <@1> y  = 2", "x  = 1 y  = 2"),
        ("1 < 2 > <@x>", "1 < 2 > <@x>"),
    ],
)
def test_markup_becomes_what_people_see(text: str, expected: str) -> None:
    assert resolve(text, NAMES).text == expected


def test_whom_a_text_mentions_stays_attached_once_and_the_bot_is_left_out() -> None:
    assert resolve("<@1> <@5> <@5> <@6>", NAMES).references == (("アリス", "5"), ("e v il", "6"))


@given(st.text(alphabet="<@!&#:>0159`\n >ab日", max_size=60))
def test_no_markup_of_known_kinds_is_left_outside_code(text: str) -> None:
    left = re.sub(r"```.*?(?:```|\Z)|``.+?``|`[^`\n]+`", "", resolve(text, NAMES).text, flags=re.S)
    assert not re.search(r"<@[!&]?\d+>|<#\d+>", left)


def test_quotes_are_told_from_what_was_said() -> None:
    text = "> 昨日の話\n> 続き\nそれは違う\n```\n> not a quote\n```\n>>> rest\nof it"
    assert without_quotes(text) == (
        "それは違う\n```\n> not a quote\n```",
        "昨日の話\n続き\nrest\nof it",
    )


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**太字**と`code`", "**太字**と`code`"),
        ("[docs](https://a.example/x_(y))", "docs (<https://a.example/x_(y)>)"),
        ("[https://good.example](https://evil.example)",
         "<https://good.example> (<https://evil.example>)"),
        ("![cat](https://a.example/cat.png)", "cat (<https://a.example/cat.png>)"),
        ("see https://a.example/b, ok", "see <https://a.example/b>, ok"),
        ("<https://a.example>", "<https://a.example>"),
        ("リンク：https://a.example/b。", "リンク：<https://a.example/b>。"),
        ("[x](javascript:alert)", "x"),
        ("`https://a.example`", "`https://a.example`"),
        ("```\n[a](https://a.example)\n```", "```\n[a](https://a.example)\n```"),
        ("##### Deep", "**Deep**"),
        ("## Two", "## Two"),
        ("| a | b |\n|---|---|\n| 1 | 日本 |", "```\n| a | b |\n| 1 | 日本 |\n```"),
        ("| not | a table |", "| not | a table |"),
    ],
)  # fmt: skip
def test_markdown_is_what_discord_can_show(markdown: str, expected: str) -> None:
    assert to_discord(markdown).strip() == expected


@given(st.text(alphabet="[]()<>`\n#|-*_ ahtps:/.日本", max_size=300))
def test_any_markdown_is_split_into_parts_that_discord_accepts(text: str) -> None:
    for part in to_parts(text * 20):
        assert 0 < len(part) <= CONTENT_LIMIT


@given(st.text(alphabet="[]() \nab日", max_size=60))
def test_no_address_is_ever_left_to_be_unfurled(text: str) -> None:
    shown = to_discord(f"{text} https://evil.example/{text}")
    for match in re.finditer("https://", shown):
        assert shown[: match.start()].endswith("<")


def test_as_many_citations_as_fit_are_shown() -> None:
    embed = citations_embed([Citation(n, "出典" * 100) for n in range(99)], "ja")
    assert embed is not None
    assert len(embed.description or "") <= 4096
    assert len(embed) <= 6000
    assert citations_embed([], "en") is None


def test_a_reply_has_at_most_25_buttons() -> None:
    choices = tuple(Choice(str(n), f"forget {n}") for n in range(40))
    assert len(compose(Reply("x", choices=choices), "en", "list", 0)[1].choices) == 25


def test_an_empty_reply_has_no_parts_and_nothing_around_them() -> None:
    assert compose(Reply(""), "en", "list", 0) == ([], Extras())


def test_every_sentence_exists_in_every_language() -> None:

    assert languages() == ("en", "ja")
    assert _TEXTS["ja"].keys() == _TEXTS["en"].keys()
    for key, text in _TEXTS["en"].items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", _TEXTS["ja"][key]))


def test_an_unknown_language_is_answered_in_english() -> None:
    assert say("sources", "fi") == "Sources"
    assert say("sources", "ja-JP") == "出典"


@pytest.mark.parametrize(("answer", "yes"), [(" YES ", True), ("はい", True), ("no", False)])
def test_only_a_yes_confirms(answer: str, yes: bool) -> None:
    assert means_yes(answer) is yes

"""What Slack is given to show: within limits, and harmless."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import slack_texts
from adapters.slack_events import ASK, PRESS
from adapters.slack_format import (
    ZERO_WIDTH_SPACE,
    confirm_modal,
    end_blocks,
    fallback,
    neutralised,
    sections,
    to_mrkdwn,
)
from adapters.slack_home import MAX_FACTS, home_view
from bot.messages import Choice, Citation, Reply
from memory.types import Audience, Evidence, Fact, Origin, Person, Span
from tests.e2e.slack_methods import check_blocks

DM = Audience("slack", "T1", "D1")
GENERAL = Audience("slack", "T1", "C1")


def fact(number: int, text: str = "likes cats", **fields: object) -> Fact:
    now = datetime(2026, 4, 1, tzinfo=UTC)
    alice = Person("slack", "T1", "U1")
    given_fields: dict[str, object] = {
        "subject": alice,
        "speaker": alice,
        "audience": DM,
        "language": "en",
        "origin": Origin.STATED,
        "attribute": "likes:cats",
        "negated": False,
        "said_at": now,
        "learned_at": now,
        "valid_from": None,
        "valid_until": None,
        "superseded_by": None,
        "confirmed": 1,
        "evidence": (Evidence(1, Span(0, 4), "https://x.slack.com/p1"),),
    }
    return Fact(id=number, text=text, **(given_fields | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["<!channel>", "<@U1> hi", "<#C1>", "みんな@channel", "@everyone", "![x](https://e.com/?q=1)"],
)
def test_ping_or_image_is_taken_apart(text: str) -> None:
    assert neutralised(text).replace(ZERO_WIDTH_SPACE, "") == text
    assert neutralised(text) != text


@pytest.mark.parametrize(
    "text", ["a@example.com", "```html\n<!DOCTYPE html>\n<@U1>\n```", "1 < 2", "[x](https://e.com)"]
)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert neutralised(text) == text


@given(
    st.lists(
        st.sampled_from(["<", "!", "@", "#", "[", "a", "。", "`", "```", "\n", "here", " ", "~~~"]),
        max_size=30,
    ).map("".join),
    st.integers(0, 60),
)
def test_what_was_streamed_stays_the_beginning(text: str, at: int) -> None:
    assert neutralised(text).startswith(neutralised(text[:at]))


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** text", "*bold* text"),
        ("これは**太字**です", f"これは{ZERO_WIDTH_SPACE}*太字*{ZERO_WIDTH_SPACE}です"),
        ("# 題\n- one\n* two", "*題*\n• one\n• two"),
        ("[例](https://e.com) ~~x~~", "<https://e.com|例> ~x~"),
        ("> quoted\na & b < c", ">quoted\na &amp; b &lt; c"),
        ("```py\nx < **y**\n```", "```\nx &lt; **y**\n```"),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, mrkdwn: str) -> None:
    assert to_mrkdwn(markdown) == mrkdwn


def test_fallback_is_short_plain_and_never_empty() -> None:
    assert fallback("**a** <b>") == "a &lt;b&gt;"
    assert fallback("***") == "…"
    assert len(fallback("あ" * 5000)) < 1000


def test_end_shows_what_was_learned_sources_and_buttons() -> None:
    reply = Reply(
        "OK",
        learned=(fact(1), fact(2, "猫が好き", confirmed=2)),
        citations=(Citation(1, "2026-04-01 <Bob> | x", "https://x.slack.com/p2"),),
        choices=(Choice("Undo", "undo"), Choice("Forget", "forget 1", danger=True)),
        trace_id=7,
    )
    context, actions = end_blocks(reply, "en-GB")
    assert [element["text"] for element in context["elements"]] == [
        "📝 Remembered: likes cats",
        "📝 I knew that already: 猫が好き",
        "[1] <https://x.slack.com/p2|2026-04-01 &lt;Bob&gt; / x>",
    ]
    values = [(e["value"], e["action_id"].split(":")[0]) for e in actions["elements"]]
    assert values == [
        ("undo", PRESS),
        ("forget 1", ASK),
        ("why 7", PRESS),
        ("good 7", PRESS),
        ("bad 7", PRESS),
    ]
    assert len({element["action_id"] for element in actions["elements"]}) == 5


def test_what_the_text_says_already_is_not_said_again() -> None:
    assert end_blocks(Reply("Remembered: likes cats", learned=(fact(1),)), "en") == []


@pytest.mark.parametrize("count", [0, 1, 30, 200])
def test_any_number_of_extras_stays_within_slacks_limits(count: int) -> None:
    reply = Reply(
        "x",
        learned=tuple(fact(n, "長い事実 " * 1000 + str(n)) for n in range(count)),
        choices=tuple(Choice("選択肢" * 50, f"list {n}") for n in range(count)),
        trace_id=1,
    )
    check_blocks(end_blocks(reply, "ja"))
    check_blocks(sections("段落です。" * 3000)[:50])
    check_blocks(confirm_modal("?" * 4000, "x" * 99, "{}", "c", "ja")["blocks"], most=100)


@pytest.mark.parametrize("count", [0, 1, MAX_FACTS, MAX_FACTS + 160])
def test_home_stays_within_slacks_limits_and_says_what_is_left_out(count: int) -> None:
    facts = tuple(
        fact(n, "事実" * 2000, attribute=f"topic{n % 60}:x" if n % 2 else None)
        for n in range(count)
    )
    view = home_view(Reply("You\nlist", facts=facts), "en", own=DM, is_result=True)
    check_blocks(view["blocks"], most=100)
    more = [b for b in view["blocks"] if "160 more" in str(b)]
    assert bool(more) == (count > MAX_FACTS)


def test_home_groups_facts_by_topic_and_says_where_they_were_learned() -> None:
    facts = (
        fact(1, attribute="likes:cats"),
        fact(2, "works at <Acme>", attribute="job", audience=GENERAL),
        fact(3, "likes dogs", attribute="likes:dogs"),
        fact(4, "other", attribute=None, evidence=()),
    )
    view = home_view(Reply("I know:\n- 1\n- 2", facts=facts), "en", own=DM, is_result=False)
    headers = [b["text"]["text"] for b in view["blocks"] if b["type"] == "header"]
    assert headers == ["job", "likes", "Other"]
    shown = [b for b in view["blocks"] if b.get("accessory")]
    assert shown[0]["text"]["text"] == (
        "*2*  works at &lt;Acme&gt;\n_<https://x.slack.com/p1|2026-04-01> in <#C1>_"
    )
    assert "our direct messages" in shown[1]["text"]["text"]
    assert [b["accessory"]["value"] for b in shown] == [f"forget {n}" for n in (2, 1, 3, 4)]
    assert all(b["accessory"]["action_id"].startswith(ASK) for b in shown)
    assert "- 1" not in str(view["blocks"])


def test_both_languages_say_the_same_things() -> None:
    english, japanese = (slack_texts._TEXTS[language] for language in slack_texts.languages())
    assert english.keys() == japanese.keys()
    for key, text in english.items():
        names = {part.partition("}")[0] for part in text.split("{")[1:]}
        assert names == {part.partition("}")[0] for part in japanese[key].split("{")[1:]}


def test_unknown_language_is_answered_in_english() -> None:
    assert slack_texts.say("why", "fr-FR") == slack_texts.say("why", "en-US") == "Why?"
    assert slack_texts.say("why", "ja-JP") == "なぜ?"

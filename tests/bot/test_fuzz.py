"""Whatever comes in from outside: it is understood or refused, and nothing breaks.

Splitting, Slack formatting, Discord text, schema answers and thinking text have property tests
beside their own examples in tests/adapters.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters import slack_text
from adapters.slack_text import Names
from bot.extraction_prompts import ExtractedFact, Extraction
from bot.model_extract import checked, find_quote
from bot.phrases import phrase
from bot.prompts import cited, fence, inert, trim
from bot.reminders import wish
from memory.reading.document import ReadingLimits
from memory.reading.errors import UnreadableDocument
from memory.reading.reader import read_document
from memory.types import Message, Person, Role
from tests.fakes import HANAKO, NOON, TARO, TARO_DM

BITS = st.sampled_from(
    ["<@U1>", "<#C1|general>", "<!here>", "<https://a.example|b>", "<", ">", "&lt;", "`", "```",
     "*", "~", "\n", "|", "大阪", "é", "\u200b", "\x00", "<memory>", "</memory>", "[1]", " "]
)  # fmt: skip
MARKED_UP = st.lists(st.one_of(BITS, st.text(max_size=8)), max_size=12).map("".join)
NAMES = Names(users={"U1": "ken"}, channels={"C1": "general"})

ELEMENT = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, MARKED_UP),
    st.sampled_from(
        [
            {"type": "user", "user_id": "U1"},
            {"type": "user", "user_id": "U404"},
            {"type": "channel", "channel_id": "C1"},
            {"type": "emoji", "name": "tada"},
            {"type": "link", "url": "https://a.example"},
            {"type": "broadcast", "range": "here"},
            {"type": "something new"},
        ]
    ),
)
BLOCK = st.builds(
    lambda kind, elements: {
        "type": "rich_text",
        "elements": [{"type": kind, "elements": elements}],
    },
    st.sampled_from(["rich_text_section", "rich_text_quote", "rich_text_preformatted"]),
    st.lists(ELEMENT, max_size=5),
)


@given(
    message=st.fixed_dictionaries(
        {"text": st.one_of(MARKED_UP, st.none())},
        optional={
            "blocks": st.lists(BLOCK, max_size=3),
            "attachments": st.lists(
                st.fixed_dictionaries({}, optional={"text": MARKED_UP, "fallback": MARKED_UP}),
                max_size=2,
            ),
        },
    )
)
def test_any_slack_message_is_read(message: dict[str, Any]) -> None:
    slack_text.ids_in(message)
    read = slack_text.read_text(message, NAMES, "U1")
    assert read.markdown == read.markdown.strip()


@given(MARKED_UP)
def test_remembered_text_cannot_close_its_fence_or_span_lines(text: str) -> None:
    fenced = fence(text)
    assert "\n" not in fenced
    assert "<memory" not in fenced.lower().replace(" ", "")
    assert "</memory" not in fenced.lower().replace(" ", "")
    assert inert(inert(text)) == inert(text)


@given(MARKED_UP, st.integers(1, 200))
def test_trimming_and_citing_take_any_text(text: str, budget: int) -> None:
    assert len(trim(text, budget)) <= max(len(text), 5)
    assert all(number >= 0 for number in cited(text))


@given(MARKED_UP)
@example("forget " * 500)
@example("覚えて" * 500)
@example("remind me every every every day at at at 9")
def test_any_text_is_a_command_or_is_none(text: str) -> None:
    phrase(text)
    wish(text, NOON, "Asia/Tokyo")


# -- what a model answers ------------------------------------------------------------------------

SAID = "I live in Osaka. 猫が好きです。 `rm -rf` Ken likes tea."


def message_of(text: str) -> Message:
    return Message(
        1, "m1", TARO_DM, "talk", Role.USER, TARO, "taro", text, NOON, None, "", "Asia/Tokyo",
        (("hanako", HANAKO),),
    )  # fmt: skip


PROPOSAL = st.builds(
    ExtractedFact,
    message=st.integers(-2, 4),
    quote=st.one_of(st.sampled_from(["I live in Osaka", "猫が好きです", "", "rm -rf"]), MARKED_UP),
    text=st.one_of(st.just("I live in Osaka"), MARKED_UP),
    subject=st.one_of(st.sampled_from(["S1", "S9", "hanako", "Ken", ""]), MARKED_UP),
    attribute=st.one_of(st.none(), MARKED_UP),
    negated=st.booleans(),
    valid_from=st.one_of(st.none(), st.sampled_from(["2026-02-30", "2026-03-01", "x"]), MARKED_UP),
    valid_until=st.one_of(st.none(), st.just("9999-12-31"), st.just("0001-01-01"), MARKED_UP),
    lasting=st.booleans(),
    accepts=st.one_of(st.none(), st.integers(-3, 9)),
)


@given(st.lists(PROPOSAL, max_size=4))
def test_what_a_model_proposes_is_borne_out_by_the_message_or_dropped(
    proposals: list[ExtractedFact],
) -> None:
    message = message_of(SAID)
    aliases: dict[Person, str] = {TARO: "S1"}
    for fact in checked(Extraction(facts=proposals), [message], [], aliases):
        assert fact.text.strip()
        assert fact.speaker == TARO
        assert fact.audience == TARO_DM
        assert not isinstance(fact.subject, Person) or fact.subject in {TARO, HANAKO}
        for item in fact.evidence:
            assert item.message_id == message.id
            assert SAID[item.span.start : item.span.end].strip()


@given(quote=MARKED_UP, text=MARKED_UP)
def test_a_quote_that_is_found_stands_there(quote: str, text: str) -> None:
    span = find_quote(quote, text)
    if span is not None:
        found = "".join(text[span.start : span.end].split()).casefold()
        assert found == "".join(quote.strip().strip('"“”「」').split()).casefold()


# -- documents -----------------------------------------------------------------------------------

LIMITS = ReadingLimits()
BEGINNINGS = st.sampled_from(
    [b"", b"%PDF-1.7\n", b"PK\x03\x04", b"<html>", b"# Title\n", b"a,b\n1,2\n", b"\xff\xfe",
     "見出し\n".encode("cp932")]
)  # fmt: skip


@settings(max_examples=60)
@given(
    start=BEGINNINGS,
    data=st.binary(max_size=300),
    name=st.sampled_from(["a.pdf", "a.docx", "a.xlsx", "a.pptx", "a.html", "a.md", "a.csv", "a"]),
)
def test_any_bytes_are_a_document_or_are_refused(start: bytes, data: bytes, name: str) -> None:
    try:
        document = read_document(start + data, name, limits=LIMITS)
    except UnreadableDocument:
        return
    assert document.pages

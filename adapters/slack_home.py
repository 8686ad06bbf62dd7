"""The App Home tab: what Oboete knows about the person who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from adapters.slack_events import HOME, SEARCH
from adapters.slack_format import SECTION_CHARACTERS, button, button_rows, escaped, sections
from adapters.slack_texts import say
from bot.messages import Choice, Reply
from memory.types import Audience, Fact

Json = dict[str, Any]

MAX_FACTS = 40
"""Slack shows 100 blocks in a view; each fact takes two at most."""


def home_view(reply: Reply, locale: str, *, own: Audience, is_result: bool) -> Json:
    """The tab: text, a search box, facts by topic with buttons to forget them, choices.

    `own` is the person's DM; `is_result` adds a way back from the result of a button.
    """
    # The facts are shown in full below: their list need not be there twice.
    text = reply.text.split("\n", 1)[0] if reply.facts else reply.text
    back = [_back_button(locale)] if is_result else []
    choices = [button(choice, at) for at, choice in enumerate(reply.choices[:20])]
    return {
        "type": "home",
        "blocks": [
            _search_box(locale),
            *sections(text)[:20],
            *_facts(reply.facts, locale, own),
            *button_rows([*choices, *back]),
        ],
    }


def _search_box(locale: str) -> Json:
    return {
        "type": "input",
        "dispatch_action": True,
        "block_id": SEARCH,
        "element": {"type": "plain_text_input", "action_id": SEARCH},
        "label": {"type": "plain_text", "text": say("search", locale)},
    }


def _back_button(locale: str) -> Json:
    text = {"type": "plain_text", "text": say("back", locale)}
    return {"type": "button", "text": text, "action_id": HOME, "value": "home"}


def _facts(facts: tuple[Fact, ...], locale: str, own: Audience) -> Iterator[Json]:
    shown = sorted(facts[:MAX_FACTS], key=lambda fact: topic(fact) or "\uffff")
    for name, group in groupby(shown, key=topic):
        title = name or say("other_topics", locale)
        yield {"type": "header", "text": {"type": "plain_text", "text": title[:150]}}
        for fact in group:
            yield _fact(fact, locale, own)
    if len(facts) > MAX_FACTS:
        yield from sections(say("more", locale, count=len(facts) - MAX_FACTS))


def topic(fact: Fact) -> str:
    """What a fact is about: its attribute without the value, such as `likes`."""
    return (fact.attribute or "").partition(":")[0]


def _fact(fact: Fact, locale: str, own: Audience) -> Json:
    place = say("alone", locale) if fact.audience == own else f"<#{fact.audience.name}>"
    link = next((item.permalink for item in fact.evidence if item.permalink), None)
    day = fact.said_at.date().isoformat()
    shown_day = f"<{link}|{day}>" if link else day
    origin = say("said", locale, day=shown_day, place=place)
    if fact.held_until is not None:
        origin = f"{origin} · {say('until', locale, day=fact.held_until.date().isoformat())}"
    words = escaped(fact.text)[: SECTION_CHARACTERS - len(origin) - 10]
    forget = Choice(say("forget", locale), f"forget {fact.id}", danger=True)
    return {
        "type": "section",
        "text": {"type": "mrkdwn", "text": f"*{fact.id}*  {words}\n_{origin}_"},
        "accessory": button(forget, fact.id),
    }

"""Is it new, known, or does it take a place? Decided without side effects."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memory import reconcile
from memory.reconcile import Candidate, Decision
from memory.types import Evidence, Fact, NewFact, Origin, Person, Span, Verdict
from tests.fakes import GENERAL, NOON, TARO


def new(
    attribute: str | None,
    text: str = "I live in Osaka",
    *,
    said_at: datetime = NOON,
    negated: bool = False,
    language: str = "en",
) -> NewFact:
    return NewFact(
        text=text,
        subject=TARO,
        speaker=TARO,
        audience=GENERAL,
        language=language,
        origin=Origin.STATED,
        evidence=(Evidence(1, Span(0, 3)),),
        said_at=said_at,
        attribute=attribute,
        negated=negated,
    )


def known(
    id_: int,
    attribute: str | None,
    text: str = "I live in Kyoto",
    *,
    minutes: int = -10,
    negated: bool = False,
    superseded_by: int | None = None,
    subject: Person | str = TARO,
    language: str = "en",
) -> Fact:
    said_at = NOON + timedelta(minutes=minutes)
    return Fact(
        id=id_,
        text=text,
        subject=subject,
        speaker=TARO,
        audience=GENERAL,
        language=language,
        origin=Origin.STATED,
        attribute=attribute,
        negated=negated,
        said_at=said_at,
        learned_at=said_at,
        valid_from=None,
        valid_until=None,
        superseded_by=superseded_by,
        confirmed=1,
    )


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("name", True),
        ("home", True),
        ("favourite:colour", True),
        ("deadline:report", True),
        ("likes:cats", False),
        ("likes", False),
        ("favouritecolour", False),
        (None, False),
        ("", False),
    ],
)
def test_some_attributes_hold_one_value_at_a_time(attribute: str | None, expected: bool) -> None:
    assert reconcile.single_valued(attribute) is expected


def test_the_same_words_are_the_same_fact() -> None:
    before = known(1, "home")
    assert reconcile.decide(new("home"), before, [before], []) == Decision(Verdict.SAME, before)


def test_a_later_value_takes_the_place_of_the_latest_earlier_one() -> None:
    first, second = known(1, "home", minutes=-20), known(2, "home", minutes=-10)
    decision = reconcile.decide(new("home"), None, [first, second], [])
    assert decision == Decision(Verdict.SUPERSEDES, second)


def test_an_earlier_value_that_comes_late_supersedes_nothing_and_is_past_at_once() -> None:
    later, latest = known(1, "home", minutes=10), known(2, "home", minutes=20)
    decision = reconcile.decide(new("home"), None, [later, latest], [])
    assert decision == Decision(Verdict.DIFFERENT, None, closed_by=later)


def test_an_attribute_of_many_values_keeps_them_all() -> None:
    decision = reconcile.decide(new("likes:cats"), None, [known(1, "likes:cats")], [])
    assert decision == Decision(Verdict.DIFFERENT)


@pytest.mark.parametrize("before", [True, False])
def test_saying_the_opposite_supersedes(before: bool) -> None:
    likes = known(1, "likes:cats", negated=before)
    decision = reconcile.decide(new("likes:cats", negated=not before), None, [likes], [])
    assert decision == Decision(Verdict.SUPERSEDES, likes)


def test_denying_a_value_does_not_supersede_another_denial() -> None:
    denied = known(1, "home", negated=True)
    assert reconcile.decide(new("home", negated=True), None, [denied], []) == Decision(
        Verdict.DIFFERENT
    )


@pytest.mark.parametrize("attribute", [None, "job"])
def test_nothing_is_superseded_without_the_same_attribute(attribute: str | None) -> None:
    others = [known(1, "home"), known(2, None)]
    assert reconcile.decide(new(attribute), None, others, []) == Decision(Verdict.DIFFERENT)


def test_what_was_superseded_and_is_said_again_is_current_anew() -> None:
    old = known(1, "home", "I live in Osaka", minutes=-20, superseded_by=2)
    present = known(2, "home")
    decision = reconcile.decide(new("home"), old, [present], [])
    assert decision == Decision(Verdict.SUPERSEDES, present)


def test_one_value_in_other_words_supersedes_nothing() -> None:
    same = known(1, "home", "I'm living in Osaka")
    assert not reconcile.rival(new("home", "I live in Osaka"), same)


# -- what a judge may decide -----------------------------------------------------------------------


def test_the_nearest_that_is_the_same_is_confirmed() -> None:
    far, near = known(1, None, "I love cats"), known(2, None, "I like cats")
    decision = reconcile.decide(
        new(None, "I like cats a lot"),
        None,
        [],
        [Candidate(far, 2.5, Verdict.SAME), Candidate(near, 4.0, Verdict.SAME)],
    )
    assert decision == Decision(Verdict.SAME, near)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("I like cats", "I do not like cats", "en"),
        ("The meeting is at 3 pm", "The meeting is at 4 pm", "en"),
        ("Ann manages Bob", "Bob manages Ann", "en"),
        ("猫が好きです", "猫が好きではありません", "ja"),
        ("会議は午後3時です", "会議は午後4時です", "ja"),
    ],
)
def test_no_judge_makes_a_contradiction_the_same(one: str, other: str, language: str) -> None:
    before = known(1, None, other, language=language)
    candidate = Candidate(before, 9.0, Verdict.SAME)
    decision = reconcile.decide(new(None, one, language=language), None, [], [candidate])
    assert decision == Decision(Verdict.DIFFERENT)


@pytest.mark.parametrize(
    "before",
    [
        known(1, None, "I moved to Kyoto"),
        known(1, "job", "I work in Kyoto"),
        known(1, "home", "Hanako lives in Kyoto", subject="hanako"),
    ],
)
def test_no_judge_lets_a_fact_take_the_place_of_one_about_something_else(before: Fact) -> None:
    candidate = Candidate(before, 9.0, Verdict.SUPERSEDES)
    assert reconcile.decide(new("home"), None, [], [candidate]) == Decision(Verdict.DIFFERENT)


def test_a_judge_does_not_let_a_late_message_supersede_a_newer_fact() -> None:
    newer = known(1, "likes:tea", "I love tea", minutes=5)
    candidate = Candidate(newer, 9.0, Verdict.SUPERSEDES)
    decision = reconcile.decide(new("likes:tea", "I like tea"), None, [], [candidate])
    assert decision == Decision(Verdict.DIFFERENT, None, closed_by=newer)


def test_without_a_judge_only_what_leaves_no_doubt_is_the_same() -> None:
    same = known(1, "home", "I'm living in Osaka")
    assert reconcile.without_judge(new("home", "I live in Osaka"), same, 3.0) is Verdict.SAME
    other = known(1, "home", "I live in Kyoto")
    assert reconcile.without_judge(new("home", "I live in Osaka"), other, 9.0) is Verdict.DIFFERENT

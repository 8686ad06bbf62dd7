"""Exact phrase before all words before any word, in any script, fair across documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import cascade, tokens
from memory.cascade import Tier, ordered, phrases, tiers
from memory.ranking import Ranking


def tier(query: str, text: str) -> Tier:
    terms = [*tokens.query_terms(query).exact]
    having = tokens.terms(text)
    frequencies = np.array([[having.count(term) for term in terms]], dtype=np.float32)
    return Tier(int(tiers(query, [text], terms, frequencies)[0]))


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("paid leave", "Paid  leave is 20 days", Tier.PHRASE),
        ("paid leave", "The leave is not paid", Tier.ALL),
        ("paid leave", "He had to leave early", Tier.ANY),
        ("paid leave", "Nothing of the kind", Tier.NONE),
        ("aid leave", "paid leave", Tier.ANY),
        ("有給休暇", "有給休暇は二十日です", Tier.PHRASE),
        ("有給休暇", "休暇は有給とする", Tier.ALL),
        ("有給休暇", "夏の休暇について", Tier.ANY),
        ("有給休暇", "会議室の予約", Tier.NONE),
        ("漏電遮断", "漏電\n遮断機構をもつもの", Tier.PHRASE),
        ("ﾊﾟｽﾜｰﾄﾞ変更", "パスワード変更の手順", Tier.PHRASE),
        ('what is "net income"', "The net income rose", Tier.PHRASE),
        ('what is "net income"', "income, net of taxes", Tier.ALL),
        ("「個人情報」の扱い", "個人情報を守る", Tier.PHRASE),
    ],
)
def test_a_record_has_the_tier_of_the_words_it_shares(
    query: str, text: str, expected: Tier
) -> None:
    assert tier(query, text) is expected


def test_one_word_is_no_phrase() -> None:
    assert tier("leave", "leave") is Tier.ALL


def test_quoted_parts_are_the_phrases() -> None:
    assert phrases('"net income" and 「個人情報」') == ["net income", "個人情報"]
    assert phrases("What is it?") == ["what is it"]


def ranking(*scores: float) -> Ranking:
    values = np.array(scores)
    return Ranking(np.arange(len(values)), values, values, {"meaning": values})


def order(scores: list[float], row_tiers: list[Tier], sources: list[int]) -> list[int]:
    done = ordered(ranking(*scores), np.array(row_tiers), np.array(sources))
    assert np.allclose(sum(done.signals.values()), done.scores)
    return [int(row) for row in done.rows]


def test_of_equal_matches_the_better_tier_comes_first() -> None:
    row_tiers = [Tier.NONE, Tier.ANY, Tier.ALL, Tier.PHRASE]
    assert order([1.0, 1.0, 1.0, 1.0], row_tiers, [-1] * 4) == [3, 2, 0, 1]


def test_documents_that_are_equally_good_take_turns() -> None:
    assert order([5.0, 4.99, 4.98, 4.97], [Tier.ANY] * 4, [1, 1, 2, 2]) == [0, 2, 1, 3]


def test_a_much_better_document_keeps_its_places() -> None:
    assert order([9.0, 8.0, 7.0, 3.0], [Tier.ANY] * 4, [1, 1, 1, 2]) == [0, 1, 2, 3]


def test_what_is_no_document_waits_for_nothing() -> None:
    assert order([2.0, 1.9, 1.8], [Tier.ANY] * 3, [-1, -1, -1]) == [0, 1, 2]


@given(
    st.lists(
        st.tuples(st.floats(-5, 20), st.sampled_from(list(Tier)), st.integers(-1, 3)),
        max_size=12,
    )
)
def test_nothing_is_lost_or_doubled_and_scores_descend(
    rows: list[tuple[float, Tier, int]],
) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    done = ordered(
        ranking(*(row[0] for row in rows)),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.int64),
    )
    assert sorted(done.rows.tolist()) == list(range(len(rows)))
    assert list(done.scores) == sorted(done.scores, reverse=True)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_has_a_tier(query: str, text: str) -> None:
    assert tier(query, text) in Tier
    assert cascade.phrases(query) is not None

"""Fusing signals: evidence adds up, cues only order, and nothing is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.calibration import Calibration
from memory.ranking import (
    CONTEXT_TERM,
    OFFSETS,
    WORDS,
    Pool,
    Question,
    balance,
    choose_threshold,
    coverage,
    ends_as_question,
    names,
    rank,
    widen,
)

DIMENSION = 8
COLUMNS = len(OFFSETS) + 1
CALIBRATION = Calibration(np.zeros(DIMENSION, np.float32), 0.0, 0.2)


def unit(*parts: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A unit vector that begins with `parts`."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(parts)] = parts
    return vector / np.float32(np.linalg.norm(vector))


def pool(n: int, t: int = 1, **columns: Any) -> Pool:
    """n records of one kind without words, vectors, context or cues, but for `columns`."""
    blank: dict[str, Any] = {
        "candidate": np.ones(n, np.bool_),
        "groups": np.arange(n),
        "kinds": np.zeros(n, np.int64),
        "frequencies": np.zeros((n, t), np.float32),
        "lengths": np.full(n, 10),
        "vectors": np.zeros((n, DIMENSION), np.float32),
        "context": np.full((n, COLUMNS), -1),
        "speaker": np.zeros(n, np.bool_),
        "asks": np.zeros(n, np.bool_),
        "in_time": np.zeros(n, np.bool_),
    }
    given = {name: np.asarray(values).astype(blank[name].dtype) for name, values in columns.items()}
    return Pool(**{**blank, **given})


def conversation(n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """`Pool.context` of n turns of one session in order."""
    context = np.full((n, COLUMNS), -1)
    for column, offset in enumerate(OFFSETS):
        for row in range(n):
            if 0 <= row + offset < n:
                context[row, column] = row + offset
    return context


def asked(weights: list[float], vector: np.ndarray[Any, Any] | None = None) -> Question:
    return Question(np.array(weights), vector)


def turns(texts: list[str], query: str) -> tuple[Question, Pool]:
    """A conversation searched by words alone; every term is worth the same."""
    wanted = tokens.query_terms(query).exact
    found = [tokens.terms(text) for text in texts]
    counts = np.array([[words.count(term) for term in wanted] for words in found], np.float32)
    return asked([1.0] * len(wanted)), pool(
        len(texts),
        frequencies=counts,
        lengths=[len(words) for words in found],
        context=conversation(len(texts)),
        asks=[ends_as_question(text) for text in texts],
    )


FLOATS = st.floats(-1, 1, allow_nan=False, width=32)


@st.composite
def searches(draw: st.DrawFn) -> tuple[Question, Pool]:
    n = draw(st.integers(1, 12))
    t = draw(st.integers(1, 4))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = seed.normal(size=(n, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[seed.random(n) < 0.2] = 0
    weights = list(seed.uniform(0.1, 8, t))
    question = asked(weights, unit(*seed.normal(size=3)) if draw(st.booleans()) else None)
    return question, pool(
        n,
        candidate=seed.random(n) < 0.8,
        groups=seed.integers(0, n, n),
        kinds=seed.integers(0, 3, n),
        frequencies=seed.integers(0, 4, (n, t)).astype(np.float32),
        lengths=seed.integers(1, 300, n),
        vectors=vectors,
        context=seed.integers(-1, n, (n, COLUMNS)),
        speaker=seed.random(n) < 0.5,
        asks=seed.random(n) < 0.5,
        in_time=seed.random(n) < 0.5,
    )


@given(searches())
def test_signals_add_up_to_scores_and_the_first_three_to_the_evidence(
    search: tuple[Question, Pool],
) -> None:
    found = rank(*search, CALIBRATION)
    gave = found.signals
    np.testing.assert_allclose(sum(gave.values()), found.scores, atol=1e-6)
    evidence = gave["meaning"] + gave["words"] + gave["context"]
    np.testing.assert_allclose(evidence, found.evidence, atol=1e-6)


@given(searches())
def test_every_group_with_a_candidate_is_ranked_once_best_first(
    search: tuple[Question, Pool],
) -> None:
    question, records = search
    found = rank(question, records, CALIBRATION)
    ranked = records.groups[found.rows].tolist()
    assert len(ranked) == len(set(ranked))
    assert set(ranked) == set(records.groups[records.candidate].tolist())
    assert records.candidate[found.rows].all()
    assert (np.diff(found.scores) <= 0).all()


@given(searches(), st.randoms(use_true_random=False))
def test_the_order_of_the_pool_changes_no_score(search: tuple[Question, Pool], random: Any) -> None:
    question, records = search
    order = list(range(len(records.lengths)))
    random.shuffle(order)
    moved_to = np.argsort(order)
    shuffled = Pool(
        **{
            name: getattr(records, name)[order]
            for name in Pool.__dataclass_fields__
            if name != "context"
        },
        context=np.where(records.context >= 0, moved_to[records.context], -1)[order],
    )
    before, after = (rank(question, each, CALIBRATION) for each in (records, shuffled))
    np.testing.assert_allclose(before.scores, after.scores, atol=1e-5)


@given(searches())
def test_coverage_is_a_share(search: tuple[Question, Pool]) -> None:
    question, records = search
    shares = coverage(question, records, records.context)
    assert ((shares >= 0) & (shares < 1)).all()


def test_rare_words_count_more_than_common_ones() -> None:
    found = rank(asked([0.5, 4.0]), pool(2, frequencies=[[1, 0], [0, 1]]), CALIBRATION)
    assert found.rows.tolist() == [1, 0]


def test_a_long_record_needs_more_of_the_words_than_a_short_one_of_its_kind() -> None:
    records = pool(2, frequencies=[[1], [1]], lengths=[90, 10])
    assert rank(asked([1.0]), records, CALIBRATION).rows.tolist() == [1, 0]


def test_a_page_is_not_held_back_for_being_longer_than_messages() -> None:
    records = pool(3, kinds=[1, 1, 2], frequencies=[[1], [1], [1]], lengths=[10, 10, 400])
    scores = rank(asked([1.0]), records, CALIBRATION).scores
    assert scores[0] == scores[2]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (
            [
                "How was the weather on Sunday?",
                "Did you find a name for the kitten?",
                "Yes, we settled on Momo.",
                "The train was late again today.",
            ],
            "what name did they find for the kitten",
        ),
        (
            [
                "日曜日の天気はどうでしたか",
                "子猫の名前は決まりましたか？",
                "はい、モモにしました。",
                "今日も電車が遅れました。",
            ],
            "子猫の名前は何に決まったの",
        ),
    ],
)
def test_an_answer_without_the_words_of_the_question_is_found_behind_it(
    texts: list[str], query: str
) -> None:
    question, records = turns(texts, query)
    found = rank(question, records, CALIBRATION)
    assert set(found.rows[:2].tolist()) == {1, 2}
    at = found.rows.tolist().index(2)
    assert found.signals["context"][at] > 0
    assert found.signals["context"][at] > found.signals["words"][at]


def test_the_turn_after_a_match_gains_more_than_the_turn_before() -> None:
    records = pool(5, frequencies=[[0], [0], [1], [0], [0]], context=conversation(5))
    found = rank(asked([1.0]), records, CALIBRATION)
    assert found.rows.tolist() == [2, 3, 1, 4, 0]


def test_context_of_another_session_adds_nothing() -> None:
    records = pool(2, frequencies=[[1], [0]])
    assert rank(asked([1.0]), records, CALIBRATION).scores[1] == 0


def test_a_turn_that_is_context_only_helps_but_is_not_ranked() -> None:
    records = pool(2, candidate=[False, True], frequencies=[[1], [0]], context=conversation(2))
    found = rank(asked([1.0]), records, CALIBRATION)
    assert found.rows.tolist() == [1]
    assert found.scores[0] > 0


def test_meaning_is_read_with_the_turns_around_it() -> None:
    towards, away = unit(1), unit(0, 1)
    near = pool(2, vectors=[towards, away], context=conversation(2))
    found = rank(asked([1.0], towards), near, CALIBRATION)
    assert found.rows.tolist() == [0, 1]
    assert found.signals["meaning"][1] == 0
    assert found.signals["context"][1] > 0


def test_a_passage_gains_by_the_words_of_its_chunk() -> None:
    records = pool(
        3,
        candidate=[True, True, False],
        kinds=[3, 3, 2],
        frequencies=[[1, 0], [1, 0], [1, 1]],
        context=[[-1, -1, -1, -1, -1], [-1, -1, -1, -1, 2], [-1] * 5],
    )
    assert rank(asked([1.0, 1.0]), records, CALIBRATION).rows.tolist() == [1, 0]


def test_a_record_found_by_words_alone_is_kept_while_its_vector_is_pending() -> None:
    question = asked([1.0], unit(1))
    records = pool(
        3, frequencies=[[0], [0], [3]], vectors=[unit(1, 1), unit(1, 2), np.zeros(DIMENSION)]
    )
    found = rank(question, records, CALIBRATION)
    assert found.rows[0] == 2
    known = found.signals["meaning"][1:]
    assert found.signals["meaning"][0] == pytest.approx(np.median(known))


def test_without_a_model_words_decide() -> None:
    records = pool(2, frequencies=[[0], [1]], vectors=[unit(1), unit(0, 1)])
    found = rank(asked([1.0]), records, CALIBRATION)
    assert found.rows.tolist() == [1, 0]
    assert not found.signals["meaning"].any()


def test_without_words_meaning_decides() -> None:
    records = pool(2, t=0, vectors=[unit(0, 1), unit(1)])
    found = rank(asked([], unit(1)), records, CALIBRATION)
    assert found.rows.tolist() == [1, 0]
    assert found.scores[0] == pytest.approx(1 / CALIBRATION.background_std)


def test_nothing_in_the_pool_is_nothing_found() -> None:
    found = rank(asked([1.0], unit(1)), pool(0), CALIBRATION)
    assert len(found.rows) == 0
    assert not found.relevant(-100.0)


@pytest.mark.parametrize(("cue", "first"), [("speaker", 1), ("asks", 0), ("in_time", 1)])
def test_a_cue_orders_equal_evidence_and_is_none_itself(cue: str, first: int) -> None:
    columns: dict[str, Any] = {cue: [False, True]}
    records = pool(2, frequencies=[[1], [1]], **columns)
    found = rank(asked([1.0]), records, CALIBRATION)
    assert found.rows[0] == first
    assert found.evidence[0] == found.evidence[1]


def test_a_match_beats_the_speaker_cue() -> None:
    records = pool(2, frequencies=[[0], [1]], speaker=[True, False])
    assert rank(asked([1.0]), records, CALIBRATION).rows.tolist() == [1, 0]


def test_equal_scores_keep_the_order_of_the_pool() -> None:
    assert rank(asked([1.0]), pool(4), CALIBRATION).rows.tolist() == [0, 1, 2, 3]


def test_a_fact_and_its_message_take_one_place() -> None:
    records = pool(3, groups=[7, 7, 8], frequencies=[[1], [4], [2]])
    assert rank(asked([1.0]), records, CALIBRATION).rows.tolist() == [1, 2]


def test_relevance_is_decided_by_evidence_and_not_by_cues() -> None:
    found = rank(asked([1.0]), pool(1, in_time=[True], speaker=[True]), CALIBRATION)
    assert found.scores[0] > 1
    assert not found.relevant(1.0)
    full = rank(asked([1.0]), pool(1, frequencies=[[100]]), CALIBRATION)
    assert full.relevant(0.9 * WORDS)


def test_the_best_of_each_kind_with_evidence_is_shown() -> None:
    kinds = np.array([1, 1, 1, 1, 0, 2])
    records = pool(6, kinds=kinds, frequencies=[[9], [8], [7], [6], [2], [0]])
    found = rank(asked([1.0]), records, CALIBRATION)
    ranked = kinds[found.rows]
    shown = balance(found, ranked, 3, threshold=1.0)
    assert shown.tolist() == [0, 1, 4]  # the fact has evidence, the chunk has none
    assert balance(found, ranked, 3, threshold=99.0).tolist() == [0, 1, 2]


@given(searches(), st.integers(0, 15), st.floats(-5, 5))
def test_balancing_shows_as_many_as_asked_for_and_always_the_best(
    search: tuple[Question, Pool], k: int, threshold: float
) -> None:
    question, records = search
    found = rank(question, records, CALIBRATION)
    shown = balance(found, records.kinds[found.rows], k, threshold).tolist()
    assert shown == sorted(set(shown))
    assert len(shown) == min(k, len(found.rows))


def test_a_threshold_lies_between_what_it_separates() -> None:
    assert choose_threshold(np.array([5.0, 6.0, 7.0]), np.array([1.0, 2.0])) == 3.5


def test_a_threshold_weighs_false_answers_and_false_refusals_alike() -> None:
    answerable = np.array([2.0, 4.0, 5.0, 6.0])
    unanswerable = np.array([1.0, 1.5, 1.8, 4.5])
    threshold = choose_threshold(answerable, unanswerable)
    assert (answerable < threshold).sum() == 1
    assert (unanswerable >= threshold).sum() == 1


def test_a_threshold_needs_questions_of_both_sorts() -> None:
    with pytest.raises(ValueError, match="unanswerable"):
        choose_threshold(np.array([1.0]), np.array([]))


@pytest.mark.parametrize(
    "text",
    ["Where is it?", "本当？", "どこですか。", "行きましたか", '"Really?"', "いつでしょうか」"],
)
def test_a_question_ends_as_one(text: str) -> None:
    assert ends_as_question(text)


@pytest.mark.parametrize("text", ["It is here.", "ここです。", "Why? Because.", "静か", "", "ほか"])
def test_a_statement_does_not_end_as_a_question(text: str) -> None:
    assert not ends_as_question(text)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What does Hanako like?", "Hanako Sato"),
        ("what did HANAKO's boss say", "hanako"),
        ("ｈａｎａｋｏ lives where", "Hanako"),
        ("佐藤さんはどこに住んでいますか", "佐藤 花子"),
        ("花子の趣味は？", "佐藤・花子"),
    ],
)
def test_part_of_a_name_is_enough(question: str, name: str) -> None:
    assert names(tokens.normalised(question), name)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What does Anna like?", "Ann"),
        ("What is a plan B?", "B. Jones"),
        ("鈴木さんはどこ？", "佐藤"),
        ("Where is it?", ""),
    ],
)
def test_other_words_are_not_a_name(question: str, name: str) -> None:
    assert not names(tokens.normalised(question), name)


@pytest.mark.parametrize("question", ["Where do I live?", "what's my job", "私の誕生日は？"])
def test_i_am_the_one_who_asks(question: str) -> None:
    assert names(tokens.normalised(question), "Kim", is_asker=True)
    assert not names(tokens.normalised(question), "Kim")


def test_words_of_earlier_turns_count_for_less() -> None:
    weights = widen([2.0], [3.0, 1.0])
    assert weights.tolist() == pytest.approx([2.0, 3 * CONTEXT_TERM, CONTEXT_TERM])
    assert widen([2.0], []).tolist() == [2.0]

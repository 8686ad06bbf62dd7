"""Which base a question is for: by chunks and means, with an honest confidence."""

from __future__ import annotations

import numpy as np
import pytest

from memory import routing
from memory.routing import Choice, Evidence
from memory.store.routing_feedback import Verdict
from memory.types import Vector

SIZE = 32
LANGUAGE = np.zeros(SIZE, dtype=np.float32)


def near(axis: int, *, noise: float = 0.3, seed: int = 0) -> Vector:
    made = np.random.default_rng([axis, seed]).standard_normal(SIZE) * noise / np.sqrt(SIZE)
    made[axis] += 1
    unit: Vector = (made / np.linalg.norm(made)).astype(np.float32)
    return unit


def base(axis: int, count: int = 5) -> Evidence:
    vectors = np.stack([near(axis, seed=n + 1) for n in range(count)])
    return Evidence(vectors, np.zeros(count), vectors.mean(axis=0), count)


BASES = {1: base(1), 2: base(2), 3: base(3)}


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_a_question_goes_to_the_base_that_it_is_near(axis: int) -> None:
    choices = routing.route(near(axis), BASES, LANGUAGE)
    assert choices[0].base_id == axis
    assert choices[0].confidence > 80
    assert choices[0].distance is not None
    assert choices[0].distance < min(c.distance for c in choices[1:] if c.distance is not None)
    assert not routing.out_of_scope(choices)


def test_confidences_are_percent_and_never_more_than_100_together() -> None:
    for axis in range(SIZE):
        choices = routing.route(near(axis), BASES, LANGUAGE)
        assert all(0 <= choice.confidence <= 100 for choice in choices)
        assert sum(choice.confidence for choice in choices) <= 100 + 1e-9
        assert [c.score for c in choices] == sorted((c.score for c in choices), reverse=True)


def test_a_question_for_no_base_is_out_of_scope() -> None:
    choices = routing.route(near(20), BASES, LANGUAGE)
    assert routing.out_of_scope(choices)
    assert choices[0].confidence < 50


def test_between_two_bases_both_are_searched() -> None:
    both = near(1) + near(2)
    choices = routing.route((both / np.linalg.norm(both)).astype(np.float32), BASES, LANGUAGE)
    assert {choice.base_id for choice in routing.close(choices)} == {1, 2}


def test_words_decide_while_no_model_can_be_asked() -> None:
    none = np.zeros((2, 0), dtype=np.float32)
    evidence = {
        1: Evidence(none, np.array([0.1, 0.0]), None, 0),
        2: Evidence(none, np.array([0.9, 0.4]), None, 0),
    }
    choices = routing.route(None, evidence, None)
    assert [choice.base_id for choice in choices] == [2, 1]
    assert choices[0].distance is None


def test_no_bases_no_choice() -> None:
    assert routing.route(near(1), {}, LANGUAGE) == []
    assert routing.out_of_scope([])
    assert routing.close([]) == []


def test_a_base_of_which_nothing_was_found_comes_last() -> None:
    empty = Evidence(np.zeros((0, SIZE), dtype=np.float32), np.zeros(0), None, 0)
    choices = routing.route(near(1), {9: empty, **BASES}, LANGUAGE)
    assert choices[-1].base_id == 9


@pytest.mark.parametrize(("rating", "first"), [(1, 2), (-1, 1)])
def test_feedback_moves_questions_like_the_one_it_was_given_on(rating: int, first: int) -> None:
    both = near(1) * 1.02 + near(2)
    question = (both / np.linalg.norm(both)).astype(np.float32)
    moved = routing.route(question, BASES, LANGUAGE, [Verdict(2, rating, question)])
    assert moved[0].base_id == first
    plain = routing.route(near(3), BASES, LANGUAGE)
    assert routing.route(near(3), BASES, LANGUAGE, [Verdict(2, rating, question)]) == plain


def test_much_feedback_does_not_outweigh_all_evidence() -> None:
    question = near(1)
    many = [Verdict(3, 1, question)] * 100
    assert routing.route(question, BASES, LANGUAGE, many)[0].base_id == 1


def test_the_nearest_mean_is_the_method_to_compare_with() -> None:
    means = {at: each.mean for at, each in BASES.items() if each.mean is not None}
    choices: list[Choice] = routing.nearest_mean(near(2), means)
    assert choices[0].base_id == 2
    assert sum(choice.confidence for choice in choices) == pytest.approx(100)
    shares = np.exp([-10 * (c.distance or 0) for c in choices])
    assert [c.confidence for c in choices] == pytest.approx(100 * shares / shares.sum())

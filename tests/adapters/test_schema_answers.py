"""Parsing answers: what was meant is found, and nothing else is."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from adapters.schema_answers import RawAnswer, UnfitAnswer, parse_answer


class Fact(BaseModel, extra="forbid"):
    text: str
    tags: list[str] = []
    certain: bool = True


texts = st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace").decode())
facts = st.builds(Fact, text=texts, tags=st.lists(texts, max_size=3), certain=st.booleans())


@given(facts, st.booleans(), st.integers(0, 3))
def test_any_answer_survives_being_written_as_json(fact: Fact, ascii_: bool, indent: int) -> None:
    written = json.dumps(fact.model_dump(), ensure_ascii=ascii_, indent=indent or None)
    assert parse_answer(RawAnswer(written), Fact) == fact


@given(
    facts,
    st.text(alphabet="ab 。、:[]()*`\n猫", max_size=50),
    st.text(alphabet="ab 。\n犬", max_size=50),
)
def test_prose_around_an_answer_changes_nothing(fact: Fact, before: str, after: str) -> None:
    assert parse_answer(RawAnswer(before + fact.model_dump_json() + after), Fact) == fact


@given(st.text(max_size=200))
def test_no_text_does_anything_but_fit_or_not(text: str) -> None:
    with contextlib.suppress(UnfitAnswer):
        assert isinstance(parse_answer(RawAnswer(text), Fact), Fact)


@given(facts, st.data())
def test_a_part_of_an_answer_is_never_taken_for_the_whole(fact: Fact, data: st.DataObject) -> None:
    written = fact.model_dump_json()
    cut = data.draw(st.integers(0, len(written) - 1))
    with pytest.raises(UnfitAnswer):
        parse_answer(RawAnswer(written[:cut], cut=True), Fact)


@pytest.mark.parametrize(
    "text", ["{" * 100_000, '{"text":' * 20_000, "[" * 100_000, "\\" * 100_000]
)
def test_hostile_answers_are_refused(text: str) -> None:
    with pytest.raises(UnfitAnswer):
        parse_answer(RawAnswer(text), Fact)


def test_an_object_quoted_from_the_prompt_is_not_chosen_by_chance() -> None:
    quoted = '{"text": "ignore what you know"}'
    with pytest.raises(UnfitAnswer, match="several"):
        parse_answer(RawAnswer(f'They wrote {quoted}. Mine: {{"text": "猫が好き"}}'), Fact)


def test_what_does_not_fit_is_told_to_the_model_but_not_to_the_log() -> None:
    with pytest.raises(UnfitAnswer) as caught:
        parse_answer(RawAnswer('{"text": 5, "秘密": 1}'), Fact)
    assert "text: Input should be a valid string" in caught.value.told
    assert "秘密" not in str(caught.value)

"""`compare`, `same_without_model` and `supersedes`: which facts are one, and which never."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.analysis import read
from memory.guards import Guard, compare, same_without_model, supersedes

_DATA = Path(__file__).parents[1] / "data"
_ALIKE = 5.0
"""A similarity at which a model would call anything the same."""

_GUARDS = {
    "negation": Guard.NEGATION,
    "number": Guard.NUMBER,
    "date": Guard.DATE,
    "name": Guard.NAME,
    "antonym": Guard.ANTONYM,
    "role_swap": Guard.ROLE_SWAP,
    "uncertain": Guard.CERTAINTY,
}
_MIN_RECALL = {"paraphrase": 0.8, "politeness": 0.95, "word_order": 0.9, "spelling": 0.9}


@cache
def _pairs(language: str) -> tuple[dict[str, str], ...]:
    lines = (_DATA / f"pairs_{language}.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def _of_kind(language: str, kind: str) -> list[dict[str, str]]:
    return [pair for pair in _pairs(language) if pair["kind"] == kind]


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", [*_GUARDS, *_MIN_RECALL])
def test_the_pair_set_has_thirty_of_each_kind(language: str, kind: str) -> None:
    assert len(_of_kind(language, kind)) >= 30


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", _GUARDS)
def test_guarded_kinds_are_never_the_same_however_alike(language: str, kind: str) -> None:
    for pair in _of_kind(language, kind):
        for a, b in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            assert not compare(a, b, language).can_be_same, (a, b)
            assert not same_without_model(a, b, _ALIKE, language), (a, b)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", _GUARDS)
def test_the_guard_that_fires_is_mostly_the_one_meant(language: str, kind: str) -> None:
    pairs = _of_kind(language, kind)
    named = [p for p in pairs if _GUARDS[kind] in compare(p["a"], p["b"], language).guards]
    assert len(named) >= 0.7 * len(pairs)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", _MIN_RECALL)
def test_the_same_fact_in_other_words_is_found(language: str, kind: str) -> None:
    pairs = _of_kind(language, kind)
    found = [p for p in pairs if same_without_model(p["a"], p["b"], _ALIKE, language)]
    assert len(found) >= _MIN_RECALL[kind] * len(pairs)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("kind", _MIN_RECALL)
def test_guards_leave_paraphrases_to_the_judge(language: str, kind: str) -> None:
    pairs = _of_kind(language, kind)
    barred = [p for p in pairs if not compare(p["a"], p["b"], language).can_be_same]
    assert len(barred) <= 0.05 * len(pairs)


@pytest.mark.parametrize(
    ("a", "b", "language"),
    [
        ("likes cats", "loves cats", "en"),
        ("I live in Osaka", "In Osaka I live", "en"),
        ("猫が好きです", "猫が大好きだ", "ja"),
        ("大阪に住んでいます", "大阪に住んでいる", "ja"),
        ("猫と犬を飼っています", "犬と猫を飼っています", "ja"),
    ],
)
def test_named_examples_of_the_same(a: str, b: str, language: str) -> None:
    assert same_without_model(a, b, _ALIKE, language)


@pytest.mark.parametrize(
    ("a", "b", "language"),
    [
        ("I like cats", "I like black cats", "en"),
        ("Taro is a chef", "Taro is a chef in Paris", "en"),
        ("A man is sitting", "A man is dancing", "en"),
        ("I told Ken about Aya", "I told Aya about Ken", "en"),
        ("I like dogs more than cats", "I like cats more than dogs", "en"),
        ("I lent him my bike", "He lent me his bike", "en"),
        ("I lived in Rome", "I live in Rome", "en"),
        ("The dog is in the box", "The dog is behind the box", "en"),
        ("Only Ken has access", "Ken has access", "en"),
        ("All tests pass", "Some tests pass", "en"),
        ("猫が好きです", "黒い猫が好きです", "ja"),
        ("男性が歌っている", "男性が踊っている", "ja"),
        ("私が彼に自転車を貸した", "彼が私に自転車を貸した", "ja"),
        ("三対一で勝った", "三対二で勝った", "ja"),
        ("デモが動くといいな", "デモが動く", "ja"),
        ("犬を飼いたがっている", "犬を飼っている", "ja"),
        ("ローマに住んでいた", "ローマに住んでいる", "ja"),
        ("健だけが権限を持つ", "健が権限を持つ", "ja"),
        ("犬が好きです", "映画館に行きました", "ja"),
    ],
)
def test_what_says_more_or_something_else_is_kept(a: str, b: str, language: str) -> None:
    assert not same_without_model(a, b, _ALIKE, language)


def test_unlike_embeddings_outweigh_like_words() -> None:
    assert not same_without_model("I like cats", "I love cats", 0.5, "en")


@settings(deadline=None)
@given(
    st.sampled_from([p["a"] for p in (*_pairs("en"), *_pairs("ja"))]),
    st.sampled_from([p["b"] for p in (*_pairs("en"), *_pairs("ja"))]),
    st.sampled_from(["en", "ja"]),
)
def test_the_comparison_is_symmetric(a: str, b: str, language: str) -> None:
    there, back = compare(a, b, language), compare(b, a, language)
    assert there.guards == back.guards


@settings(deadline=None)
@given(st.sampled_from([p["a"] for p in (*_pairs("en"), *_pairs("ja"))]) | st.text(max_size=40))
def test_nothing_contradicts_itself(text: str) -> None:
    for language in ("en", "ja"):
        assert compare(text, text, language).can_be_same


@pytest.mark.parametrize(
    ("older", "newer", "ends"),
    [
        ("My name is Li", "My name is Lin", True),
        ("I live in Osaka", "I moved to Kyoto", True),
        ("My favourite colour is blue", "Red is my favourite colour", True),
        ("The deadline for the report is Monday", "The report deadline is Friday", True),
        ("I like cats", "I no longer like cats", True),
        ("I like cats", "I hate cats", True),
        ("I live in Osaka", "I don't live in Osaka anymore", True),
        ("I live in Osaka", "I live in Osaka", False),
        ("I live in Osaka", "I don't live in Kyoto", False),
        ("I like cats", "I like dogs", False),
        ("I live in Osaka", "I may move to Kyoto", False),
        ("I live in Osaka", "I used to live in Kyoto", False),
        ("I live in Osaka", "John lives in Kyoto", False),
        ("My favourite colour is blue", "My favourite food is sushi", False),
        ("The deadline for the report is Monday", "The deadline for the slides is Friday", False),
        ("I live in Osaka", "I work as a nurse", False),
        ("He lives in Paris", "She lives in Rome", False),
        ("彼はパリに住んでいます", "彼女はローマに住んでいます", False),
        ("名前は李です", "名前は林です", True),
        ("大阪に住んでいます", "京都に引っ越しました", True),
        ("好きな色は青です", "好きな色は赤です", True),
        ("猫が好きです", "猫はもう好きではありません", True),
        ("猫が好きです", "犬が好きです", False),
        ("大阪に住んでいます", "京都に引っ越すかもしれません", False),
        ("大阪に住んでいます", "田中さんは京都に住んでいます", False),
    ],
)
def test_a_later_value_of_one_attribute_ends_the_earlier(
    older: str, newer: str, ends: bool
) -> None:
    assert supersedes(read(older), read(newer)) is ends


_SHARED = Path(__file__).parents[2] / "../shared/eval/pairs"


@pytest.mark.parametrize(("language", "recall"), [("en", 0.6), ("ja", 0.6)])
def test_public_pairs_no_false_merge_of_guarded_kinds(language: str, recall: float) -> None:
    path = _SHARED / f"dup_pairs_{language}.jsonl"
    if not path.exists():
        pytest.skip("the evaluation data is not on this machine")
    pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    merged = [p for p in pairs if same_without_model(p["a"], p["b"], _ALIKE, language)]
    wrong = [p for p in merged if p["label"] == "DIFFERENT"]
    different = [p for p in pairs if p["label"] == "DIFFERENT"]
    assert not [p["id"] for p in wrong if p["kind"] != "contradiction_other_value"]
    assert len(wrong) <= 0.02 * len(different)
    assert len(merged) - len(wrong) >= recall * (len(pairs) - len(different))


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("I like C.", "I like C++.", "en"),
        ("I like C++.", "I like C#.", "en"),
        ("The build is 🟢.", "The build is 🔴.", "en"),
        ("My mood is 😀.", "My mood is 😢.", "en"),
        ("I like 🍣.", "I like 🍺.", "en"),
        ("I like 🍣.", "I like thing1.", "en"),
        ("I like X.", "I like Y.", "en"),
        ("🍣が好きです。", "🍺が好きです。", "ja"),
        ("C言語が好きです。", "C++が好きです。", "ja"),
        ("ビルドは🟢です。", "ビルドは🔴です。", "ja"),
    ],
)
def test_letters_and_symbols_tell_facts_apart(one: str, other: str, language: str) -> None:
    assert not same_without_model(one, other, 5.0, language)
    assert not same_without_model(other, one, 5.0, language)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("I love cats", "I love cats ❤️", "en"),
        ("I like C++", "I like Ｃ＋＋.", "en"),
        ("I like 🍣", "I like 🍣!", "en"),
        ("猫が好きです", "猫が好きです🐱", "ja"),
    ],
)
def test_a_picture_that_only_decorates_tells_nothing_apart(
    one: str, other: str, language: str
) -> None:
    assert same_without_model(one, other, 5.0, language)

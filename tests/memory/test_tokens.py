"""Terms of keyword search: what is written differently is the same, and every word is found."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tokens import (
    FORM,
    MAX_CHARACTERS,
    MAX_QUERY_TERMS,
    MAX_WORD,
    QueryTerms,
    normalised,
    query_terms,
    terms,
)

CJK = st.sampled_from(
    "東京都国際連合猫犬林檎食飲行来見山田太郎花子々〆"
    "あいうえおかがきぎくねこのはをにでとらりるれろんっゃー"
    "アイウエオカガキギクネコノハヲニデトラリルレロンッャヴ"
    "한국어中国话ไทย"
)
LATIN = st.text(st.sampled_from("abcdeghilmnorstuyABCÉéüßñ0123456789"), min_size=1, max_size=20)
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=300)


def finds(query: str, text: str) -> bool:
    """Whether at least one term of the query leads to the text."""
    wanted, held = query_terms(query), set(terms(text))
    return not held.isdisjoint(wanted.exact) or any(
        term.startswith(prefix) for prefix in wanted.prefixes for term in held
    )


@given(ANYTHING)
def test_any_text_gives_clean_bounded_terms(text: str) -> None:
    query = query_terms(text)
    for term in [*terms(text), *query.exact, *query.prefixes]:
        assert 0 < len(term) <= MAX_WORD + len(FORM)
        assert term.encode()  # no lone surrogates
        assert not any(character.isspace() or character < " " for character in term)


@given(ANYTHING)
def test_a_text_finds_itself_whenever_it_has_terms(text: str) -> None:
    assert finds(text, text) == bool(terms(text))


@given(st.data(), st.text(CJK, min_size=2, max_size=30))
def test_any_one_or_two_characters_of_a_text_without_spaces_are_found(
    data: st.DataObject, text: str
) -> None:
    length = data.draw(st.integers(1, 2))
    start = data.draw(st.integers(0, len(text) - length))
    sought = text[start : start + length]
    assert finds(sought, f"{text}。ok"), sought


@given(LATIN, st.lists(LATIN, max_size=5), st.lists(LATIN, max_size=5), st.text(CJK, max_size=3))
def test_any_word_is_found_among_others(
    word: str, before: list[str], after: list[str], japanese: str
) -> None:
    assert finds(word, f"{' '.join(before)} {word}{japanese} {' '.join(after)}")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("VPN", "ＶＰＮにつなぐ"),
        ("マニュアル", "ﾏﾆｭｱﾙを読む"),
        ("がっこう", "か\u3099っこう"),
        ("がっこう", "か゛っこう"),
        ("ねこ", "ネコがいる"),
        ("リンゴ", "りんごを食べた"),
        ("長野", "⻑野に行く"),
        ("民", "⺠のこと"),
        ("日本", "⽇本の夏"),
        ("葛城", "葛\U000e0100城市"),
        ("東京", "東\u200b京\u200d都"),
        ("STRASSE", "straße"),
        ("cafe", "the Café on the corner"),
        ("café", "the cafe on the corner"),
        ("moved", "she is moving"),
        ("cities", "a city"),
        ("iPhone", "my iphone15 broke"),
        ("1000", "1,000 yen"),
        ("3.5", "version 3.5 is out"),
        ("C++", "I write c++ and Rust"),
        ("🍣", "寿司🍣最高"),
        ("👨‍👩‍👧", "my family 👨‍👩‍👧"),
        ("食べる", "昨日は寿司を食べました"),
        ("猫", "子猫を飼う"),
        ("サーバ", "サーバーを再起動した"),
        ("引越し", "引っ越しの準備"),
    ],
)
def test_different_writing_of_the_same_is_found(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize("word", ["ed", "red", "bed", "used", "ring", "as", "is", "news"])
def test_stemming_leaves_short_words_whole(word: str) -> None:
    assert all(len(term) >= 2 for term in terms(word))
    assert finds(word, word)


def test_a_dictionary_form_is_marked_and_is_no_bigram() -> None:
    assert f"{FORM}食べる" in terms("食べました")
    assert "食べる" not in terms("食べました")


def test_stop_words_are_dropped_from_a_question_that_has_more() -> None:
    assert query_terms("Where does Alice live?").exact == ("alic", "live")
    assert not {"です", "すか", "=何"} & set(query_terms("猫の名前は何ですか").exact)


def test_stop_words_are_kept_when_nothing_else_is_asked() -> None:
    assert query_terms("what is it").exact == ("what", "is", "it")
    assert query_terms("これは").exact


def test_a_name_in_hiragana_survives_being_read_as_grammar() -> None:
    assert {"たろ", "ろう"} <= set(query_terms("たろうの家はどこ").exact)


def test_a_question_of_one_character_is_a_prefix() -> None:
    assert query_terms("猫").prefixes == ("猫",)
    assert query_terms("LINEは").prefixes == ()  # a particle beside a word says nothing


def test_text_without_words_has_no_terms() -> None:
    assert terms("!? … \x00\x1f \u200b\ufeff 。、") == []
    assert not query_terms("")
    assert QueryTerms(()) == query_terms("\ud800")


def test_long_text_is_cut_where_a_message_cannot_reach() -> None:
    kanji = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(100_000))
    assert len(set(terms(kanji))) <= 3 * MAX_CHARACTERS
    assert finds(kanji[MAX_CHARACTERS - 3 : MAX_CHARACTERS - 1], kanji)
    assert len(terms("word " * 20_000)) == MAX_CHARACTERS // len("word ")


def test_text_without_sentence_ends_longer_than_the_analyser_takes_is_indexed() -> None:
    assert terms("あ" * 100_000).count("ああ") == MAX_CHARACTERS - 1


def test_a_pasted_log_is_searched_by_its_first_and_last_terms() -> None:
    query = query_terms("first " + " ".join(f"x{number}y" for number in range(5_000)) + " last")
    assert len(query.exact) == MAX_QUERY_TERMS
    assert query.exact[0] == "first"
    assert query.exact[-1] == "last"


def test_normalising_leaves_one_writing() -> None:
    assert normalised("ＡＢＣ\tﾃﾞｰﾀ㍿\x00①") == "abc データ株式会社 1"


def test_threads_get_the_terms_that_one_thread_gets() -> None:
    texts = [f"{number}人が東京から引っ越しました。Alice moved too" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == [terms(text) for text in texts]

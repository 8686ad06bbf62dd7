"""Text is decoded without being told the encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.reading.encoding import decode
from memory.reading.garbage import is_garbage

NOTES = [
    "会議は三時からです",
    "パスワードは引き出しの中にあるノートに書いてあります。必ず元に戻すこと。",
    "①受付で名前を書く。②名札をつける（帰るときに返す）。担当：佐藤、内線１２３。",
]


@pytest.mark.parametrize("text", NOTES)
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp932", "euc_jis_2004"],
)
def test_japanese_note_comes_out_whole(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, True)


@pytest.mark.parametrize("encoding", ["iso2022_jp", "euc_jp"])
def test_old_unix_and_mail_encodings_come_out_whole(encoding: str) -> None:
    text = "明日の朝礼は中止します。"
    assert decode(text.encode(encoding)) == (text, True)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("It’s a “quoted” café — done", "cp1252"),
        ("Les élèves à l'école ont mangé des crêpes à Noël.", "cp1252"),
        ("Встреча перенесена на вторник, подтвердите участие.", "cp1251"),
        ("회의가 화요일 오후 세 시로 변경되었습니다. 확인해 주세요.", "euc_kr"),
        ("会议改到星期二下午三点，请大家准时参加。", "gb18030"),
    ],
)
def test_other_languages_come_out_whole(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, True)


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp"])
def test_file_cut_inside_a_character_loses_only_that_one(encoding: str) -> None:
    text, certain = decode(NOTES[1].replace("。", "").encode(encoding)[:-1])
    assert text.rstrip("\ufffd") == NOTES[1].replace("。", "")[:-1]
    assert not certain


@given(st.text(alphabet="あいうカタナ漢字東京、。abc 123", min_size=8, max_size=200))
def test_utf8_is_never_taken_for_anything_else(text: str) -> None:
    assert decode(text.encode()) == (text, True)


@given(st.binary(max_size=400))
def test_any_bytes_give_text(data: bytes) -> None:
    text, _ = decode(data)
    assert isinstance(text, str)


@pytest.mark.parametrize(
    "text",
    [
        "ɹɹংΘͨ͘͠ͱ͍;ݱ\u09c5၊ఆ͞Εͨ༗ػަྲྀి౯ͷͻͱͭͷ੨͍র໌Ͱ͢",  # glyph numbers as codes
        "\ue001\ue002\ue003\ue004\ue005 text",
        "\ufffd\ufffd\ufffdabc\ufffd",
        "\x01\x03\x07\x0e\x0f\x11",
    ],
)
def test_garbage_is_recognised(text: str) -> None:
    assert is_garbage(text)


@pytest.mark.parametrize(
    "text",
    [
        *NOTES,
        "",
        "The API returned 200 OK; see §4.2 (α=0.05, Δt≈3 µs).",
        "English: Hello Russian: Привет, мир Thai: สวัสดี Japanese: こんにちは世界",
        "ＶＰＮの設定はﾏﾆｭｱﾙ第３章を参照。⼀つずつ確認する。",
        "🎉🎉 Party 🍣 お寿司",
        "| 月 | Sales |\n| --- | --- |\n| 五月 | 900 |",
    ],
)
def test_real_text_is_no_garbage(text: str) -> None:
    assert not is_garbage(text)


def test_latin1_declaration_means_the_windows_code_page() -> None:
    assert decode("“déjà vu”".encode("cp1252"), "ISO-8859-1") == ("“déjà vu”", True)

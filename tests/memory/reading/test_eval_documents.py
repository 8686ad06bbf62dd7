"""Every real file of the shared evaluation set gives what its manifest expects."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.reading import (
    Document,
    ReadingLimits,
    Reason,
    UnreadableDocument,
    read_document,
    read_in_subprocess,
)

FOLDER = Path(__file__).parents[3] / "../shared/eval/docs"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the shared evaluation documents are not here"
)


def text_of(document: Document) -> str:
    """All text in NFKC without any white space, for comparing across line breaks."""
    text = "".join(page.text for page in document.pages)
    return "".join(unicodedata.normalize("NFKC", text).split())


def says(*parts: str) -> Callable[[Document | Reason], None]:
    """The parts occur in this order."""

    def check(outcome: Document | Reason) -> None:
        assert isinstance(outcome, Document)
        text, position = text_of(outcome), 0
        for part in parts:
            wanted = "".join(unicodedata.normalize("NFKC", part).split())
            position = text.index(wanted, position) + len(wanted)

    return check


def refused(*reasons: Reason) -> Callable[[Document | Reason], None]:
    def check(outcome: Document | Reason) -> None:
        assert outcome in reasons

    return check


def ruby_once(outcome: Document | Reason) -> None:
    says("募集要項", "委託業務の名称")(outcome)
    assert isinstance(outcome, Document)
    assert "いたく" not in text_of(outcome)
    assert any("| --- |" in page.text for page in outcome.pages)


def tokyo_once(outcome: Document | Reason) -> None:
    assert isinstance(outcome, Document)
    assert text_of(outcome) == "東京"


def readable_or_password(outcome: Document | Reason) -> None:
    if outcome is not Reason.PASSWORD:
        says("pdf encryption test")(outcome)


EXPECTED: dict[str, Callable[[Document | Reason], None]] = {
    "ja_vertical_pdfjs.pdf": says("あいうえお", "日本語"),
    "ja_vertical_jo_miyazawa.pdf": says(
        "わたくしといふ現象は假定された有機交流電燈のひとつの青い照明です",
        "（ひかりはたもち、その電燈は失はれ）これらは二十二箇月の過去とかんずる方角から",
        "すべてこれらの命題は心象や時間それ自身の性質として第四次延長のなかで主張されます",
    ),
    "ja_vertical_ihatove.pdf": says(*["あのイーハトーヴォのすきとおった風"] * 9),
    "ja_noembed_eucjp.pdf": says("あいうえお"),
    "ja_horizontal_legal.pdf": says("電線接続端子部が次のいずれにも該当しないとき。", "０．７５"),
    "ja_horizontal_linebreaks.pdf": says("漏電遮断特性を持たせたもの）と検知機構を一つの箱内"),
    "multilang.pdf": says("Hello World", "Привет, мир", "こんにちは世界"),
    "encrypted_user_pw_empty_owner_pw.pdf": readable_or_password,
    "encrypted_empty_password.pdf": says("pdf encryption test"),
    "encrypted_owner_only.pdf": says("pdf encryption test"),
    "scanned_no_text.pdf": refused(Reason.SCANNED),
    "malformed_header_only.pdf": refused(Reason.CORRUPT),
    "malformed_fuzzed.pdf": refused(Reason.CORRUPT, Reason.EMPTY),
    "corrupted_but_readable.pdf": says("Beautiful is better than ugly.", "honking great idea"),
    "docx_small_table.docx": says("| Top left | Top right |", "| Bottom left | Bottom right |"),
    "docx_utf8_bom.docx": says("This XML has a byte order mark."),
    "docx_ja_government_ruby_tables.docx": ruby_once,
    "docx_ja_ruby_min.docx": tokyo_once,
    "docx_password_protected.docx": refused(Reason.PASSWORD),
    "cp932_mskanji.csv": says("| 名前 | 年齢 | 住所 |", "| 髙橋淳 | 35 | 名古屋 |"),
    "txt_euc_jp.txt": says("プロジェクトの概要", "内容の概略が記述されています。"),
}


def manifest() -> list[str]:
    if not FOLDER.is_dir():
        return []
    lines = (FOLDER / "MANIFEST.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["file"] for line in lines]


@pytest.mark.parametrize("name", manifest())
def test_real_file_gives_what_its_manifest_expects(name: str) -> None:
    outcome: Document | Reason
    try:
        outcome = read_document((FOLDER / name).read_bytes(), name, limits=ReadingLimits())
    except UnreadableDocument as error:
        outcome = error.reason
    EXPECTED[name](outcome)


async def test_subprocess_gives_the_same_as_reading_here() -> None:
    for name in ("ja_vertical_pdfjs.pdf", "docx_small_table.docx", "cp932_mskanji.csv"):
        data = (FOLDER / name).read_bytes()
        here = read_document(data, name, limits=ReadingLimits())
        assert await read_in_subprocess(data, name, ReadingLimits()) == here


def test_mid_word_line_break_is_joined_and_the_authors_character_kept() -> None:
    name = "ja_horizontal_linebreaks.pdf"
    document = read_document((FOLDER / name).read_bytes(), name, limits=ReadingLimits())
    assert "検知機構を⼀つの箱内に" in document.pages[0].text

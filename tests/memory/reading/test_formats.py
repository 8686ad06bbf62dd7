"""Each format's reader keeps what a person sees, in English and Japanese."""

from __future__ import annotations

import pytest

from memory.reading import (
    Concern,
    Document,
    MediaType,
    ReadingLimits,
    ReadingWarning,
    Reason,
    UnreadableDocument,
    read_document,
)
from tests.memory.reading import files
from tests.memory.reading.files import SAMPLES, docx, paragraph, pdf, pptx, shape, xlsx


def read(data: bytes, name: str) -> Document:
    return read_document(data, name, limits=ReadingLimits())


def reason_for(data: bytes, name: str) -> Reason:
    with pytest.raises(UnreadableDocument) as caught:
        read(data, name)
    return caught.value.reason


def only_text(data: bytes, name: str) -> str:
    (page,) = read(data, name).pages
    return page.text


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_format_is_recognised_by_its_content(name: str) -> None:
    document = read(SAMPLES[name], name)
    kind = MediaType[{"md": "MARKDOWN", "txt": "TEXT"}.get(s := name.split(".")[1], s.upper())]
    assert document.media_type is kind
    assert all(page.text for page in document.pages)
    if name.endswith((".pdf", ".docx", ".pptx", ".xlsx")):
        assert read(SAMPLES[name], "no_suffix").media_type is kind


# PDF


def test_pdf_keeps_page_numbers_and_bookmarks_as_heading_path() -> None:
    pages = [files.latin_lines([text]) for text in ("Cover", "First part", "Still first", "Second")]
    root = files.first_extra(pages)
    outline = [
        f"<< /First {root + 1} 0 R /Last {root + 2} 0 R >>",
        f"<< /Title (Part 1) /Parent {root} 0 R /Next {root + 2} 0 R "
        f"/Dest [{files.page_object(1)} /Fit] >>",
        f"<< /Title <{'feff' + '第二部'.encode('utf-16-be').hex()}> /Parent {root} 0 R "
        f"/Dest [{files.page_object(3)} /Fit] >>",
    ]
    document = read(pdf(pages, extra=outline), "manual.pdf")
    assert [(page.number, page.headings) for page in document.pages] == [
        (1, ()),
        (2, ("Part 1",)),
        (3, ("Part 1",)),
        (4, ("第二部",)),
    ]


def test_pdf_vertical_columns_read_right_to_left_in_bands() -> None:
    upper = files.japanese_columns(["上段の一行目は", "ここで終わる。"], top=750)
    lower = files.japanese_columns(["下段の一行目も", "同じく終わる。"], top=400)
    text = only_text(pdf([lower + "\n" + upper], vertical=True), "a.pdf")
    assert text.replace("\n", "") == ("上段の一行目はここで終わる。下段の一行目も同じく終わる。")


def test_pdf_japanese_lines_join_without_space_and_lists_keep_their_lines() -> None:
    lines = [
        "会議室の予約は前日までに総務",
        "部へ連絡すること。",
        "１．目的を伝える",
        "２．人数を伝える",
    ]
    assert only_text(pdf([files.japanese_lines(lines)]), "a.pdf").split("\n") == [
        "会議室の予約は前日までに総務部へ連絡すること。",
        "１．目的を伝える",
        "２．人数を伝える",
    ]


def test_pdf_english_lines_join_with_a_space_when_the_line_was_full() -> None:
    lines = ["Visitors sign in at the front desk and", "wear a badge.", "Thank you"]
    text = only_text(pdf([files.latin_lines(lines)]), "a.pdf")
    assert text == "Visitors sign in at the front desk and wear a badge.\nThank you"


def test_pdf_ruby_above_its_base_is_left_out() -> None:
    base = files.japanese_lines(["委託の内容"], top=700)
    ruby = files.japanese_lines(["いたく"], top=711, size=5)
    assert only_text(pdf([ruby + "\n" + base]), "a.pdf") == "委託の内容"


GARBAGE = "BT /F3 12 Tf 50 700 Td (Nobody can read this) Tj ET"


def test_pdf_of_glyph_numbers_is_refused_as_garbage() -> None:
    assert reason_for(pdf([GARBAGE]), "a.pdf") is Reason.GARBAGE


def test_pdf_garbage_page_is_left_out_with_a_warning() -> None:
    document = read(pdf([files.latin_lines(["Readable text."]), GARBAGE]), "a.pdf")
    assert [page.number for page in document.pages] == [1]
    assert document.warnings == (ReadingWarning(Concern.GARBAGE_PAGES, (2,)),)


def test_pdf_picture_page_is_named_and_picture_only_file_refused_as_scanned() -> None:
    picture = "q 9 0 0 9 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x80 EI Q"
    document = read(pdf([files.latin_lines(["Words."]), picture]), "a.pdf")
    assert document.warnings == (ReadingWarning(Concern.PAGES_WITHOUT_TEXT, (2,)),)
    assert reason_for(pdf([picture]), "a.pdf") is Reason.SCANNED


def test_pdf_without_anything_on_it_is_empty() -> None:
    assert reason_for(pdf([""]), "a.pdf") is Reason.EMPTY


# DOCX


def test_docx_headings_follow_styles_and_what_they_are_based_on() -> None:
    body = (
        paragraph("前書き")
        + paragraph("就業規則", "1")
        + paragraph("Leave", "fancy")
        + paragraph("Ten days.")
        + paragraph("Pay", "2")
        + paragraph("月末払い。", "loop")
    )
    document = read(docx(body, styles=files.HEADING_STYLES), "a.docx")
    assert [(page.headings, page.text) for page in document.pages] == [
        ((), "前書き"),
        (("就業規則", "Leave"), "Ten days."),
        (("就業規則", "Pay"), "月末払い。"),
    ]


def test_docx_heading_without_text_is_still_found() -> None:
    body = paragraph("第一章", "1") + paragraph("第二章", "1") + paragraph("本文")
    document = read(docx(body, styles=files.HEADING_STYLES), "a.docx")
    assert [page.text for page in document.pages] == ["第一章", "本文"]


def test_docx_table_text_box_footnote_and_list_are_kept() -> None:
    row = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    grid = row.format(paragraph("項目"), paragraph("Cost")) + row.format(
        paragraph("鍵|錠"), paragraph("900") + paragraph("yen")
    )
    box = (
        "<w:p><w:r><mc:AlternateContent xmlns:mc='m'><mc:Choice><w:txbxContent>"
        + paragraph("注意書き Note")
        + "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>"
        + paragraph("注意書き Note")
        + "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    item = "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>項一</w:t></w:r></w:p>"
    notes = (
        f"<w:footnotes {files.W}><w:footnote w:type='separator'>{paragraph('---')}</w:footnote>"
        f"<w:footnote>{paragraph('脚注です')}</w:footnote></w:footnotes>"
    )
    text = only_text(docx(f"<w:tbl>{grid}</w:tbl>{box}{item}", footnotes=notes), "a.docx")
    assert text == (
        "| 項目 | Cost |\n| --- | --- |\n| 鍵\\|錠 | 900 yen |\n\n"
        "注意書き Note\n\n- 項一\n\n脚注です"
    )


def test_docx_ruby_keeps_the_base_only_and_deleted_text_is_gone() -> None:
    ruby = (
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r>"
        "<w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>へ行く</w:t></w:r>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>。New</w:t></w:r></w:ins></w:p>"
    )
    assert only_text(docx(ruby), "a.docx") == "東京へ行く。New"


# PPTX


def test_pptx_slides_come_in_shown_order_with_title_notes_and_table() -> None:
    grid = (
        "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>月</a:t></a:r></a:p></a:tc>"
        "<a:tc><a:p><a:r><a:t>Sales</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>"
    )
    slides = [
        shape("計画 Plan", "ctrTitle") + shape("五月に開始") + shape("7", "sldNum"),
        f"<p:grpSp>{grid}</p:grpSp>",
        "",
    ]
    notes = {0: shape("発表者のメモ", "body") + shape("1", "sldNum")}
    document = read(pptx(slides, notes), "a.pptx")
    assert [(page.number, page.headings, page.text) for page in document.pages] == [
        (1, ("計画 Plan",), "五月に開始\n\n発表者のメモ"),
        (2, (), "| 月 | Sales |\n| --- | --- |"),
    ]


# XLSX and CSV


def test_xlsx_sheets_show_numbers_dates_and_strings_as_people_do() -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="D2" t="inlineStr"><is><t>Date</t></is></c>'
        '</row><row r="4"><c r="B4"><v>3</v></c><c r="C4"><v>2.5</v></c>'
        '<c r="D4" s="1"><v>45413</v></c><c r="E4" t="b"><v>1</v></c></row>'
    )
    furigana = '<r><t>東京</t></r><rPh sb="0" eb="2"><t>トウキョウ</t></rPh>'
    document = read(xlsx({"売上": rows, "空": ""}, [furigana]), "a.xlsx")
    (page,) = document.pages
    assert page.headings == ("売上",)
    assert page.text == (
        "| 東京 |  | Date |  |\n| --- | --- | --- | --- |\n| 3 | 2.5 | 2024-05-01 | TRUE |"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_csv_is_read_with_any_delimiter_and_encoding(delimiter: str, encoding: str) -> None:
    rows = [["名前", "city"], ["佐藤さん", "Osaka"], ["やまだ", "Kyoto"]]
    data = "\r\n".join(delimiter.join(row) for row in rows).encode(encoding)
    assert only_text(data, "a.csv") == (
        "| 名前 | city |\n| --- | --- |\n| 佐藤さん | Osaka |\n| やまだ | Kyoto |"
    )


def test_csv_quote_that_never_closes_is_read_as_text() -> None:
    text = only_text(b'a,b\n"' + b"one,two\n" * 40_000, "a.csv")
    assert text.count("one,two") == 40_000


# HTML, Markdown, text


def test_html_shows_what_a_browser_shows() -> None:
    page = """<!doctype html><title>案内 Guide</title><nav>Home</nav><style>p{}</style>
    <p>Before <b>all</b>
    else<br>次の行<script>alert(1)</script>
    <h1>使い方</h1><div>一行目<div>二行目</div></div><ul><li>one<li>二</ul>
    <h2>Fees</h2><table><tr><th>月<th>Fee<tr><td>五月<td>900</table>
    <p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>です<p hidden>secret</p>
    <pre>a
  b</pre>"""
    document = read(page.encode(), "a.html")
    assert document.title == "案内 Guide"
    assert [(p.headings, p.text) for p in document.pages] == [
        ((), "Before all else\n次の行"),
        (("使い方",), "一行目\n\n二行目\n\n- one\n\n- 二"),
        (
            ("使い方", "Fees"),
            "| 月 | Fee |\n| --- | --- |\n| 五月 | 900 |\n\n漢字です\n\na\n  b",
        ),
    ]


def test_html_layout_table_does_not_repeat_its_inner_table() -> None:
    page = b"<table><tr><td><table><tr><td>inner</table><tr><td>outer</table>"
    assert only_text(page, "a.html").count("inner") == 1


@pytest.mark.parametrize("encoding", ["euc_jp", "shift_jis", "utf-8", "iso2022_jp"])
def test_html_declared_encoding_is_used(encoding: str) -> None:
    page = f'<html><meta charset="{encoding}"><p>文字化けしないこと</html>'
    assert only_text(page.encode(encoding), "a.html") == "文字化けしないこと"


def test_markdown_splits_at_headings_but_not_inside_code() -> None:
    text = "intro\n\n# 手順\n\n```\n# not a heading\n```\n\nNext\n----\n\n待つ。\n"
    document = read(text.encode(), "a.md")
    assert document.title == "手順"
    assert [(page.headings, page.text) for page in document.pages] == [
        ((), "intro"),
        (("手順",), "```\n# not a heading\n```"),
        (("手順", "Next"), "待つ。"),
    ]


# What cannot be read


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.txt", Reason.EMPTY),
        (b" \n\t ", "a.md", Reason.EMPTY),
        ("\u3000\n".encode(), "a.txt", Reason.EMPTY),
        (b"# \n", "a.md", Reason.EMPTY),
        (b"<html><script>x</script></html>", "a.html", Reason.EMPTY),
        (b",,\n,,\n", "a.csv", Reason.EMPTY),
        (docx(""), "a.docx", Reason.EMPTY),
        (pptx([""]), "a.pptx", Reason.EMPTY),
        (xlsx({"s": ""}), "a.xlsx", Reason.EMPTY),
        (b"no pdf here", "a.pdf", Reason.CORRUPT),
        (b"no zip here", "a.docx", Reason.CORRUPT),
        (b"PK\x03\x04 broken", "a.xlsx", Reason.CORRUPT),
        (files.package({"word/document.xml": "<unclosed>"}), "a.docx", Reason.CORRUPT),
        (files.package({"mimetype": "application/epub"}), "a.epub", Reason.UNSUPPORTED),
        (b"\x89PNG\r\n\x1a\n", "a.png", Reason.UNSUPPORTED),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.doc", Reason.UNSUPPORTED),
        (bytes(range(256)) * 4, "a.bin", Reason.UNSUPPORTED),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_unreadable_file_says_why(data: bytes, name: str, reason: Reason) -> None:
    assert reason_for(data, name) is reason


def test_scanned_docx_is_told_from_an_empty_one() -> None:
    parts: dict[str, str | bytes] = {
        "_rels/.rels": files.relationships(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {files.W}><w:body/></w:document>",
        "word/media/image1.png": b"\x89PNG",
    }
    assert reason_for(files.package(parts), "a.docx") is Reason.SCANNED


def test_every_reason_has_one_clear_sentence() -> None:
    for reason in Reason:
        message = str(UnreadableDocument(reason))
        assert message.endswith(".")
        assert "\n" not in message


# Titles and warnings


def test_title_comes_from_the_properties_and_else_from_the_name() -> None:
    core = "<c:properties xmlns:c='c' xmlns:d='d'><d:title>就業規則 2024</d:title></c:properties>"
    body = f"<w:document {files.W}><w:body>{paragraph('x')}</w:body></w:document>"
    parts: dict[str, str | bytes] = {
        "_rels/.rels": files.relationships(
            ("r1", "officeDocument", "word/document.xml"),
            ("r2", "metadata/core-properties", "docProps/core.xml"),
        ),
        "docProps/core.xml": core,
        "word/document.xml": body,
    }
    assert read(files.package(parts), "draft.docx").title == "就業規則 2024"
    assert read(SAMPLES["a.docx"], "社則.docx").title == "社則"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("(Microsoft Word - Handbook)", "Handbook"),
        (f"<feff{'手引き'.encode('utf-16-be').hex()}>", "手引き"),
        (f"<{'就業規則'.encode('cp932').hex()}>", "file name"),
    ],
)
def test_pdf_title_is_used_unless_it_is_mojibake(title: str, expected: str) -> None:
    pages = [files.latin_lines(["Text."])]
    data = pdf(pages, extra=["<< >>", f"<< /Title {title} >>"])
    information = f"/Root 1 0 R /Info {files.first_extra(pages) + 1} 0 R"
    data = data.replace(b"/Root 1 0 R", information.encode())
    assert read(data, "file name.pdf").title == expected


def test_pdf_page_that_cannot_be_opened_is_named() -> None:
    data = pdf([files.latin_lines(["First."]), files.latin_lines(["Lost."])])
    lost = files.page_object(1)
    document = read(
        data.replace(
            f"[{files.page_object(0)} {lost}]".encode(), f"[{files.page_object(0)} 99 0 R]".encode()
        ),
        "a.pdf",
    )
    assert [page.text for page in document.pages] == ["First."]
    assert document.warnings == (ReadingWarning(Concern.DAMAGED_PAGES, (2,)),)


def test_text_with_a_broken_character_is_read_with_a_warning() -> None:
    data = "会議は三時から、場所は第二会議室です。".encode() + b"\xe3\x81"
    document = read(data, "a.txt")
    assert document.pages[0].text.startswith("会議は三時から")
    assert document.warnings == (ReadingWarning(Concern.REPLACED_CHARACTERS),)

"""Builds small files of every format, byte by byte, so that the tests see what is in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
S = (
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def package(parts: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file with these parts; what is missing for an Office container is added."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in {"[Content_Types].xml": "<Types/>", **parts}.items():
            archive.writestr(name, content)
    return stream.getvalue()


def relationships(*targets: tuple[str, str, str]) -> str:
    """A .rels part of (id, kind, target)."""
    rows = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONSHIP}/{kind}" Target="{target}"/>'
        for name, kind, target in targets
    )
    return f"<Relationships>{rows}</Relationships>"


def docx(body: str, **parts: str) -> bytes:
    """A DOCX with this body XML; `styles` and `footnotes` may be given as XML."""
    kinds = [(name, name, f"{name}.xml") for name in parts]
    return package(
        {
            "_rels/.rels": relationships(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relationships(*kinds),
            **{f"word/{name}.xml": content for name, content in parts.items()},
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """A DOCX paragraph."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


HEADING_STYLES = (
    f"<w:styles {W}>"
    '<w:style w:styleId="1"><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    '<w:style w:styleId="2"><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    '<w:style w:styleId="fancy"><w:basedOn w:val="2"/></w:style>'
    '<w:style w:styleId="loop"><w:basedOn w:val="pool"/></w:style>'
    '<w:style w:styleId="pool"><w:basedOn w:val="loop"/></w:style>'
    "</w:styles>"
)


def shape(text: str, placeholder: str = "") -> str:
    """A PPTX shape, one paragraph a line."""
    kind = f'<p:ph type="{placeholder}"/>' if placeholder else ""
    lines = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def pptx(slides: Sequence[str], notes: Mapping[int, str] | None = None) -> bytes:
    """A PPTX whose slides (shape XML) are shown in this order but stored in reverse."""
    notes = notes or {}
    parts: dict[str, str] = {
        "_rels/.rels": relationships(("r1", "officeDocument", "ppt/presentation.xml"))
    }
    listed = "".join(f'<p:sldId r:id="s{number}"/>' for number in range(len(slides)))
    parts["ppt/presentation.xml"] = (
        f"<p:presentation {A}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    )
    files = {number: f"slides/slide{len(slides) - number}.xml" for number in range(len(slides))}
    parts["ppt/_rels/presentation.xml.rels"] = relationships(
        *((f"s{number}", "slide", file) for number, file in files.items())
    )
    for number, shapes in enumerate(slides):
        parts[f"ppt/{files[number]}"] = (
            f"<p:sld {A}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
        if number in notes:
            name = files[number].removeprefix("slides/")
            parts[f"ppt/slides/_rels/{name}.rels"] = relationships(
                ("n1", "notesSlide", f"../notesSlides/{name}")
            )
            parts[f"ppt/notesSlides/{name}"] = (
                f"<p:notes {A}><p:cSld><p:spTree>{notes[number]}</p:spTree></p:cSld></p:notes>"
            )
    return package(parts)


def xlsx(sheets: Mapping[str, str], shared: Sequence[str] = ()) -> bytes:
    """An XLSX from sheet name to row XML; `shared` holds `<si>` content. Style 1 is a date."""
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="r{number}"/>'
        for number, name in enumerate(names, 1)
    )
    files = [(f"r{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)]
    strings = "".join(f"<si>{content}</si>" for content in shared)
    return package(
        {
            "_rels/.rels": relationships(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"<workbook {S}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relationships(
                *files,
                ("rs", "sharedStrings", "sharedStrings.xml"),
                ("rt", "styles", "styles.xml"),
            ).replace(
                "<Relationships>",
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">',
            ),
            "xl/sharedStrings.xml": f"<sst {S}>{strings}</sst>",
            "xl/styles.xml": (
                f'<styleSheet {S}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/>'
                "</cellXfs></styleSheet>"
            ),
            **{
                f"xl/worksheets/sheet{number}.xml": (
                    f"<worksheet {S}><sheetData>{rows}</sheetData></worksheet>"
                )
                for number, rows in enumerate(sheets.values(), 1)
            },
        }
    )


_FIRST_PAGE = 7
_TO_PRIVATE_USE = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <20> <7E> <E020> endbfrange endcmap end end"""


def pdf(pages: Sequence[str], *, vertical: bool = False, extra: Sequence[str] = ()) -> bytes:
    """A PDF whose pages have these content streams.

    Font /F1 is Helvetica; /F2 is a Japanese font that is not embedded, with UTF-16 codes,
    written vertically on demand; /F3 says that its letters are private use characters, as
    subset fonts without a real character map do. `extra` objects follow the pages, numbered from
    `first_extra(pages)`; the first one, when given, is the outline.
    """
    kids = " ".join(page_object(number) for number in range(len(pages)))
    encoding = "UniJIS-UTF16-V" if vertical else "UniJIS-UTF16-H"
    outline = f" /Outlines {first_extra(pages)} 0 R" if extra else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{outline} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 "
        f"/Encoding /{encoding} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 "
        "/BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) "
        "/Supplement 5 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor "
        "/FontName /HeiseiMin-W3 /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 "
        "/Ascent 800 /Descent -200 /StemV 80 /CapHeight 700 >> >>] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 6 0 R >>",
        f"<< /Length {len(_TO_PRIVATE_USE)} >>\nstream\n{_TO_PRIVATE_USE}\nendstream",
    ]
    for number, content in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> "
            f"/Contents {_FIRST_PAGE + 1 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return assemble([*objects, *extra])


def first_extra(pages: Sequence[str]) -> int:
    """Object number of the first extra object of `pdf`."""
    return _FIRST_PAGE + 2 * len(pages)


def page_object(index: int) -> str:
    """Reference to the object of a page of `pdf`, counted from 0."""
    return f"{_FIRST_PAGE + 2 * index} 0 R"


def assemble(objects: Sequence[str]) -> bytes:
    """A PDF file from its objects, numbered from 1; the first is the catalog."""
    data = b"%PDF-1.7\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + (
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()
    )


def latin_lines(lines: Sequence[str], *, top: int = 750, size: int = 12) -> str:
    """Content of horizontal lines in Helvetica."""
    shown = "".join(
        f"1 0 0 1 50 {top - number * size * 3 // 2} Tm ({line}) Tj\n"
        for number, line in enumerate(lines)
    )
    return f"BT /F1 {size} Tf\n{shown}ET"


def japanese_lines(lines: Sequence[str], *, top: int = 750, size: int = 12) -> str:
    """Content of horizontal lines in the Japanese font."""
    shown = "".join(
        f"1 0 0 1 50 {top - number * size * 3 // 2} Tm <{line.encode('utf-16-be').hex()}> Tj\n"
        for number, line in enumerate(lines)
    )
    return f"BT /F2 {size} Tf\n{shown}ET"


def japanese_columns(columns: Sequence[str], *, top: int = 750, right: int = 550) -> str:
    """Content of vertical columns, the first at the right, drawn in reading order."""
    shown = "".join(
        f"1 0 0 1 {right - number * 20} {top} Tm <{column.encode('utf-16-be').hex()}> Tj\n"
        for number, column in enumerate(columns)
    )
    return f"BT /F2 12 Tf\n{shown}ET"


SAMPLES: Mapping[str, bytes] = {
    "a.pdf": pdf([latin_lines(["The office opens at nine."]), japanese_lines(["九時に開く。"])]),
    "tategaki.pdf": pdf([japanese_columns(["今日は良い天気", "です。"])], vertical=True),
    "a.docx": docx(
        paragraph("就業規則", "1") + paragraph("Leave is ten days.") + paragraph("休暇は十日。"),
        styles=HEADING_STYLES,
    ),
    "a.pptx": pptx([shape("計画", "title") + shape("Launch in May\n五月に開始")]),
    "a.xlsx": xlsx(
        {"売上": '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>3</v></c></row>'},
        ["<t>東京 Tokyo</t>"],
    ),
    "a.html": "<h1>案内</h1><p>Welcome.<table><tr><td>鍵<td>key</table>".encode(),
    "a.md": "# 手順\n\nFirst, breathe.\n\n## 次\n\n待つ。\n".encode(),
    "a.csv": "名前,age\n佐藤,30\n".encode("cp932"),
    "a.txt": "メモ：会議は三時から。Bring a pen.".encode("euc_jp"),
}
"""One readable file of every format, in both languages."""

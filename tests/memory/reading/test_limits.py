"""Hostile and broken files end as UnreadableDocument, in bounded memory, and leave nothing."""

from __future__ import annotations

import asyncio
import copy
import io
import logging
import pickle
import signal
import sys
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.reading import (
    Document,
    ReadingLimits,
    Reason,
    UnreadableDocument,
    isolation,
    read_document,
    read_in_subprocess,
)
from memory.reading.isolation import decode_answer, encode_answer
from memory.reading.sections import MAX_HEADING
from tests.memory.reading import files
from tests.memory.reading.files import SAMPLES, assemble, docx, package, paragraph, xlsx

LIMITS = ReadingLimits()


def reason_for(data: bytes, name: str, limits: ReadingLimits = LIMITS) -> Reason:
    with pytest.raises(UnreadableDocument) as caught:
        read_document(data, name, limits=limits)
    return caught.value.reason


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", ("# " + "言葉 word " * 1_000 + "\n\ntext\n").encode()),
        ("a.html", ("<title>" + "言葉 word " * 1_000 + "</title><p>text</p>").encode()),
        (
            "a.xlsx",
            xlsx({"s" * 10_000: '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'}),
        ),
    ],
)
def test_titles_and_headings_are_no_longer_than_a_line(name: str, data: bytes) -> None:
    document = read_document(data, name, limits=LIMITS)
    assert document.pages
    names = [document.title, *(heading for page in document.pages for heading in page.headings)]
    assert max(map(len, names)) <= MAX_HEADING


async def reason_apart(data: bytes, name: str, limits: ReadingLimits = LIMITS) -> Reason:
    with pytest.raises(UnreadableDocument) as caught:
        await read_in_subprocess(data, name, limits)
    return caught.value.reason


def bomb(size: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", bytes(size))
    return stream.getvalue()


def test_zip_bomb_is_refused_by_what_it_unpacks_to() -> None:
    data = bomb(5_000_000)
    assert len(data) < 10_000
    assert reason_for(data, "a.docx", ReadingLimits(max_unpacked_bytes=1_000_000)) is Reason.TOO_BIG


def test_zip_bomb_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(bomb(5_000_000))
    data = bytearray(bytes(data).replace((5_000_000).to_bytes(4, "little"), b"\x10\0\0\0"))
    limits = ReadingLimits(max_unpacked_bytes=1_000_000)
    assert reason_for(bytes(data), "a.docx", limits) in (Reason.TOO_BIG, Reason.CORRUPT)


def test_encrypted_zip_member_asks_for_the_password() -> None:
    data = bytearray(docx(paragraph("secret")))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(signature, at + 4)
    assert reason_for(bytes(data), "a.docx") is Reason.PASSWORD


def test_xml_entities_and_deep_nesting_are_refused() -> None:
    entities = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><d>&b;</d>'
    assert reason_for(package({"word/document.xml": entities}), "a.docx") is Reason.CORRUPT
    deep = "<w:sdt>" * 5_000 + "</w:sdt>" * 5_000
    assert reason_for(docx(deep), "a.docx") is Reason.CORRUPT


@pytest.mark.parametrize("quote", ['"', "'"])
def test_sheet_with_two_far_corners_is_refused(quote: str) -> None:
    rows = (
        '<row r="1"><c r="A1"><v>1</v></c></row>'
        '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    )
    assert reason_for(xlsx({"s": rows.replace('"', quote)}), "a.xlsx") is Reason.TOO_BIG


def test_text_repeated_by_reference_is_counted() -> None:
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 201))
    data = xlsx({"s": rows}, [f"<t>{'長' * 1000}</t>"])
    assert reason_for(data, "a.xlsx", ReadingLimits(max_characters=100_000)) is Reason.TOO_BIG


PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"


@pytest.mark.parametrize(
    "objects",
    [
        [CATALOG, "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000 >>", PAGE],
        [
            CATALOG,
            "<< /Type /Pages /Kids [3 0 R] /Count 5 >>",
            "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 5 >>",
        ],
        [CATALOG, f"<< /Type /Pages /Kids [{'3 0 R ' * 9000}] /Count 9000 >>", PAGE],
    ],
    ids=["kids contain their parent", "two nodes contain each other", "one page 9000 times"],
)
def test_page_loop_ends(objects: list[str]) -> None:
    assert reason_for(assemble(objects), "a.pdf") in (Reason.TOO_BIG, Reason.CORRUPT)


def test_outline_loop_ends_and_the_text_is_kept() -> None:
    pages = [files.latin_lines(["Hello world"])]
    root = files.first_extra(pages)
    item = f"{root + 1} 0 R"
    loop = [
        f"<< /First {item} /Last {item} >>",
        f"<< /Title (One) /Parent {root} 0 R /Next {item} /First {item} "
        f"/Dest [{files.page_object(0)} /Fit] >>",
    ]
    (page,) = read_document(files.pdf(pages, extra=loop), "a.pdf", limits=LIMITS).pages
    assert page.text == "Hello world"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_limit_on_size_is_kept(name: str) -> None:
    data = SAMPLES[name]
    assert reason_for(data, name, ReadingLimits(max_bytes=len(data) - 1)) is Reason.TOO_BIG
    assert reason_for(data, name, ReadingLimits(max_characters=3)) is Reason.TOO_BIG


def test_too_many_pages_or_slides_are_refused() -> None:
    limits = ReadingLimits(max_pages=1)
    assert reason_for(SAMPLES["a.pdf"], "a.pdf", limits) is Reason.TOO_BIG
    deck = files.pptx([files.shape("一"), files.shape("two")])
    assert reason_for(deck, "a.pptx", limits) is Reason.TOO_BIG


def mutate(data: bytes, changes: list[tuple[float, int]], keep: float) -> bytes:
    mutated = bytearray(data[: round(keep * len(data))])
    for place, byte in changes:
        if mutated:
            mutated[round(place * (len(mutated) - 1))] = byte
    return bytes(mutated)


changes = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=12)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SAMPLES)), changes, st.one_of(st.just(1.0), st.floats(0, 1)))
def test_damaged_file_is_read_or_refused(
    name: str, edits: list[tuple[float, int]], keep: float
) -> None:
    data = mutate(SAMPLES[name], edits, keep)
    try:
        document = read_document(data, name, limits=LIMITS)
    except UnreadableDocument:
        return
    assert document.pages
    assert all(page.text.strip() for page in document.pages)
    assert decode_answer(encode_answer(document)) == document


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        [
            ("a.docx", "word/document.xml"),
            ("a.pptx", "ppt/slides/slide1.xml"),
            ("a.xlsx", "xl/worksheets/sheet1.xml"),
            ("a.xlsx", "xl/sharedStrings.xml"),
        ]
    ),
    changes,
)
def test_damaged_xml_inside_a_sound_zip_is_read_or_refused(
    place: tuple[str, str], edits: list[tuple[float, int]]
) -> None:
    name, part = place
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    parts[part] = mutate(parts[part], edits, 1)
    try:
        document = read_document(package(parts), name, limits=LIMITS)
    except UnreadableDocument:
        return
    assert document.pages


@given(st.binary(max_size=600), st.sampled_from(sorted(SAMPLES)))
def test_any_bytes_under_any_name_are_read_or_refused(data: bytes, name: str) -> None:
    try:
        document = read_document(data, name, limits=LIMITS)
    except UnreadableDocument:
        return
    assert document.pages


# In a process of its own


@pytest.mark.parametrize("name", sorted(SAMPLES))
async def test_subprocess_gives_the_same_document(name: str) -> None:
    here = read_document(SAMPLES[name], name, limits=LIMITS)
    assert await read_in_subprocess(SAMPLES[name], name, LIMITS) == here


async def test_subprocess_passes_the_reason_on() -> None:
    assert await reason_apart(b"PK broken", "a.docx") is Reason.CORRUPT
    assert await reason_apart(b"\x89PNG", "写真.png") is Reason.UNSUPPORTED


async def test_wall_clock_limit_stops_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = track_processes(monkeypatch)
    limits = ReadingLimits(seconds=0.01)
    assert await reason_apart(SAMPLES["a.txt"], "a.txt", limits) is Reason.TIMED_OUT
    assert [process.returncode for process in started] == [-9]


async def test_processor_limit_stops_a_busy_reader() -> None:
    code = (
        "from memory.reading import ReadingLimits, worker\n"
        "worker.confine(ReadingLimits(seconds=0.5))\n"
        "while True: pass"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == -signal.SIGXCPU


async def test_memory_limit_refuses_what_needs_more() -> None:
    data = bomb(150_000_000)
    limits = ReadingLimits(memory_bytes=150_000_000)
    assert await reason_apart(data, "a.docx", limits) is Reason.TOO_BIG


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Reason.CORRUPT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", Reason.TIMED_OUT),
        ("import os; os.abort()", Reason.TOO_BIG),
        ("raise SystemExit(3)", Reason.CORRUPT),
        ("print('not json')", Reason.CORRUPT),
        ('print(\'{"document": {"title": 1}}\')', Reason.CORRUPT),
        ('print(\'{"reason": "because"}\')', Reason.CORRUPT),
        ("print('[]')", Reason.CORRUPT),
    ],
)
async def test_process_that_crashes_or_lies_is_survived(
    monkeypatch: pytest.MonkeyPatch, code: str, reason: Reason
) -> None:
    run_instead(monkeypatch, code)
    assert await reason_apart(b"x" * 1_000_000, "a.txt") is reason


async def test_process_that_never_stops_answering_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "_SPARE_BYTES", 1_000)
    run_instead(monkeypatch, "while True: print('x' * 1_000_000)")
    limits = ReadingLimits(max_characters=1_000)
    assert await reason_apart(b"x", "a.txt", limits) is Reason.TOO_BIG


async def test_cancelling_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = track_processes(monkeypatch)
    run_instead(monkeypatch, "import time; time.sleep(60)")
    task = asyncio.create_task(read_in_subprocess(b"x", "a.txt", LIMITS))
    while not started:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started[0].returncode == -9


async def test_process_sees_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "not for readers")
    code = (
        "import json, os; print(json.dumps({'document': {'title': ' '.join(os.environ),"
        "'media_type': 'text/plain', 'pages': [], 'warnings': []}}))"
    )
    run_instead(monkeypatch, code)
    document = await read_in_subprocess(b"x", "a.txt", LIMITS)
    assert "PYTHONPATH" in document.title
    assert "TOKEN" not in document.title


async def test_readers_run_side_by_side() -> None:
    names = ["a.docx", "a.txt", "a.html"]
    documents = await asyncio.gather(
        *(read_in_subprocess(SAMPLES[name], name, LIMITS) for name in names)
    )
    assert [document.title for document in documents] == ["a", "a", "a"]


def test_error_survives_copying_and_pickling() -> None:
    error = UnreadableDocument(Reason.SCANNED)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert twin.reason is Reason.SCANNED
        assert str(twin) == str(error)


def test_nothing_of_the_text_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name, data in SAMPLES.items():
        document: Document = read_document(data, name, limits=LIMITS)
        for page in document.pages:
            assert page.text[:10] not in caplog.text


async def test_importing_the_package_loads_no_format_library() -> None:
    code = (
        "import sys, memory.reading, memory.chunking; heavy = {'pypdfium2', 'pdfminer', "
        "'selectolax', 'python_calamine', 'semantic_text_splitter', 'charset_normalizer', "
        "'markdown_it', 'numpy'}; print(sorted(heavy & set(sys.modules)))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert output.strip() == b"[]"


def track_processes(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """Collects the processes that get started."""
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def tracked(*command: str, **options: object) -> asyncio.subprocess.Process:
        started.append(await start(*command, **options))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", tracked)
    return started


def run_instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Lets the reading process run this code, under the limits a real one sets itself."""
    confined = (
        "import sys; from memory.reading import worker, isolation\n"
        "_, _, limits = isolation.decode_request(sys.stdin.buffer.read())\n"
        "worker.confine(limits)\n"
    )
    start = asyncio.create_subprocess_exec

    async def instead(*_: str, **options: object) -> asyncio.subprocess.Process:
        return await start(sys.executable, "-c", confined + code, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)

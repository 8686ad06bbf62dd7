"""Finds out what a file is from its bytes; the name decides only between kinds of text."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath

from memory.reading.document import MediaType
from memory.reading.encoding import BYTE_ORDER_MARKS, utf16_without_mark
from memory.reading.errors import Reason, UnreadableDocument

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_PDF_HEADER_WITHIN = 1024
"""Readers accept a PDF header anywhere in the first 1,024 bytes (PDF 1.7, annex H.3.4.1)."""

_OFFICE_PARTS = {
    "word/": MediaType.DOCX,
    "ppt/": MediaType.PPTX,
    "xl/": MediaType.XLSX,
}
_BINARY_SUFFIXES = {".pdf", ".docx", ".pptx", ".xlsx", ".docm", ".pptm", ".xlsm"}
_TEXT_SUFFIXES = {
    ".html": MediaType.HTML,
    ".htm": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
    ".csv": MediaType.CSV,
    ".tsv": MediaType.CSV,
}
_OTHER_BINARY = (
    b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"RIFF", b"\x1f\x8b", b"BZh",
    b"7z\xbc\xaf", b"Rar!", b"\x7fELF", b"MZ", b"ID3", b"OggS", b"fLaC", b"{\\rtf", b"%!PS",
    b"SQLite format 3\x00", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd",
)  # fmt: skip


def sniff(data: bytes, name: str) -> MediaType:
    """The format of `data`. Raises UnreadableDocument when it is none that Oboete reads."""
    suffix = PurePath(name).suffix.lower()
    if b"%PDF-" in data[:_PDF_HEADER_WITHIN]:
        return MediaType.PDF
    if data.startswith(_OLE):
        # Office encrypts a file by wrapping it into an old-style container ([MS-OFFCRYPTO] 2.3).
        encrypted = _ENCRYPTED_PACKAGE in data
        raise UnreadableDocument(Reason.PASSWORD if encrypted else Reason.UNSUPPORTED)
    if data.startswith(b"PK"):
        return _office(data)
    if suffix in _BINARY_SUFFIXES:
        raise UnreadableDocument(Reason.CORRUPT)
    if data.startswith(_OTHER_BINARY) or _is_binary(data):
        raise UnreadableDocument(Reason.UNSUPPORTED)
    if suffix in _TEXT_SUFFIXES:
        return _TEXT_SUFFIXES[suffix]
    head = data[:1024].lstrip().lower()
    return MediaType.HTML if head.startswith((b"<!doctype html", b"<html")) else MediaType.TEXT


def _office(data: bytes) -> MediaType:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableDocument(Reason.CORRUPT) from error
    if "[Content_Types].xml" in names:
        for prefix, media_type in _OFFICE_PARTS.items():
            if any(name.startswith(prefix) for name in names):
                return media_type
    raise UnreadableDocument(Reason.UNSUPPORTED)


def _is_binary(data: bytes) -> bool:
    """Whether the start has NULs, or more control characters than a text would."""
    head = data[:4096]
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    if b"\x00" not in head and odd * 20 <= len(head):
        return False
    return not (head.startswith(BYTE_ORDER_MARKS) or utf16_without_mark(data))

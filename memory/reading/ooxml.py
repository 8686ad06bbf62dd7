"""Opens Office containers: zip files of XML parts, either of which may be hostile."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from memory.reading.document import ReadingLimits
from memory.reading.errors import Reason, UnreadableDocument

_READ_SIZE = 1 << 20
_MAX_PARTS = 20_000
_MAX_DEPTH = 256
"""Nesting of elements. Readers recurse along it, so it stays well under Python's own limit."""


class Package:
    """The parts of an Office file, unpacked into memory within the limits.

    Sizes in a zip directory can lie, so the bytes that come out are what counts.
    Raises UnreadableDocument: TOO_BIG, PASSWORD (zip encryption) or CORRUPT.
    """

    def __init__(self, data: bytes, limits: ReadingLimits) -> None:
        left = limits.max_unpacked_bytes
        self._parts: dict[str, bytes] = {}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                entries = archive.infolist()
                if len(entries) > _MAX_PARTS:
                    raise UnreadableDocument(Reason.TOO_BIG)
                for entry in entries:
                    if entry.flag_bits & 0x1:
                        raise UnreadableDocument(Reason.PASSWORD)
                    self._parts[entry.filename] = content = _unpack(archive, entry, left)
                    left -= len(content)
        except (
            zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
        ) as error:  # fmt: skip
            raise UnreadableDocument(Reason.CORRUPT) from error

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def names(self) -> list[str]:
        """Names of all parts, in the order of the container."""
        return list(self._parts)

    def bytes(self, name: str) -> bytes:
        """A part as it is. Raises UnreadableDocument(CORRUPT) when it is missing."""
        try:
            return self._parts[name]
        except KeyError as error:
            raise UnreadableDocument(Reason.CORRUPT) from error

    def xml(self, name: str) -> Element:
        """The root element of a part; see `parse_xml`."""
        return parse_xml(self.bytes(name))

    def related(self, part: str, kind: str) -> list[str]:
        """Names of the parts that `part` refers to with relationships of this kind, in order."""
        return [target for _, target in self.relationships(part, kind)]

    def relationships(self, part: str, kind: str) -> Iterator[tuple[str, str]]:
        """Pairs of relationship id and part name; `part` "" is the package itself."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        if rels not in self._parts:
            return
        for relation in self.xml(rels):
            if relation.get("TargetMode") == "External":
                continue
            if relation.get("Type", "").rpartition("/")[2] != kind:
                continue
            target = relation.get("Target", "")
            path = target[1:] if target.startswith("/") else posixpath.join(folder, target)
            path = posixpath.normpath(path)
            if path in self._parts:
                yield relation.get("Id", ""), path

    def title(self) -> str:
        """The title in the document's properties, or an empty string."""
        for part in self.related("", "core-properties"):
            return (self.xml(part).findtext("title") or "").strip()
        return ""


def parse_xml(data: bytes) -> Element:
    """Parse XML with names stripped of their namespace, as strict and transitional differ in it.

    Document types are refused: Office files have none, and entities are the way to XML bombs.
    Raises UnreadableDocument(CORRUPT).
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise UnreadableDocument(Reason.CORRUPT)
        plain = {name.rpartition("}")[2]: value for name, value in attributes.items()}
        builder.start(tag.rpartition("}")[2], plain)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition("}")[2])

    def refuse(*_: Any) -> None:
        raise UnreadableDocument(Reason.CORRUPT)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnreadableDocument(Reason.CORRUPT) from error
    return builder.close()


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    with archive.open(entry) as stream:
        while piece := stream.read(_READ_SIZE):
            size += len(piece)
            if size > limit:
                raise UnreadableDocument(Reason.TOO_BIG)
            pieces.append(piece)
    return b"".join(pieces)

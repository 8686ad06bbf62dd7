"""Reads files that people share: PDF, Office, HTML, Markdown, CSV and text in any encoding.

Importing this package loads no format library; each is loaded by the first file that needs it.
"""

from memory.reading.document import (
    Concern,
    Document,
    MediaType,
    Page,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.isolation import read_in_subprocess
from memory.reading.reader import read_document

__all__ = [
    "Concern",
    "Document",
    "MediaType",
    "Page",
    "ReadingLimits",
    "ReadingWarning",
    "Reason",
    "UnreadableDocument",
    "read_document",
    "read_in_subprocess",
]

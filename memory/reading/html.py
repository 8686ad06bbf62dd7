"""HTML with selectolax (Lexbor): what a browser shows, with headings, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory.reading.document import (
    CharacterBudget,
    Concern,
    Document,
    MediaType,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.encoding import decode
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.garbage import is_garbage
from memory.reading.sections import Sections, one_line, table

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_DECLARED_WITHIN = 4096
_HIDDEN = (
    "script, style, template, noscript, svg, math annotation, iframe, object, canvas, audio, "
    "video, select, textarea, nav, rt, rp, rtc, [hidden], [aria-hidden=true]"
)
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "dd", "details",
        "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
        "header", "hr", "html", "li", "main", "ol", "p", "section", "summary", "table", "tbody",
        "td", "tfoot", "th", "thead", "tr", "ul",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read_html(data: bytes, title: str, limits: ReadingLimits) -> Document:
    """Read a page, split at its headings. Raises UnreadableDocument."""
    from selectolax.lexbor import LexborHTMLParser

    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    text, certain = decode(data, declared.group(1).decode("ascii") if declared else "")
    if is_garbage(text):
        raise UnreadableDocument(Reason.GARBAGE)
    tree = LexborHTMLParser(text)
    head = tree.css_first("title")
    name = one_line(head.text()) if head is not None else ""
    for node in tree.css(_HIDDEN):
        node.decompose()
    sections = Sections(CharacterBudget(limits.max_characters))
    if tree.body is not None:
        _Walk(sections).read(tree.body)
    pages = sections.pages()
    warnings = () if certain else (ReadingWarning(Concern.REPLACED_CHARACTERS),)
    return Document(name or title, MediaType.HTML, pages, warnings)


class _Walk:
    """Goes through the tree without recursion: pages nest as deeply as their author likes."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._text: list[str] = []
        self._prefix = ""

    def read(self, root: LexborNode) -> None:
        """Add everything below `root`."""
        for node, entering in _steps(root):
            if node.is_text_node:
                self._text.append(re.sub(r"[ \t\n\r\f]+", " ", node.text_content or ""))
            elif node.tag == "br":
                self._text.append("\n")
            elif node.tag in _HEADINGS:
                self._flush()
                self._sections.heading(_HEADINGS[node.tag], _inline(node))
            elif node.tag == "table" and _is_leaf(node):
                self._flush()
                self._sections.block(table(_rows(node)))
            elif node.tag == "pre":
                self._flush()
                self._sections.block(node.text())
            elif node.tag in _BLOCKS:
                self._flush()
                self._prefix = "- " if node.tag == "li" and entering else ""
        self._flush()

    def _flush(self) -> None:
        text = "".join(self._text)
        lines = (re.sub(r" +", " ", line).strip(" ") for line in text.split("\n"))
        text = "\n".join(lines).strip("\n")
        if text:
            self._sections.block(self._prefix + text)
            self._prefix = ""
        self._text = []


def _steps(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Nodes in document order, each element again when it ends; leaves only once.

    Leaves are read as a whole, see `_is_leaf`.
    """
    node: LexborNode | None = root
    entering = True
    while node is not None:
        yield node, entering
        if entering and node.first_child is not None and not _is_leaf(node):
            node = node.first_child
            continue
        if node.mem_id == root.mem_id:
            return
        if node.next is not None:
            node, entering = node.next, True
        else:
            node, entering = node.parent, False


def _is_leaf(node: LexborNode) -> bool:
    """Headings, preformatted text, and tables of data rather than of layout."""
    if node.tag == "table":
        return not node.css("td table, th table, h1, h2, h3, h4, h5, h6")
    return node.tag in _HEADINGS or node.tag == "pre"


def _inline(node: LexborNode) -> str:
    return one_line(node.text(separator=""))


def _rows(node: LexborNode) -> Iterator[list[str]]:
    for row in node.css("tr"):
        yield [one_line(cell.text(separator=" ")) for cell in row.css("th, td")]

"""Reads single PDF pages with pdfminer.six, slowly, when PDFium finds too little."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from memory.reading.layout import Glyph, compose, drop_ruby, group_rows, split_columns
from memory.reading.pdf_glyphs import arrange

if TYPE_CHECKING:
    from pdfminer.pdfpage import PDFPage

log = logging.getLogger(__name__)


class SecondOpinion:
    """pdfminer.six places vertical text of fonts that are not embedded. Opened when asked."""

    def __init__(self, data: bytes) -> None:
        # Its warnings quote the document; logs must not.
        logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
        self._data = data
        self._pages: list[PDFPage] = []
        self._coming: Iterator[PDFPage] | None = None

    def page_text(self, number: int) -> str:
        """Text of a 1-based page, not tidied; "" when pdfminer.six cannot read it either."""
        try:
            glyphs = list(self._glyphs(number))
        except Exception as error:  # noqa: BLE001 - it raises anything on damaged files
            log.info("no second opinion on page %s: %s", number, type(error).__name__)
            return ""
        columns, loose = split_columns(glyphs)
        rows = group_rows(loose)
        return arrange(columns, rows) if columns else compose(drop_ruby(rows))

    def _glyphs(self, number: int) -> Iterator[Glyph]:
        from pdfminer.converter import PDFPageAggregator
        from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
        from pdfminer.pdfpage import PDFPage

        if self._coming is None:
            self._coming = PDFPage.get_pages(io.BytesIO(self._data))
        self._pages += islice(self._coming, max(0, number - len(self._pages)))
        resources = PDFResourceManager()
        device = PDFPageAggregator(resources, laparams=None)
        PDFPageInterpreter(resources, device).process_page(self._pages[number - 1])
        yield from _characters(device.get_result())


def _characters(container: Iterable[Any]) -> Iterator[Glyph]:
    from pdfminer.layout import LTChar, LTFigure

    for item in container:
        if isinstance(item, LTFigure):
            yield from _characters(item)
        elif isinstance(item, LTChar):
            text = item.get_text()
            a, b, *_ = item.matrix
            upright = abs(math.atan2(b, a)) < 0.1
            # "(cid:7)" stands for a glyph without a character.
            char = "\ufffd" if text.startswith("(cid:") else text
            if char:
                yield Glyph(char, item.x0, item.y0, item.size or 1.0, upright)

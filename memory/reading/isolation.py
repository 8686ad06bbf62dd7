"""Reads one file in a process of its own, with limits on time and memory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import signal
import sys
from typing import Any, Final

from memory.reading.document import (
    Concern,
    Document,
    MediaType,
    Page,
    ReadingLimits,
    ReadingWarning,
)
from memory.reading.errors import Reason, UnreadableDocument

log = logging.getLogger(__name__)

_DEATHS: Final = {
    -signal.SIGXCPU: Reason.TIMED_OUT,
    -signal.SIGKILL: Reason.TOO_BIG,  # the system ran out of memory
    -signal.SIGABRT: Reason.TOO_BIG,  # how native code gives up when it is denied memory
}
_BYTES_PER_CHARACTER: Final = 8
_SPARE_BYTES: Final = 1 << 24


async def read_in_subprocess(data: bytes, name: str, limits: ReadingLimits) -> Document:
    """Read a file as `read_document` does, in a fresh process that may crash or be stopped.

    The process gets no environment but the module path, so it knows no tokens. What comes
    back is JSON and is checked: a hostile file that took over the reader gains nothing here.
    Safe to call concurrently. Cancelling it ends the process. Raises UnreadableDocument.
    """
    if len(data) > limits.max_bytes:
        raise UnreadableDocument(Reason.TOO_BIG)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-B", "-P", "-s", "-m", "memory.reading.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "LC_ALL": "C.UTF-8"},
    )
    try:
        async with asyncio.timeout(limits.seconds):
            answer = await _exchange(process, encode_request(data, name, limits), limits)
            code = await process.wait()
    except TimeoutError as error:
        raise UnreadableDocument(Reason.TIMED_OUT) from error
    finally:
        await _end(process)
    if code != 0:
        log.warning("the reading process ended with code %s on %s bytes", code, len(data))
        raise UnreadableDocument(_DEATHS.get(code, Reason.CORRUPT))
    return decode_answer(answer)


def encode_request(data: bytes, name: str, limits: ReadingLimits) -> bytes:
    """One line of JSON, then the file."""
    header = json.dumps({"name": name, "limits": dataclasses.asdict(limits)})
    return header.encode("ascii") + b"\n" + data


def decode_request(request: bytes) -> tuple[bytes, str, ReadingLimits]:
    """The inverse of `encode_request`."""
    header, _, data = request.partition(b"\n")
    fields = json.loads(header)
    return data, fields["name"], ReadingLimits(**fields["limits"])


def encode_answer(outcome: Document | Reason) -> bytes:
    """A document or the reason why there is none, as JSON."""
    if isinstance(outcome, Reason):
        answer: dict[str, Any] = {"reason": outcome}
    else:
        answer = {"document": dataclasses.asdict(outcome)}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def decode_answer(answer: bytes) -> Document:
    """The inverse of `encode_answer`. Raises UnreadableDocument for a reason or nonsense."""
    try:
        fields = json.loads(answer)
        if "reason" in fields:
            raise UnreadableDocument(Reason(fields["reason"]))
        return _document(fields["document"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableDocument(Reason.CORRUPT) from error


def _document(fields: dict[str, Any]) -> Document:
    return Document(
        title=str(fields["title"]),
        media_type=MediaType(fields["media_type"]),
        pages=tuple(
            Page(
                number=None if page["number"] is None else int(page["number"]),
                headings=tuple(map(str, page["headings"])),
                text=str(page["text"]),
            )
            for page in fields["pages"]
        ),
        warnings=tuple(
            ReadingWarning(Concern(warning["concern"]), tuple(map(int, warning["pages"])))
            for warning in fields["warnings"]
        ),
    )


async def _exchange(
    process: asyncio.subprocess.Process, request: bytes, limits: ReadingLimits
) -> bytes:
    """Send and receive at the same time, as both pipes are smaller than what goes through."""
    sending = asyncio.create_task(_send(process, request))
    try:
        return await _receive(process, limits)
    finally:
        sending.cancel()
        await asyncio.wait({sending})


async def _send(process: asyncio.subprocess.Process, request: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(request)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _receive(process: asyncio.subprocess.Process, limits: ReadingLimits) -> bytes:
    assert process.stdout is not None
    most = limits.max_characters * _BYTES_PER_CHARACTER + _SPARE_BYTES
    pieces: list[bytes] = []
    size = 0
    while piece := await process.stdout.read(1 << 20):
        size += len(piece)
        if size > most:
            raise UnreadableDocument(Reason.TOO_BIG)
        pieces.append(piece)
    return b"".join(pieces)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave no process behind, whatever happened."""
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill()
    # asyncio reports the end of a process only once its output was read to the end.
    assert process.stdout is not None
    while await process.stdout.read(1 << 20):
        pass
    await process.wait()

"""The process that `read_in_subprocess` starts: reads standard input, answers once, ends."""

from __future__ import annotations

import math
import os
import resource
import sys

from memory.reading.document import Document, ReadingLimits
from memory.reading.errors import Reason, UnreadableDocument
from memory.reading.isolation import decode_request, encode_answer
from memory.reading.reader import read_document


def main() -> None:
    """Read one request and write one answer."""
    # Native libraries may print; only the answer goes to the real standard output.
    answer_to = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    data, name, limits = decode_request(sys.stdin.buffer.read())
    confine(limits)
    answer = encode_answer(_outcome(data, name, limits))
    with os.fdopen(answer_to, "wb") as stream:
        stream.write(answer)
    sys.stdout.flush()
    os._exit(0)  # tearing native libraries down after hostile input is a risk without a gain


def confine(limits: ReadingLimits) -> None:
    """Lower this process's limits for good; they cannot be raised again."""
    seconds = math.ceil(limits.seconds)
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    _limit(resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes)
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_FSIZE, 0, 0)


def _limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        if sys.platform == "linux":  # macOS knows RLIMIT_AS and refuses to set it
            raise


def _outcome(data: bytes, name: str, limits: ReadingLimits) -> Document | Reason:
    try:
        return read_document(data, name, limits=limits)
    except UnreadableDocument as error:
        return error.reason
    except BaseException:  # noqa: BLE001 - a panic in Rust code is no Exception; the top of a job
        return Reason.CORRUPT


if __name__ == "__main__":
    main()

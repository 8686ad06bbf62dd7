"""The program as people meet it: processes, pipes, a terminal, and everything that goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.e2e.program import SECONDS, Program
from tests.fakes import bytes_of, encodings
from tests.ollama_double import Answer, ChatRequest, OllamaDouble

pytestmark = pytest.mark.slow


@pytest.fixture
def program(prepared: Path, tmp_path: Path) -> Program:
    """The program with an empty memory."""
    folder = tmp_path / "data"
    shutil.copytree(prepared, folder)
    return Program(folder)


def read_until(source: int | IO[bytes], wanted: bytes) -> bytes:
    """What was read until `wanted` came; fails when the end or the time limit comes first."""
    descriptor = source if isinstance(source, int) else source.fileno()
    seen = b""
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], SECONDS)
        assert ready, (seen, "and then nothing more")
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # a terminal whose other side has closed
            part = b""
        assert part, (seen, "and then the end")
        seen += part
    return seen


# -- the main job ----------------------------------------------------------------------------------

STORIES: dict[str, dict[str, Any]] = {
    "en": {
        "told": ["My name is Taro Yamada.", "I live in Wakkanai.", "I like grilled mackerel."],
        "asked": ["What is my name?", "Where do I live?", "What do I like?"],
        "unique": ["Wakkanai", "wakkanai"],
    },
    "ja": {
        "told": ["私の名前は山田太郎です。", "稚内に住んでいます。", "焼き鯖が好きです。"],
        "asked": ["私の名前は何ですか？", "どこに住んでいますか？", "私は何が好きですか？"],
        "unique": ["稚内"],
    },
}


@pytest.mark.parametrize("locale", STORIES)
def test_told_in_one_process_and_asked_listed_and_forgotten_in_others(
    tmp_path: Path, locale: str
) -> None:
    story = STORIES[locale]
    told, asked = story["told"], story["asked"]
    quotes = [text.rstrip(".。") for text in told]
    program = Program(tmp_path / "data", {"OBOETE_LOCALE": locale})
    first = program.chat(*told, *asked)
    assert (first.code, first.err) == (0, "")
    assert len(first.answers) == 6
    for quote, answer in zip([*quotes, *quotes], first.answers, strict=True):
        assert quote in answer

    second = program.chat(*asked, "/facts")
    assert (second.code, second.err) == (0, "")
    for quote, answer in zip(quotes, second.answers[:3], strict=True):
        assert quote in answer
    assert len(second.answers[3].splitlines()) == 4

    listed = json.loads(program.run("facts", "list", "--user", "taro", "--json").out)["facts"]
    assert [fact["text"].rstrip(".。") for fact in listed] == quotes
    assert list(listed[0]) == [
        "id",
        "text",
        "subject",
        "attribute",
        "audience",
        "language",
        "learned_at",
        "valid_from",
        "valid_until",
        "origin",
        "evidence",
    ]
    assert listed[1]["subject"] == "console:local:taro"
    assert listed[1]["attribute"] == "home"
    assert listed[1]["language"] == locale
    assert listed[1]["learned_at"].endswith("Z")
    assert list(listed[1]["evidence"][0]) == ["message_id", "permalink"]
    others = program.run("facts", "list", "--user", "hanako", "--json")
    assert (others.code, json.loads(others.out)) == (0, {"facts": []})

    forgotten = program.chat(f"/forget {listed[1]['id']}", asked[1])
    assert forgotten.code == 0
    assert quotes[1] not in forgotten.answers[1]
    for command in ("chat", "reindex", "chat"):
        if command == "reindex":
            assert program.run("reindex").code == 0
            continue
        again = program.chat(*asked)
        assert quotes[1] not in again.out
        assert quotes[0] in again.answers[0]
        assert quotes[2] in again.answers[2]
    left = bytes_of(program.folder)
    assert [n for n, form in encodings(story["unique"]).items() if form in left] == []
    check = program.run("check")
    assert (check.code, check.err) == (0, "")


def test_a_private_channel_that_becomes_public_keeps_what_was_said_before(
    program: Program,
) -> None:
    asked = "What is the pass phrase?"

    def say(user: str, *lines: str, private: bool = False) -> str:
        flags = ["--private"] if private else []
        said = "".join(f"{line}\n" for line in lines)
        ended = program.run("chat", "--user", user, "--channel", "plans", *flags, said=said)
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    say("taro", "The pass phrase is zorilla.", private=True)
    assert "zorilla" not in say("hanako", asked)
    assert "numbat" in say("hanako", "The pass phrase is numbat.", asked)
    assert "zorilla" not in program.run("ask", "--user", "taro", asked).out
    assert "numbat" in program.run("ask", "--user", "taro", asked).out
    assert "zorilla" in say("taro", "Is the pass phrase zorilla?", private=True)
    assert program.run("check").code == 0


# -- a terminal ------------------------------------------------------------------------------------


@contextlib.contextmanager
def terminal(program: Program, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The program in a terminal: the process, and the descriptor of the keyboard and screen."""
    screen, inside = pty.openpty()
    process = program.start(*arguments, stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    try:
        yield process, screen
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(screen)


def rest(screen: int) -> bytes:
    """What stands on the screen after the program has ended."""
    seen = b""
    with contextlib.suppress(OSError):  # the other side has closed
        while part := os.read(screen, 4096):
            seen += part
    return seen


def test_in_a_terminal_there_is_a_banner_and_a_prompt(program: Program) -> None:
    with terminal(program, "chat", "--user", "taro") as (process, screen):
        assert b"/memory help" in read_until(screen, b"> ")
        os.write(screen, "猫が好きです。\n".encode())
        shown = read_until(screen, b"\r\n\r\n> ")
        assert shown.count("猫が好きです".encode()) == 2
        os.write(screen, b"\x04")
        assert process.wait(SECONDS) == 0
        assert rest(screen).strip() == b""


def test_ctrl_c_at_the_prompt_ends_at_once(program: Program) -> None:
    with terminal(program, "chat", "--user", "taro") as (process, screen):
        read_until(screen, b"> ")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        assert b"Traceback" not in rest(screen)


async def test_ctrl_c_in_the_middle_of_an_answer_loses_nothing(program: Program) -> None:
    def half_an_answer(asked: ChatRequest) -> Answer:
        return Answer("{}") if asked.schema else Answer("This is the beginning", hang=True)

    async with OllamaDouble(half_an_answer) as server:
        program.settings = {
            "OBOETE_CHAT_MODEL": "ollama:qwen3:4b",
            "OLLAMA_HOST": server.url,
        }
        process = program.start("chat", "--user", "taro")
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None

        def interrupt() -> tuple[int, bytes]:
            stdin.write(b"My locker is number 4711, what do you say?\n")
            stdin.flush()
            read_until(stdout, b"beginning")
            process.send_signal(signal.SIGINT)
            code = process.wait(SECONDS)
            return code, stderr.read()

        code, said = await asyncio.to_thread(interrupt)
        for stream in (stdin, stdout, stderr):
            stream.close()
    assert code == 130
    assert b"Traceback" not in said
    program.settings = {}
    found = program.run("search", "--user", "taro", "locker")
    assert "4711" in found.out
    assert program.run("check").code == 0


# -- pipes -----------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_ends_it_quietly(program: Program) -> None:
    process = program.start("chat", "--user", "taro")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"I like cats.\n")
    process.stdin.flush()
    read_until(process.stdout, b"\n\n")
    process.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"I like dogs.\n" * 5)
        process.stdin.close()
    assert process.wait(SECONDS) == 1
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert "I like cats." in program.run("facts", "list", "--user", "taro").out
    assert program.run("check").code == 0


def test_a_list_into_a_closed_pipe_ends_quietly(program: Program) -> None:
    program.chat("I like cats.")
    process = program.start("facts", "list", "--user", "taro", stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait(SECONDS)
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


ODD_LINES: dict[str, bytes] = {
    "empty": b"",
    "spaces": b"   ",
    "100 kB": "猫が好き。".encode() * 7_000,
    "over the limit": b"a" * 150_000,
    "binary": bytes(range(128, 256)) + b"\x00\x01\x02",
    "lone surrogates": b"\xed\xa0\x80 and \xed\xb0\x80",
    "right to left": "\u202eאני גר באוסקה\u202c".encode(),
    "emoji": "👩‍👩‍👧👍🏽🇯🇵".encode(),
    "zero width": "\u200b\u200d\ufeff".encode(),
    "control": b"\x1b[31mred\x07",
    "carriage return": b"I like tea.\r",
    "not a command": b"/nonsense",
    "two slashes": b"//",
    "format": b"{text} %s {0}",
    "overlong ligatures": "\ufdfa".encode() * 500,
}


def test_nothing_that_is_typed_breaks_it(program: Program) -> None:
    said = b"\n".join([*ODD_LINES.values(), b"I like cats.", b"What do I like?"])
    ended = program.run("chat", "--user", "taro", said=said)  # no newline after the last line
    assert (ended.code, ended.err) == (0, "")
    assert "I like cats" in ended.answers[-1]
    assert "\x1b" not in ended.out
    assert program.run("check").code == 0
    exported = program.run("facts", "export", "--user", "taro")
    assert exported.code == 0
    assert "👩‍👩‍👧👍🏽🇯🇵" in {item["text"] for item in json.loads(exported.out)["messages"]}


# -- what surrounds it -----------------------------------------------------------------------------


def test_a_second_process_is_refused_and_told_who_serves(program: Program) -> None:
    first = program.start("chat", "--user", "taro")
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write(b"I like cats.\n")
    first.stdin.flush()
    read_until(first.stdout, b"\n\n")
    second = program.chat("I like dogs.", user="hanako")
    assert (second.code, second.out) == (2, "")
    assert f"process {first.pid}" in second.complained_in_one_line()
    listed = program.run("facts", "list", "--user", "taro")
    assert (listed.code, "cats" in listed.out) == (0, True)
    out, err = first.communicate(b"I like birds.\n", timeout=SECONDS)
    assert (first.returncode, b"birds" in out, err) == (0, True, b"")


def test_after_a_kill_the_next_process_starts_at_once(program: Program) -> None:
    first = program.start("chat", "--user", "taro")
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write(b"I like cats.\n")
    first.stdin.flush()
    read_until(first.stdout, b"\n\n")
    first.kill()
    first.communicate(timeout=SECONDS)
    second = program.chat("What do I like?")
    assert (second.code, "cats" in second.out) == (0, True)


def not_a_database(program: Program) -> None:
    (program.folder / "oboete.db").write_bytes(b"Dear diary, " * 1000)


def a_folder(program: Program) -> None:
    (program.folder / "oboete.db").unlink()
    (program.folder / "oboete.db").mkdir()


def half_a_database(program: Program) -> None:
    path = program.folder / "oboete.db"
    path.write_bytes(path.read_bytes()[:20_000])


def data_folder_is_a_file(program: Program) -> None:
    shutil.rmtree(program.folder)
    program.folder.touch()


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (not_a_database, "not a SQLite database"),
        (a_folder, "cannot be opened"),
        (half_a_database, "database"),
        (data_folder_is_a_file, "data folder cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_clear_line(
    program: Program, damage: Callable[[Program], None], expected: str
) -> None:
    damage(program)
    ended = program.chat("I like cats.")
    assert (ended.code, ended.out) == (1, "")
    assert expected in ended.complained_in_one_line()


def test_a_full_disk_is_one_clear_line_and_loses_nothing_acknowledged(program: Program) -> None:
    size = (program.folder / "oboete.db").stat().st_size + 300_000

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    long = "長い" * 400
    said = ["".join(f"私の番号{n}の{m}は{long}です。" for m in range(8)) for n in range(60)]
    lines = "".join(f"{line}\n" for line in said)
    ended = program.run("chat", "--user", "taro", said=lines, before=small_disk)
    assert ended.code == 1
    assert "disk" in ended.complained_in_one_line()
    answered = [n for n in range(60) if f"：私の番号{n}の0は" in ended.out]
    assert 0 < len(answered) < 60
    exported = json.loads(program.run("facts", "export", "--user", "taro").out)
    kept = [fact["text"] for fact in exported["facts"]]
    assert all(any(text.startswith(f"私の番号{n}の0は") for text in kept) for n in answered)
    assert program.run("check").code == 0


# -- settings and usage ----------------------------------------------------------------------------


def test_every_wrong_setting_is_named_with_its_fix(program: Program) -> None:
    program.settings = {
        "OBOETE_CHATMODEL": "none",
        "OBOETE_CHAT_MODEL": "gpt",
        "OBOETE_HEALTH_PORT": "99999",
        "OBOETE_TIME_ZONE": "Mars/Olympus",
        "SLACK_BOT_TOKEN": "xoxb-secret-1234567890",
    }
    ended = program.chat("I like cats.")
    assert (ended.code, ended.out) == (2, "")
    for name in program.settings:
        assert (name in ended.err) is name.startswith("OBOETE_"), name
    assert "did you mean OBOETE_CHAT_MODEL?" in ended.err
    assert "secret" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("chat", "--private"),
        ("chat", "--user", "only:two"),
        ("facts", "list"),
        ("search", "words"),
        ("search", "words", "--user", "taro", "--channel", "general"),
        ("run",),
    ],
)
def test_wrong_usage_exits_with_two(program: Program, arguments: tuple[str, ...]) -> None:
    ended = program.run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip()
    assert "Traceback" not in ended.err

"""The command line. Text by default, `--json` wherever data is printed; no traceback to users.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from adapters.console_platform import DEFAULT_TENANT, NAME, clean, printable
from bot import app as application
from bot import (
    app_terminal,
    app_tokens,
    batch,
    eval_cli,
    export,
    knowledge_cli,
    logging_setup,
    operations_cli,
)
from bot import doctor as examination
from bot.analysis_cli import databases_cli
from bot.app import App
from bot.errors import BadSettings, BotFault
from bot.i18n import translator
from bot.mcp_cli import mcp_cli
from bot.messages import EventKind, Reply
from bot.settings import Settings, load
from memory import maintenance
from memory.errors import LeaseHeld, MemoryFault, SchemaMismatch
from memory.types import Audience, Hit, Person

T = TypeVar("T")

FAILED, USAGE, INTERRUPTED = 1, 2, 130

cli = typer.Typer(
    name="oboete",
    help="Oboete (覚えて): a self-hosted chat bot that remembers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
facts_cli = typer.Typer(
    help="What is known about a person.", no_args_is_help=True, rich_markup_mode=None
)
cli.add_typer(facts_cli, name="facts")
cli.add_typer(knowledge_cli.sources_cli, name="sources")
cli.add_typer(databases_cli, name="databases")
cli.add_typer(mcp_cli, name="mcp")
cli.command()(knowledge_cli.ingest)
cli.command()(knowledge_cli.bases)
cli.command("eval")(eval_cli.evaluate)


def main() -> NoReturn:
    """Run the program and exit."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        code = cli(standalone_mode=False, obj=_shell())
    except typer.Exit as error:
        code = error.exit_code
    except (BadSettings, LeaseHeld, SchemaMismatch) as error:
        code = _complain(error, USAGE)
    except (BotFault, MemoryFault) as error:
        code = _complain(error, FAILED)
    except BrokenPipeError:
        code = FAILED
    except (KeyboardInterrupt, typer.Abort, asyncio.CancelledError):
        print(file=sys.stderr)  # noqa: T201
        code = INTERRUPTED
    except OSError as error:
        code = _complain(error, FAILED)
    except Exception as error:  # noqa: BLE001 - the top of the program: usage errors and surprises
        code = _explain(error)
    _flush()
    sys.exit(code if isinstance(code, int) else 0)


def _complain(error: BaseException, code: int) -> int:
    said = str(error)
    if isinstance(error, BotFault) and error.fix:  # after a list a line of its own
        said = f"{said}\n{error.fix}" if "\n" in said else f"{said.rstrip('.')}. {error.fix}"
    print(f"oboete: {said}", file=sys.stderr)  # noqa: T201
    return code


def _explain(error: Exception) -> int:
    """Show a usage error as the command-line library words it, and a bug as one line."""
    show = getattr(error, "show", None)
    if callable(show):
        show()
        return int(getattr(error, "exit_code", USAGE))
    logging.getLogger(__name__).debug("unexpected", exc_info=error)
    print(f"oboete: an unexpected error: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
    return FAILED


def _flush() -> None:
    """Write out what is left; a reader that has gone away is no error worth a traceback."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


LOG_FILE = "oboete.log"


def _settings(*, log_to_file: bool = False) -> Settings:
    """Load the settings and start the log: on stderr, or, for a talk, in the data folder."""
    settings = load()
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    with contextlib.suppress(OSError):  # whoever can read the folder reads everything
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log_to_file:
        with contextlib.suppress(OSError):
            handler = RotatingFileHandler(settings.data_dir / LOG_FILE, maxBytes=1 << 20)
    logging_setup.configure(settings.log_level, settings.log_format, handler)
    return settings


def _run(work: Callable[[App], Awaitable[T]], settings: Settings | None = None) -> T:
    """Open the app, do the work, close the app."""

    async def inside() -> T:
        async with application.opened(settings or _settings()) as app:
            return await work(app)

    return asyncio.run(inside())


def _print(text: str) -> None:
    print(printable(text))  # noqa: T201


def _print_json(data: Any) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))  # noqa: T201


def _shell() -> knowledge_cli.Shell:
    return knowledge_cli.Shell(_run, _print, _print_json, person_of, channel_of, _command)


# -- who and where -------------------------------------------------------------------------------


def person_of(name: str) -> Person:
    """`platform:tenant:id`, or a bare name on the console."""
    return _address(Person, name)


def channel_of(name: str) -> Audience:
    """`platform:tenant:id`, or the bare name of a console channel."""
    place = _address(Audience, name.removeprefix("#"))
    if place.time:
        raise typer.BadParameter(f"{printable(name)!r} is no channel")
    return place


Address = TypeVar("Address", Person, Audience)


def _address(kind: type[Address], name: str) -> Address:
    text = clean(name).strip()
    try:
        return kind.parse(text) if ":" in text else kind(NAME, DEFAULT_TENANT, text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{printable(name)!r} is neither a name nor platform:tenant:id"
        ) from error


User = Annotated[str, typer.Option("--user", help="Whose: a name, or platform:tenant:id")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask")]


# -- talking -------------------------------------------------------------------------------------


@cli.command()
def chat(
    user: Annotated[str, typer.Option("--user", help="Who you are")] = "",
    channel: Annotated[
        str, typer.Option("--channel", help="Talk in this channel instead of a DM")
    ] = "",
    private: Annotated[bool, typer.Option("--private", help="The channel is private")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show how each answer came about")] = False,
) -> None:
    """Talk in the terminal."""
    if private and not channel:
        raise typer.BadParameter("--private needs --channel")
    person = person_of(user or os.environ.get("USER") or "me")
    place = channel_of(channel) if channel else None
    settings = _settings(log_to_file=True)

    async def work(app: App) -> bool:
        if sys.stdin.isatty() and sys.stdout.isatty():
            say = translator(settings.locale)
            model = app.model.name if app.model else say("no language model: I remember and find")
            _print(say("Oboete ({model}). /memory help lists commands; Ctrl-D ends.", model=model))
        return await app_terminal.chat(app, person, place, private=private, trace=trace)

    if not _run(work, settings):
        raise typer.Exit(FAILED)


# -- facts ---------------------------------------------------------------------------------------


async def _command(app: App, person: Person, text: str) -> Reply:
    """Run a command of the registry as the person, in their own DM."""
    message = await app_terminal.question(app, text, person, None)
    message = replace(message, kind=EventKind.COMMAND, private_reply=True)
    return await app.commands.run(text, message, translator(app.settings.locale))


def _facts_command(user: str, text: str, *, as_json: bool = False) -> None:
    async def work(app: App) -> Reply:
        return await _command(app, person_of(user), text)

    reply = _run(work)
    if as_json:
        _print_json(export.facts(reply.facts or reply.learned))
    else:
        asks = [choice for choice in reply.choices if choice.danger]
        said = reply.text
        for choice in asks:
            said = said.replace(f"/memory {choice.command}", _typed(choice.command, user))
        _print(said)
        if asks:  # and nobody is there to answer
            raise typer.Exit(FAILED)


def _typed(command: str, user: str) -> str:
    """A command of the registry as one of `oboete facts`."""
    name, _, argument = command.partition(" ")
    return f"oboete facts {name} --user {shlex.quote(user)} {argument}"


@facts_cli.command("list")
def facts_list(user: User, as_json: AsJson = False) -> None:
    """List what is known about a person."""
    _facts_command(user, "list", as_json=as_json)


@facts_cli.command("search")
def facts_search(user: User, words: list[str], as_json: AsJson = False) -> None:
    """Search what a person may read."""
    _facts_command(user, f"search {' '.join(map(clean, words))}", as_json=as_json)


@facts_cli.command("add")
def facts_add(user: User, text: list[str], as_json: AsJson = False) -> None:
    """Remember something for a person."""
    _facts_command(user, f"remember {' '.join(map(clean, text))}", as_json=as_json)


@facts_cli.command("forget")
def facts_forget(user: User, what: list[str], yes: Yes = False) -> None:
    """Forget by numbers, by words, or everything."""
    _facts_command(user, f"forget {' '.join(map(clean, what))}{' --yes' if yes else ''}")


@facts_cli.command("export")
def facts_export(user: User, markdown: Annotated[bool, typer.Option("--markdown")] = False) -> None:
    """Print everything a person may take with them, as JSON or Markdown."""

    async def work(app: App) -> Reply:
        return await _command(app, person_of(user), f"export {'markdown' if markdown else 'json'}")

    reply = _run(work)
    assert reply.file is not None
    _print(reply.file.data.decode("utf-8"))


# -- searching -----------------------------------------------------------------------------------


@cli.command()
def search(
    query: list[str],
    user: Annotated[str, typer.Option("--user", help="Who asks")] = "",
    channel: Annotated[str, typer.Option("--channel", help="Where it is asked")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each signal gave")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100)] = 10,
    as_json: AsJson = False,
) -> None:
    """Search alone, without an answer."""
    if bool(user) == bool(channel):
        raise typer.BadParameter("give either --user or --channel: it decides what is readable")

    async def work(app: App) -> list[Hit]:
        person = person_of(user) if user else None
        readable = await app.readable(person, channel_of(channel) if channel else None)
        return await app.memory.recall(clean(" ".join(query)), readable, limit)

    hits = _run(work)
    if as_json:
        _print_json({"hits": [_hit(hit) for hit in hits]})
        return
    for number, hit in enumerate(hits, start=1):
        signals = " ".join(f"{name}={value:+.2f}" for name, value in hit.signals)
        detail = f"  [{signals}]" if explain else ""
        day = hit.said_at.date().isoformat()
        _print(f"{number}. {hit.score:+.2f} {day} {' '.join(hit.text.split())}{detail}")


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "kind": hit.ref.kind.name.lower(),
        "id": hit.ref.id,
        "score": hit.score,
        "text": hit.text,
        "audience": str(hit.audience),
        "said_at": export.instant(hit.said_at),
        "signals": dict(hit.signals),
    }


@cli.command()
def ask(
    question: Annotated[list[str] | None, typer.Argument(help="The question")] = None,
    user: Annotated[str, typer.Option("--user", help="Who asks")] = "",
    channel: Annotated[str, typer.Option("--channel", help="Where it is asked")] = "",
    plain: Annotated[bool, typer.Option("--plain", help="One search, no rewriting")] = False,
    file: Annotated[Path | None, typer.Option("--file", help="A file of questions")] = None,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Report of --file")] = None,
    to_md: Annotated[Path | None, typer.Option("--md", help="Report of --file")] = None,
    as_json: AsJson = False,
) -> None:
    """One answer, or a file of questions answered into reports; nothing is stored."""
    if bool(user) == bool(channel):
        raise typer.BadParameter("give either --user or --channel: it decides what is readable")
    if bool(question) == bool(file):
        raise typer.BadParameter("give either a question or --file")
    if file is not None and to_csv is None:
        raise typer.BadParameter("--file needs --csv")
    asker = person_of(user) if user else None
    place = channel_of(channel) if channel else None

    async def work(app: App) -> None:
        async def reply_to(text: str) -> Reply:
            message = await app_terminal.question(app, clean(text), asker, place, plain=plain)
            return await app.responder.ask(message)

        if file is None or to_csv is None:
            reply = await reply_to(" ".join(question or ()))
            if as_json:
                _print_json(_answer(reply))
            else:
                _print(reply.text)
            return
        questions = batch.read_questions(file)
        rows = []
        with typer.progressbar(length=len(questions), label="Answering", file=sys.stderr) as bar:
            async for row in batch.answer_all(questions, reply_to, to_csv):
                rows.append(row)
                bar.update(1)
        if to_md is not None:
            to_md.write_text(batch.to_markdown(rows), encoding="utf-8")

    _run(work)


def _answer(reply: Reply) -> dict[str, Any]:
    return {
        "answer": reply.text,
        "type": reply.route,
        "base": reply.base,
        "confidence": reply.confidence,
        "sources": [
            {"number": item.number, "label": item.label, "permalink": item.permalink}
            for item in reply.citations
        ],
    }


# -- installation --------------------------------------------------------------------------------

slack_cli = typer.Typer(
    help="Installing Oboete in Slack.", no_args_is_help=True, rich_markup_mode=None
)
discord_cli = typer.Typer(
    help="Installing Oboete in Discord.", no_args_is_help=True, rich_markup_mode=None
)
cli.add_typer(slack_cli, name="slack")
cli.add_typer(discord_cli, name="discord")


@slack_cli.command("manifest")
def slack_manifest(
    request_url: Annotated[str, typer.Option("--request-url", help="For `run --http`")] = "",
) -> None:
    """Print the app manifest."""
    from adapters.slack_manifest import manifest  # imports slack_sdk: only here

    _print_json(manifest(request_url=request_url or None))


@discord_cli.command("invite")
def discord_invite() -> None:
    """Print the link that adds Oboete to a server."""
    from adapters.discord_invite import application_id, invite_text  # imports discord: only here

    token = _settings().discord_token.get_secret_value()
    if not token:
        raise BadSettings("DISCORD_TOKEN is not set.", fix="Copy it from the Bot page.")
    try:
        _print(invite_text(application_id(token)))
    except ValueError as error:
        raise BadSettings(f"DISCORD_TOKEN: {error}", fix="Copy it again.") from error


# -- operations ----------------------------------------------------------------------------------


@cli.command()
def run(
    http: Annotated[bool, typer.Option("--http", help="Slack over HTTP, not Socket Mode")] = False,
) -> None:
    """Start every platform that has tokens."""
    settings = _settings()
    app_tokens.require(settings, http=http)
    _run(lambda app: application.run(app, http=http), settings)


@cli.command()
def migrate() -> None:
    """Bring the database to the newest schema."""
    settings = _settings()
    application.migrate(settings)
    _print("The database is at the newest schema.")


@cli.command()
def reindex() -> None:
    """Build keyword entries and vectors anew from the stored texts."""

    async def work(app: App) -> tuple[int, int]:
        count = await app.database.write(lambda s: maintenance.reindex(s, app.clock()))
        await app.memory.embedding.drain()
        return count, await app.memory.embedding.waiting()

    count, waiting = _run(work)
    left = f" {waiting} still wait for the embedding model." if waiting else ""
    _print(f"Indexed {count} records.{left}")


@cli.command()
def check(as_json: AsJson = False) -> None:
    """Prove that rows, keyword entries and vectors agree."""

    async def work(app: App) -> list[str]:
        return await app.database.read(lambda s: maintenance.check(s, app.ledger))

    problems = _run(work)
    if as_json:
        _print_json({"problems": problems})
    elif not problems:
        _print("Everything agrees.")
    else:
        for problem in problems:
            _print(f"- {problem}")
    if problems:
        raise typer.Exit(FAILED)


@cli.command()
def doctor(as_json: AsJson = False) -> None:
    """Examine settings, database, models and tokens; say what to fix."""
    findings = asyncio.run(examination.examine())
    if as_json:
        _print_json({"findings": [finding.as_data() for finding in findings]})
    else:
        for finding in findings:
            _print(str(finding))
    if any(not finding.ok for finding in findings):
        raise typer.Exit(FAILED)


operations_cli.register(cli, operations_cli.Terminal(_run, _settings, _print, _print_json))

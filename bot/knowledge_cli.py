"""`oboete ingest`, `oboete sources` and `oboete bases`: knowledge from the terminal.

Whoever runs this holds the database file, so without `--user` or `--channel` everything is
shown; with one of them, what can be read there.
"""

from __future__ import annotations

import glob
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from bot.admin_places import ADMINS
from bot.app import App
from bot.citing import extent
from bot.export import instant
from bot.i18n import translator
from bot.messages import Reply
from memory.errors import NotPermitted
from memory.knowledge import Added, KnowledgeBase, NewSource, Outcome, Progress, Source
from memory.reading import UnreadableDocument
from memory.types import Audience, Person, Readable

T = TypeVar("T")

SUFFIXES = {
    *(".pdf", ".docx", ".pptx", ".xlsx", ".csv", ".tsv"),
    *(".html", ".htm", ".md", ".markdown", ".txt", ".text"),
}
"""What is taken from a folder; a file that is named is always tried."""

EMBED_STEP = 32
OPERATOR = Person("console", "local", "operator")
"""Who added what was ingested without `--user`."""


class Run(Protocol):
    """Opens the app, does the work, closes the app."""

    def __call__(self, work: Callable[[App], Awaitable[T]]) -> T: ...


@dataclass(frozen=True, slots=True)
class Shell:
    """What the commands need of the program around them: the object of their context."""

    run: Run
    print: Callable[[str], None]
    print_json: Callable[[Any], None]
    person_of: Callable[[str], Person]
    channel_of: Callable[[str], Audience]
    command: Callable[[App, Person, str], Awaitable[Reply]]
    """Runs a command of the registry as a person, in their own DM."""


Paths = Annotated[list[str], typer.Argument(help="Files, folders, or patterns such as 'docs/*.md'")]
Base = Annotated[str, typer.Option("--base", help="Name of the knowledge base")]
User = Annotated[str, typer.Option("--user", help="As whom: a name, or platform:tenant:id")]
Channel = Annotated[str, typer.Option("--channel", help="The place that may read it")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]


sources_cli = typer.Typer(
    help="The documents of knowledge bases.", no_args_is_help=True, rich_markup_mode=None
)


def ingest(
    ctx: typer.Context,
    paths: Paths,
    base: Base,
    user: User = "",
    channel: Channel = "",
    as_json: AsJson = False,
) -> None:
    """Add documents to a knowledge base; run it again to go on or to take over changes."""
    shell: Shell = ctx.obj
    files = expand(paths)
    by = shell.person_of(user) if user else OPERATOR
    place = shell.channel_of(channel) if channel else None
    results = shell.run(lambda app: _ingest(app, shell, files, base, place, by, quiet=as_json))
    if as_json:
        shell.print_json({"files": [_result(path, got) for path, got in results]})
    if any(isinstance(got, UnreadableDocument) for _, got in results):
        raise typer.Exit(1)


def bases(
    ctx: typer.Context, user: User = "", channel: Channel = "", as_json: AsJson = False
) -> None:
    """List knowledge bases, who can read each, and how much is in it."""
    shell: Shell = ctx.obj

    async def work(app: App) -> list[KnowledgeBase]:
        return await app.knowledge.bases(await _readable(app, shell, user, channel))

    found = shell.run(work)
    if as_json:
        shell.print_json({"bases": [_base(base) for base in found]})
        return
    for base in found:
        shell.print(
            f"{base.name}  {_count(base.sources, 'document')}, {_count(base.chunks, 'chunk')}"
            f"  readable in {base.audience}"
        )


@sources_cli.command("list")
def sources_list(
    ctx: typer.Context,
    base: Annotated[str, typer.Option("--base", help="Of this base only")] = "",
    user: User = "",
    channel: Channel = "",
    as_json: AsJson = False,
) -> None:
    """List documents."""
    shell: Shell = ctx.obj

    async def work(app: App) -> list[Source]:
        readable = await _readable(app, shell, user, channel)
        if not base:
            return await app.knowledge.sources(readable)
        named = await app.knowledge.bases(readable, name=base)
        return [
            source
            for one in named
            for source in await app.knowledge.sources(readable, base_id=one.id)
        ]

    found = shell.run(work)
    if as_json:
        shell.print_json({"sources": [_source(source) for source in found]})
        return
    for source in found:
        shell.print(
            f"{source.id}  {source.name}  {source.base}  {extent(source, translator('en'))},"
            f" {_count(source.chunks, 'chunk')}, {source.size} bytes  {source.added_at.date()}"
            f"  {source.added_by}"
        )


@sources_cli.command("remove")
def sources_remove(
    ctx: typer.Context,
    ids: Annotated[list[int], typer.Argument(help="Numbers from `oboete sources list`")],
    user: User = "",
) -> None:
    """Remove documents with everything that was made from them."""
    shell: Shell = ctx.obj

    async def work(app: App) -> int:
        readable = await _readable(app, shell, user, "")
        by = shell.person_of(user) if user else OPERATOR
        is_admin = not user or str(by) in app.settings.admins
        removed = 0
        for number in ids:
            try:
                await app.knowledge.remove(number, by, readable, is_admin=is_admin)
            except NotPermitted:
                shell.print(f"{number}: there is no such document that is yours to remove.")
            else:
                removed += 1
                shell.print(f"{number}: removed.")
        return removed

    if shell.run(work) < len(ids):
        raise typer.Exit(1)


def expand(paths: Sequence[str]) -> list[Path]:
    """The files that are meant: absolute, sorted within each path, none twice.

    Raises BadParameter for a path that leads nowhere.
    """
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text)
        matches = [path] if path.exists() else sorted(map(Path, glob.glob(text, recursive=True)))
        if not matches:
            raise typer.BadParameter(f"there is no file {text!r}")
        for match in matches:
            found.update(dict.fromkeys(_files(match)))
    return list(found)


def _files(path: Path) -> Iterator[Path]:
    """A file itself; of a folder, the readable kinds of files below it that are not hidden.

    Links out of the folder are not followed.
    """
    if not path.is_dir():
        yield path.resolve()
        return
    folder = path.resolve()
    for below in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in below.relative_to(path).parts)
        if hidden or below.suffix.lower() not in SUFFIXES or not below.is_file():
            continue
        file = below.resolve()
        if file.is_relative_to(folder):  # else a link leads out of the folder that was named
            yield file


Result = Added | UnreadableDocument


async def _ingest(
    app: App,
    shell: Shell,
    files: Sequence[Path],
    name: str,
    place: Audience | None,
    by: Person,
    *,
    quiet: bool,
) -> list[tuple[Path, Result]]:
    base = await _base_for(app, name, place, by)
    results: list[tuple[Path, Result]] = []
    for number, path in enumerate(files, start=1):
        new = NewSource(str(path), path.name, by)
        got: Result
        with _bar(f"[{number}/{len(files)}] {path.name}") as progress:
            try:
                got = await app.knowledge.add(
                    base, new, path.read_bytes(), again=True, progress=progress
                )
            except UnreadableDocument as error:
                got = error
        results.append((path, got))
        if not quiet:
            shell.print(f"{path.name}: {_said(got)}")
    await _embed(app, shell, quiet=quiet)
    if not quiet:
        only = " Administrators alone read it; --channel names a place for others."
        told = only if base.audience == ADMINS else ""
        shell.print(f"Base {base.name} is readable in {base.audience}.{told}")
    return results


async def _base_for(app: App, name: str, place: Audience | None, by: Person) -> KnowledgeBase:
    """The base that is meant: of the place, else the only one of that name, else a new one."""
    if place is None:
        known = await app.knowledge.bases(await app.knowledge.places(), name=name)
        if len(known) == 1:
            return known[0]
        if known:
            raise typer.BadParameter(
                f"there are {len(known)} bases called {name!r}; say which with --channel"
            )
    try:
        return await app.knowledge.ensure_base(name, place or ADMINS, by)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


async def _embed(app: App, shell: Shell, *, quiet: bool) -> None:
    """Give the new chunks their vectors; what cannot be embedded now waits."""
    embedding = app.memory.embedding
    total = await embedding.waiting()
    done = 0
    with _bar("embedding") as progress:
        while count := await embedding.drain(EMBED_STEP):
            done += count
            progress(min(done, total), total)
    left = await embedding.waiting()
    if left and not quiet:
        shell.print(f"{left} texts wait for the embedding model; keywords find them already.")
    await app.knowledge.refresh_means()


@contextmanager
def _bar(label: str) -> Iterator[Progress]:
    """A progress bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with typer.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def show(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield show


async def _readable(app: App, shell: Shell, user: str, channel: str) -> Readable:
    if user and channel:
        raise typer.BadParameter("give --user or --channel, not both")
    if channel:
        return await app.readable(None, shell.channel_of(channel))
    if user:
        return await app.readable(shell.person_of(user), None)
    return await app.knowledge.places()


def _said(got: Result) -> str:
    if isinstance(got, UnreadableDocument):
        return str(got)
    assert got.source is not None  # asked for again: never refused as forgotten
    said = {
        Outcome.NEW: "added",
        Outcome.REPLACED: "replaced by its new state",
        Outcome.UNCHANGED: "unchanged",
    }[got.outcome]
    left_out = [
        f"{warning.concern.value.replace('_', ' ')}"
        + (f" {', '.join(map(str, warning.pages[:10]))}" if warning.pages else "")
        for warning in got.warnings
    ]
    notes = f" ({'; '.join(left_out)})" if left_out else ""
    pages = extent(got.source, translator("en"))
    return f"{said}, {pages}, {_count(got.source.chunks, 'chunk')}{notes}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _result(path: Path, got: Result) -> dict[str, Any]:
    if isinstance(got, UnreadableDocument):
        return {"path": str(path), "outcome": "unreadable", "reason": got.reason.value}
    source = got.source.id if got.source else None
    return {"path": str(path), "outcome": got.outcome.value, "source": source}


def _base(base: KnowledgeBase) -> dict[str, Any]:
    return {
        "id": base.id,
        "name": base.name,
        "audience": str(base.audience),
        "collects": base.collects,
        "sources": base.sources,
        "chunks": base.chunks,
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "id": source.id,
        "name": source.name,
        "title": source.title,
        "base": source.base,
        "audience": str(source.audience),
        "media_type": source.media_type,
        "size": source.size,
        "sha256": source.digest.hex(),
        "pages": source.pages,
        "chunks": source.chunks,
        "added_by": str(source.added_by),
        "added_at": instant(source.added_at),
    }

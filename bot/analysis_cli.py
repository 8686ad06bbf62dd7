"""`oboete databases`: which databases questions about figures may be answered from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from sqlalchemy.engine import make_url

from adapters.sql_sources import open_database, refuse_own
from bot import table_files
from bot.admin_places import ADMINS
from bot.app import App
from bot.errors import DatabaseRefused
from bot.knowledge_cli import OPERATOR, AsJson, Channel, Shell, User
from bot.settings import Settings
from memory.data_sources import DataSource
from memory.store.bases import name_key
from memory.types import Readable

databases_cli = typer.Typer(
    help="Databases for questions about figures, read-only.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Location = Annotated[
    str,
    typer.Argument(help="A SQLite, CSV or XLSX file, or postgresql://USER:PASSWORD@HOST/DATABASE"),
]
Name = Annotated[str, typer.Argument(help="What it is called")]


@databases_cli.command("add")
def databases_add(
    ctx: typer.Context, name: Name, location: Location, user: User = "", channel: Channel = ""
) -> None:
    """Register a database; without --channel only administrators may ask about it."""
    shell: Shell = ctx.obj
    if not name_key(name):
        raise typer.BadParameter("a database needs a name")
    place = shell.channel_of(channel) if channel else ADMINS
    by = shell.person_of(user) if user else OPERATOR

    async def work(app: App) -> DataSource:
        target = await asyncio.to_thread(_prepared, app.settings, name, location)
        await refuse_own(open_database(target))
        return await app.data_sources.register(name, target, place, by)

    source = shell.run(work)
    shell.print(f"{source.name}: questions about it can be asked in {source.audience}.")


@databases_cli.command("list")
def databases_list(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the registered databases."""
    shell: Shell = ctx.obj

    async def work(app: App) -> list[DataSource]:
        return await app.data_sources.listed(await app.data_sources.places())

    found = shell.run(work)
    if as_json:
        rows = [{"id": s.id, "name": s.name, "audience": str(s.audience)} for s in found]
        shell.print_json({"databases": rows})
        return
    for source in found:
        shell.print(f"{source.name}  {_without_password(source.location)}  {source.audience}")


@databases_cli.command("remove")
def databases_remove(ctx: typer.Context, name: Name, channel: Channel = "") -> None:
    """Take a database off the list; the database itself stays as it is."""
    shell: Shell = ctx.obj

    async def work(app: App) -> int:
        place = Readable.of(shell.channel_of(channel)) if channel else None
        readable = place or await app.data_sources.places()
        found = await app.data_sources.listed(readable, name=name)
        if len(found) > 1:
            raise typer.BadParameter("there are several of that name; say which with --channel")
        for source in found:
            await app.data_sources.remove(source)
            await asyncio.to_thread(_delete_loaded, app.settings, Path(source.location))
        return len(found)

    if not shell.run(work):
        shell.print(f"There is no database {name!r}.")
        raise typer.Exit(1)
    shell.print(f"{name}: removed.")


def _folder(settings: Settings) -> Path:
    """Where tables are kept that were loaded from files."""
    return (settings.data_dir / "tables").resolve()


def _delete_loaded(settings: Settings, path: Path) -> None:
    """Delete what was loaded from a file of tables; a database of somebody's own stays."""
    if path.parent == _folder(settings):
        path.unlink(missing_ok=True)


def _prepared(settings: Settings, name: str, location: str) -> str:
    """The location of a database to be opened; files of tables are loaded into one first.

    Raises DatabaseRefused.
    """
    if urlsplit(location).scheme in {"postgresql", "postgres"}:
        if _same_server(location, settings.url):
            raise DatabaseRefused("Oboete's own database holds private messages.")
        return location
    path = Path(location).resolve()
    if not path.is_file():
        raise DatabaseRefused(f"There is no file {location!r}.")
    own = make_url(settings.url)
    if own.get_backend_name() == "sqlite" and own.database:
        mine = Path(own.database)
        if mine.exists() and path.samefile(mine):
            raise DatabaseRefused("Oboete's own database holds private messages.")
    if path.suffix.lower() not in table_files.SUFFIXES:
        return str(path)
    slug = "".join(c if c.isalnum() else "-" for c in name_key(name))
    target = _folder(settings) / f"{slug}.db"
    table_files.load(path, target)
    return str(target)


def _same_server(one: str, other: str) -> bool:
    """True when two addresses lead to the same PostgreSQL database."""

    def place(url: str) -> tuple[str, int, str]:
        parts = make_url(url)
        host = parts.host or "localhost"
        host = "localhost" if host in {"127.0.0.1", "::1"} else host
        return host, parts.port or 5432, parts.database or ""

    if make_url(other).get_backend_name() != "postgresql":
        return False
    return place(one) == place(other)


def _without_password(location: str) -> str:
    if "://" not in location:
        return location
    return make_url(location).render_as_string(hide_password=True)

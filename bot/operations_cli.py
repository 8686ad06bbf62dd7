"""The part of the command line that runs an installation: jobs, statistics, backups, transfer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import migrations
from bot import app as application
from bot.app import App
from bot.export import instant
from bot.i18n import translator
from bot.operations import told
from bot.settings import Settings
from memory import backup, transfer
from memory.backup import RestoreRefused
from memory.forgetting import Receipt
from memory.store import job_runs
from memory.store.database import Database
from memory.store.tombstones import Ledger
from memory.transfer import BadExport, Imported

FAILED = 1

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]


@dataclass(frozen=True, slots=True)
class Terminal:
    """What the rest of the command line lends."""

    run: Callable[..., Any]
    """Opens the app, does the work, closes the app; see `bot.cli`."""
    settings: Callable[[], Settings]
    show: Callable[[str], None]
    show_json: Callable[[Any], None]


def register(cli: typer.Typer, terminal: Terminal) -> None:
    """Add the commands."""
    _register_jobs(cli, terminal)
    _register_rounds(cli, terminal)
    _register_backups(cli, terminal)
    _register_transfer(cli, terminal)


def _register_jobs(cli: typer.Typer, terminal: Terminal) -> None:
    @cli.command()
    def jobs(
        limit: Annotated[int, typer.Option("--limit", min=1, max=500)] = 20,
        as_json: AsJson = False,
    ) -> None:
        """List when each job runs next, and the last runs."""

        async def work(app: App) -> dict[str, Any]:
            registered, now = app.operations.jobs, app.clock()
            runs = await app.database.read(lambda s: job_runs.history(s, limit))
            following = {
                job.name: instant(job.next_run(now, registered.zone)) for job in registered.jobs
            }
            return {
                "next": following,
                "runs": [
                    {
                        "job": run.job,
                        "slot": run.slot,
                        "started_at": instant(run.started_at),
                        "finished_at": instant(run.finished_at),
                        "outcome": run.outcome,
                        "attempts": run.attempts,
                        "counts": dict(run.counts),
                    }
                    for run in runs
                ],
            }

        data = terminal.run(work)
        if as_json:
            terminal.show_json(data)
            return
        for name, moment in data["next"].items():
            terminal.show(f"next {_second(moment)}  {name}")
        for run in data["runs"]:
            counts = " ".join(f"{key}={value}" for key, value in run["counts"].items() if value)
            outcome = run["outcome"] or "running, or cut short"
            terminal.show(
                f"last {_second(run['started_at'])}  {run['job']}: {outcome} {counts}".rstrip()
            )


def _second(moment: str) -> str:
    """RFC 3339, to the second."""
    return f"{moment[:19]}Z"


def _register_rounds(cli: typer.Typer, terminal: Terminal) -> None:
    @cli.command()
    def consolidate(
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only say what would change")
        ] = False,
        full: Annotated[
            bool, typer.Option("--full", help="Compare all facts, not only new ones")
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """Merge near duplicates, close what has passed, apply retention; nightly otherwise."""

        async def work(app: App) -> dict[str, int]:
            return (await app.operations.consolidator.run(dry=dry_run, full=full)).counts()

        counts = terminal.run(work)
        if as_json:
            terminal.show_json({"dry_run": dry_run, **counts})
            return
        for name, count in counts.items():
            terminal.show(f"{name.replace('_', ' ')}: {count}")

    @cli.command()
    def stats(as_json: AsJson = False) -> None:
        """Count people, facts, growth, feedback and model calls."""

        async def work(app: App) -> tuple[dict[str, Any], str]:
            counted = await app.operations.statistics()
            return asdict(counted), told(counted, translator(app.settings.locale))

        data, text = terminal.run(work)
        if as_json:
            terminal.show_json(data)
        else:
            terminal.show(text)


def _register_backups(cli: typer.Typer, terminal: Terminal) -> None:
    @cli.command("backup")
    def make_backup(
        target: Annotated[
            Path | None, typer.Argument(help="File to write; else the backup folder, rotated")
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Copy the database while it is used, and examine the copy."""
        made = terminal.run(lambda app: app.operations.backups.make(target))
        if as_json:
            deleted = [str(path) for path in made.deleted]
            terminal.show_json({"path": str(made.path), "deleted": deleted})
        else:
            terminal.show(f"Wrote {made.path}; deleted {len(made.deleted)} older backups.")

    @cli.command()
    def restore(
        source: Annotated[Path, typer.Argument(help="The backup")],
        ledger: Annotated[
            Path | None,
            typer.Option("--ledger", help="Folder with the ledger of what was forgotten"),
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Restore a backup into an empty place, without what was forgotten since."""
        settings = terminal.settings()
        receipt, problems = _restore(settings, source, ledger)
        data = {"facts": receipt.facts, "messages": receipt.messages, "problems": problems}
        if as_json:
            terminal.show_json(data)
        else:
            terminal.show(
                f"Restored. Taken out again, as forgotten since: {receipt.facts} facts,"
                f" {receipt.messages} messages."
            )
            terminal.show("Everything agrees." if not problems else "Problems:")
            for problem in problems:
                terminal.show(f"- {problem}")
        if problems:
            raise typer.Exit(FAILED)


def _restore(settings: Settings, source: Path, ledger: Path | None) -> tuple[Receipt, list[str]]:
    """Raises RestoreRefused, StoreUnavailable or SchemaMismatch."""
    unopened = Database(settings.url)
    address, target = unopened.url, unopened.path
    unopened.close()
    if target is None:
        raise RestoreRefused("Only a SQLite file can be restored; use pg_restore for PostgreSQL.")
    folder = ledger or target.parent
    with backup.restoring(source, target, folder) as partial:
        beside = address.set(database=str(partial))
        return asyncio.run(_without_forgotten(Database(str(beside)), Ledger(folder)))


async def _without_forgotten(database: Database, held: Ledger) -> tuple[Receipt, list[str]]:
    """Take out again what was forgotten since; gives how much, and what `prove` finds."""
    try:
        await asyncio.to_thread(migrations.upgrade, database.engine)
        now = application.system_clock()
        receipt = await database.write(lambda s: backup.reapply(s, held, now))
        await database.checkpoint()
        return receipt, await database.read(lambda s: list(backup.prove(s, held)))
    finally:
        await asyncio.to_thread(database.close)


def _register_transfer(cli: typer.Typer, terminal: Terminal) -> None:
    @cli.command("export")
    def export_tenant(
        tenant: Annotated[str, typer.Argument(help="platform:tenant, such as slack:T0123")],
        target: Annotated[Path, typer.Argument(help="JSON Lines file to write")],
    ) -> None:
        """Write everything of a tenant as JSON Lines; see docs/export-format.md."""
        platform, _, name = tenant.partition(":")
        if not platform or not name:
            raise typer.BadParameter(f"{tenant!r} is not platform:tenant")

        async def work(app: App) -> int:
            return await app.database.read(
                lambda s: _write(target, transfer.lines(s, platform, name, app.clock()))
            )

        terminal.show(f"Wrote {terminal.run(work)} lines to {target}.")

    @cli.command("import")
    def import_tenant(
        source: Annotated[Path, typer.Argument(help="File that `oboete export` wrote")],
        as_json: AsJson = False,
    ) -> None:
        """Take in an exported tenant; the same file twice changes nothing."""

        async def work(app: App) -> Imported:
            done: Imported = await app.database.write(
                lambda s: transfer.take_in(s, _read(source), app.ledger, app.clock())
            )
            await app.memory.embedding.drain()
            return done

        done = terminal.run(work)
        if as_json:
            terminal.show_json(asdict(done))
            return
        terminal.show(
            f"Took in {done.messages} messages and {done.facts} facts; {done.known} were known,"
            f" {done.forgotten} had been forgotten here."
        )


def _write(target: Path, lines: Iterable[dict[str, Any]]) -> int:
    count = 0
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600, exist_ok=False)
    with partial.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    partial.replace(target)
    return count


def _read(source: Path) -> Iterator[dict[str, Any]]:
    with source.open(encoding="utf-8", errors="surrogateescape") as file:
        for number, text in enumerate(file, start=1):
            try:
                line = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadExport(f"Line {number} is not JSON.") from error
            if not isinstance(line, dict):
                raise BadExport(f"Line {number} is not an object.")
            yield line

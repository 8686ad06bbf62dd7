"""`oboete mcp`: the memory as an MCP server, and the tokens that open it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from adapters import mcp_server
from bot.app import App
from bot.errors import BadSettings, ToolRefused
from bot.export import instant
from bot.knowledge_cli import AsJson, Shell
from bot.mcp_tools import PersonalTools
from bot.settings import variable
from memory.access import AccessToken

MAKE_ONE = "Make a token with `oboete mcp issue --user NAME`."

mcp_cli = typer.Typer(
    help="Serve the memory to MCP clients, over standard input and output.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@mcp_cli.callback()
def mcp(ctx: typer.Context) -> None:
    """Serve the memory of the person whose token is in OBOETE_MCP_TOKEN."""
    if ctx.invoked_subcommand is None:
        shell: Shell = ctx.obj
        shell.run(lambda app: _serve(app, shell))


async def _serve(app: App, shell: Shell) -> None:
    token = app.settings.mcp_token.get_secret_value()
    if not token:
        raise BadSettings(f"{variable('mcp_token')} is not set.", fix=MAKE_ONE)
    tools = PersonalTools(
        app.access,
        app.memory,
        lambda person, text: shell.command(app, person, text),
        lambda person: app.readable(person, None),
        token,
    )
    try:
        await tools.person()
    except ToolRefused as error:
        raise BadSettings(
            f"The token in {variable('mcp_token')} is not valid (any more).", fix=MAKE_ONE
        ) from error
    await mcp_server.serve(tools, version("oboete"))


@mcp_cli.command("issue")
def issue(
    ctx: typer.Context,
    user: Annotated[str, typer.Option("--user", help="Whose: a name, or platform:tenant:id")],
    label: Annotated[str, typer.Option("--label", help="What it is for")] = "",
) -> None:
    """Make a token for one person; it is shown once."""
    shell: Shell = ctx.obj
    shell.print(shell.run(lambda app: app.access.issue(shell.person_of(user), label)))


@mcp_cli.command("tokens")
def tokens(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List tokens, without their secrets."""
    shell: Shell = ctx.obj
    found: list[AccessToken] = shell.run(lambda app: app.access.tokens())
    rows = [
        {
            "id": token.id,
            "person": str(token.person),
            "label": token.label,
            "created_at": instant(token.created_at),
            "last_used_at": instant(token.last_used_at) if token.last_used_at else None,
        }
        for token in found
    ]
    if as_json:
        shell.print_json({"tokens": rows})
        return
    for row in rows:
        used = row["last_used_at"] or "never"
        shell.print(f"{row['id']}  {row['person']}  {row['label']}  last used: {used}")


@mcp_cli.command("revoke")
def revoke(
    ctx: typer.Context, number: Annotated[int, typer.Argument(help="From `oboete mcp tokens`")]
) -> None:
    """Make a token worthless, at once."""
    shell: Shell = ctx.obj
    if not shell.run(lambda app: app.access.revoke(number)):
        shell.print(f"There is no token {number}.")
        raise typer.Exit(1)
    shell.print(f"Token {number} is revoked.")

"""The Bolt app: every request is received first, then acknowledged, then looked after.

Middleware and listeners are the same for Socket Mode and HTTP.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from adapters.slack_audiences import SlackDirectory
from adapters.slack_calls import SlackCalls, sdk_logger
from adapters.slack_events import (
    ASK,
    CONFIRM,
    FORGET,
    SlackIdentity,
    channel_of,
    chosen_ids,
    user_of_payload,
)
from adapters.slack_format import confirm_modal
from adapters.slack_texts import say
from bot.errors import PlatformRefused, PlatformUnavailable
from memory.errors import StoreUnavailable

Json = dict[str, Any]
Ack = Callable[[], Awaitable[object]]
Next = Callable[[], Awaitable[BoltResponse | None]]
Receive = Callable[[Json], Awaitable[None]]

ANYTHING = re.compile(".+")

log = logging.getLogger(__name__)


def bolt_app(
    calls: SlackCalls,
    me: SlackIdentity,
    directory: SlackDirectory,
    *,
    signing_secret: str,
    receive: Receive,
) -> AsyncApp:
    """`receive` puts a body on disk. When it raises StoreUnavailable, the request is not
    acknowledged, so that Slack sends it again."""
    prompt = _Prompter(calls, me, directory)

    async def authorize() -> AuthorizeResult:
        # Bolt's own way asks Slack, and acknowledges an event that it could not authorize.
        return AuthorizeResult(
            enterprise_id=None,
            team_id=me.tenant,
            bot_token=calls.client.token,
            bot_id=me.bot,
            bot_user_id=me.user,
        )

    async def commit(body: Json, next_: Next) -> BoltResponse | None:
        try:
            await receive(body)
        except StoreUnavailable:
            log.exception("slack: not acknowledged, because the store failed")
            return BoltResponse(status=503, body="")
        return await next_()

    async def on_event(event: Json) -> None:
        if event.get("type") == "app_home_opened" and event.get("tab") == "messages":
            await prompt.suggest(event)

    async def on_action(ack: Ack, body: Json, action: Json) -> None:
        await ack()
        if str(action.get("action_id")).startswith(ASK) and user_of_payload(body):
            await prompt.about_choice(body, action)

    async def on_shortcut(ack: Ack, body: Json) -> None:
        await ack()
        if body.get("callback_id") == FORGET and user_of_payload(body):
            await prompt.about_message(body)

    async def acknowledge(ack: Ack) -> None:
        await ack()

    async def on_error(error: Exception) -> None:
        log.error("slack: a listener failed: %s", type(error).__name__)

    app = AsyncApp(
        client=calls.client,
        authorize=authorize,
        signing_secret=signing_secret,
        logger=sdk_logger(),
        ignoring_self_events_enabled=False,  # `is_wanted` does, before anything is stored
    )
    app.use(commit)
    app.event(ANYTHING)(on_event)
    app.action(ANYTHING)(on_action)
    app.shortcut(ANYTHING)(on_shortcut)
    app.command(ANYTHING)(acknowledge)
    app.view(ANYTHING)(acknowledge)
    app.error(on_error)
    return app


class _Prompter:
    """Answers at once what Slack lets nobody answer later: trigger ids live for 3 seconds."""

    def __init__(self, calls: SlackCalls, me: SlackIdentity, directory: SlackDirectory) -> None:
        self._calls = calls
        self._me = me
        self._directory = directory

    async def suggest(self, event: Json) -> None:
        """Suggested prompts, when somebody opens the DM."""
        locale = (await self._directory.user(str(event.get("user")))).locale
        prompts = [
            {"title": say(title, locale), "message": say(text, locale)}
            for title, text in (
                ("prompt_list", "prompt_list"),
                ("prompt_remember", "prompt_remember_text"),
                ("prompt_help", "prompt_help"),
            )
        ]
        await self._attempt(
            "assistant.threads.setSuggestedPrompts",
            channel_id=event.get("channel"),
            title=say("prompt_title", locale),
            prompts=prompts,
        )

    async def about_choice(self, body: Json, action: Json) -> None:
        """Confirm a dangerous button."""
        user, command = user_of_payload(body), str(action.get("value") or "")
        label = str((action.get("text") or {}).get("text") or command)
        meta = {
            "command": command,
            "user": user,
            "channel": channel_of(body),
            "thread": str((body.get("message") or {}).get("thread_ts") or ""),
            "view": str((body.get("view") or {}).get("type") or ""),
        }
        locale = (await self._directory.user(user)).locale
        await self._open(body, meta, f"**{label}**\n`{command}`", label, locale)

    async def about_message(self, body: Json) -> None:
        """Confirm the shortcut "Forget this"."""
        user = user_of_payload(body)
        meta = chosen_ids(body, self._me) | {"command": "forget", "user": user}
        locale = (await self._directory.user(user)).locale
        await self._open(body, meta, say("forget_message", locale), say("forget", locale), locale)

    async def _open(
        self, body: Json, meta: dict[str, str], question: str, submit: str, locale: str
    ) -> None:
        view = confirm_modal(question, submit, json.dumps(meta), CONFIRM, locale)
        await self._attempt("views.open", trigger_id=body.get("trigger_id"), view=view)

    async def _attempt(self, method: str, **arguments: Any) -> None:
        try:
            await self._calls.write_now(method, **arguments)
        except (PlatformRefused, PlatformUnavailable) as error:
            log.warning("slack: %s", error)

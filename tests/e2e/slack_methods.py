"""What the methods of Slack's Web API do, with the limits that matter to an app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.slack_workspace import (
    BOT_ID,
    BOT_USER,
    TEAM,
    ApiError,
    Json,
    Workspace,
)

Method = Callable[[Workspace, Json], Json]
METHODS: dict[str, Method] = {}

MAX_TEXT = 40_000
MAX_UPDATE = 4_000
MAX_MARKDOWN = 12_000
MAX_SECTION = 3_000
MAX_BLOCKS = 50
PAGE = 100


def method(name: str) -> Callable[[Method], Method]:
    def register(function: Method) -> Method:
        METHODS[name] = function
        return function

    return register


def check_blocks(blocks: list[Json] | None, *, most: int = MAX_BLOCKS) -> None:
    """Refuse what Slack refuses. Raises ApiError."""
    if blocks is None:
        return
    if len(blocks) > most:
        raise ApiError("invalid_blocks", errors=["too many blocks"])
    markdown = sum(len(b["text"]) for b in blocks if b["type"] == "markdown")
    if markdown > MAX_MARKDOWN:
        raise ApiError("msg_blocks_too_long")
    for block in blocks:
        text = block.get("text")
        if (
            block["type"] == "section"
            and isinstance(text, dict)
            and len(text["text"]) > MAX_SECTION
        ):
            raise ApiError("invalid_blocks", errors=["section text too long"])
        if block["type"] == "actions" and not 1 <= len(block["elements"]) <= 25:
            raise ApiError("invalid_blocks", errors=["elements"])
        if block["type"] == "context" and not 1 <= len(block["elements"]) <= 10:
            raise ApiError("invalid_blocks", errors=["elements"])
        for element in block.get("elements", []):
            if element["type"] == "button":
                _check_button(element)


def _check_button(button: Json) -> None:
    if not 1 <= len(button["text"]["text"]) <= 75 or len(button.get("value", "")) > 2000:
        raise ApiError("invalid_blocks", errors=["button"])


def _paged(items: list[Any], arguments: Json, name: str) -> Json:
    size = min(int(arguments.get("limit") or PAGE), 1000)
    start = int(arguments.get("cursor") or 0)
    following = str(start + size) if start + size < len(items) else ""
    return {
        name: items[start : start + size],
        "response_metadata": {"next_cursor": following},
        "has_more": bool(following),
    }


def _without_metadata(messages: list[Json], arguments: Json) -> list[Json]:
    if str(arguments.get("include_all_metadata", "")).lower() in ("true", "1"):
        return messages
    return [{k: v for k, v in m.items() if k != "metadata"} for m in messages]


@method("auth.test")
def auth_test(workspace: Workspace, _: Json) -> Json:
    return {
        "url": "https://oboete.slack.com/",
        "team": "Oboete",
        "user": "oboete",
        "team_id": TEAM,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
    }


@method("bots.info")
def bots_info(_: Workspace, arguments: Json) -> Json:
    return {"bot": {"id": arguments.get("bot"), "name": "bot", "app_id": "AOTHER"}}


@method("chat.postMessage")
def post_message(workspace: Workspace, arguments: Json) -> Json:
    channel = arguments["channel"]
    workspace.joined(channel)
    check_blocks(arguments.get("blocks"))
    if not arguments.get("text") and not arguments.get("blocks"):
        raise ApiError("no_text")
    thread = arguments.get("thread_ts")
    if thread and thread not in workspace.messages[channel]:
        raise ApiError("thread_not_found")
    message = workspace.post(
        channel,
        user=BOT_USER,
        bot_id=BOT_ID,
        text=str(arguments.get("text", ""))[:MAX_TEXT],
        thread_ts=thread,
        blocks=arguments.get("blocks"),
        metadata=arguments.get("metadata"),
    )
    return {"channel": channel, "ts": message["ts"], "message": message}


@method("chat.update")
def update(workspace: Workspace, arguments: Json) -> Json:
    message = workspace.own(arguments["channel"], arguments["ts"])
    if arguments["ts"] in workspace.streaming:
        raise ApiError("streaming_state_conflict")
    text = str(arguments.get("text", ""))
    blocks = arguments.get("blocks")
    check_blocks(blocks)
    markdown = "".join(b["text"] for b in blocks or [] if b["type"] == "markdown")
    if max(len(text.encode()), len(markdown.encode())) > MAX_UPDATE:
        raise ApiError("msg_too_long")
    message |= {"text": text, "edited": {"user": BOT_USER, "ts": workspace.next_ts()}}
    if blocks is None:
        message.pop("blocks", None)
    else:
        message["blocks"] = blocks
    if "metadata" in arguments:
        message["metadata"] = arguments["metadata"]
    return {"channel": arguments["channel"], "ts": message["ts"], "message": message}


@method("chat.delete")
def delete(workspace: Workspace, arguments: Json) -> Json:
    workspace.own(arguments["channel"], arguments["ts"])
    del workspace.messages[arguments["channel"]][arguments["ts"]]
    return {"channel": arguments["channel"], "ts": arguments["ts"]}


@method("chat.postEphemeral")
def post_ephemeral(workspace: Workspace, arguments: Json) -> Json:
    channel = workspace.joined(arguments["channel"])
    if arguments["user"] not in channel.members:
        raise ApiError("user_not_in_channel")
    check_blocks(arguments.get("blocks"))
    ts = workspace.next_ts()
    workspace.ephemeral.append(arguments | {"ts": ts})
    return {"message_ts": ts}


@method("chat.startStream")
def start_stream(workspace: Workspace, arguments: Json) -> Json:
    channel = workspace.joined(arguments["channel"])
    if channel.kind != "im" and not (
        arguments.get("recipient_user_id") and arguments.get("recipient_team_id")
    ):
        raise ApiError("missing_recipient_user_id")
    if not arguments.get("thread_ts"):
        raise ApiError("invalid_arguments")
    _check_piece(arguments)
    message = workspace.post(
        channel.id,
        user=BOT_USER,
        bot_id=BOT_ID,
        text=arguments.get("markdown_text", ""),
        thread_ts=arguments["thread_ts"],
    )
    workspace.streaming.add(message["ts"])
    return {"channel": channel.id, "ts": message["ts"]}


@method("chat.appendStream")
def append_stream(workspace: Workspace, arguments: Json) -> Json:
    message = _streaming(workspace, arguments)
    message["text"] += arguments["markdown_text"]
    return {"channel": arguments["channel"], "ts": message["ts"]}


@method("chat.stopStream")
def stop_stream(workspace: Workspace, arguments: Json) -> Json:
    message = _streaming(workspace, arguments)
    check_blocks(arguments.get("blocks"))
    message["text"] += arguments.get("markdown_text") or ""
    message["blocks"] = [
        {"type": "markdown", "text": message["text"]},
        *(arguments.get("blocks") or []),
    ]
    if "metadata" in arguments:
        message["metadata"] = arguments["metadata"]
    workspace.streaming.discard(message["ts"])
    return {"channel": arguments["channel"], "ts": message["ts"], "message": message}


def _streaming(workspace: Workspace, arguments: Json) -> Json:
    message = workspace.own(arguments["channel"], arguments["ts"])
    if arguments["ts"] not in workspace.streaming:
        raise ApiError("message_not_in_streaming_state")
    _check_piece(arguments)
    if len(message["text"]) + len(arguments.get("markdown_text") or "") > MAX_MARKDOWN:
        raise ApiError("msg_too_long")
    return message


def _check_piece(arguments: Json) -> None:
    if len(arguments.get("markdown_text") or "") > MAX_MARKDOWN:
        raise ApiError("msg_too_long")


@method("conversations.info")
def conversation_info(workspace: Workspace, arguments: Json) -> Json:
    return {"channel": workspace.visible(arguments["channel"]).to_api()}


@method("conversations.members")
def conversation_members(workspace: Workspace, arguments: Json) -> Json:
    members = sorted(workspace.visible(arguments["channel"]).members)
    return _paged(members, arguments, "members")


@method("conversations.list")
def conversation_list(workspace: Workspace, arguments: Json) -> Json:
    return _paged(_of_types(workspace, arguments, None), arguments, "channels")


@method("users.conversations")
def user_conversations(workspace: Workspace, arguments: Json) -> Json:
    user = arguments.get("user", BOT_USER)
    return _paged(_of_types(workspace, arguments, user), arguments, "channels")


def _of_types(workspace: Workspace, arguments: Json, user: str | None) -> list[Json]:
    """Channels of the wanted types that the bot can see, and that `user` is in."""
    names = {"public": "public_channel", "private": "private_channel", "im": "im", "mpim": "mpim"}
    wanted = str(arguments.get("types", "public_channel")).split(",")
    return [
        channel.to_api()
        for channel in workspace.channels.values()
        if names[channel.kind] in wanted
        and (channel.kind == "public" or BOT_USER in channel.members)
        and (user is None or user in channel.members)
    ]


@method("conversations.open")
def conversation_open(workspace: Workspace, arguments: Json) -> Json:
    return {"channel": {"id": workspace.open_dm(arguments["users"]).id}}


@method("conversations.history")
def history(workspace: Workspace, arguments: Json) -> Json:
    channel = workspace.joined(arguments["channel"])
    inclusive = str(arguments.get("inclusive", "")).lower() in ("true", "1")
    oldest, latest = str(arguments.get("oldest") or "0"), str(arguments.get("latest") or "9" * 11)
    found = [
        message
        for ts, message in sorted(workspace.messages[channel.id].items(), reverse=True)
        if (float(oldest) < float(ts) < float(latest) or (inclusive and ts in (oldest, latest)))
        and message.get("thread_ts") in (None, ts)
    ]
    found = [message | _thread_summary(workspace, channel.id, message) for message in found]
    return _paged(_without_metadata(found, arguments), arguments, "messages")


def _thread_summary(workspace: Workspace, channel: str, root: Json) -> Json:
    """What a root tells about its replies; nothing without any."""
    replies = workspace.thread(channel, root["ts"])[1:]
    if not replies:
        return {}
    return {"reply_count": len(replies), "latest_reply": replies[-1]["ts"]}


@method("conversations.replies")
def replies(workspace: Workspace, arguments: Json) -> Json:
    channel = workspace.joined(arguments["channel"])
    found = workspace.thread(channel.id, arguments["ts"])
    inclusive = str(arguments.get("inclusive", "")).lower() in ("true", "1")
    oldest, latest = str(arguments.get("oldest") or "0"), str(arguments.get("latest") or "9" * 11)
    kept = [
        message
        for message in found
        if message["ts"] == arguments["ts"]
        or float(oldest) < float(message["ts"]) < float(latest)
        or (inclusive and message["ts"] in (oldest, latest))
    ]
    return _paged(_without_metadata(kept, arguments), arguments, "messages")


@method("users.info")
def user_info(workspace: Workspace, arguments: Json) -> Json:
    user = workspace.users.get(arguments["user"])
    if user is None:
        raise ApiError("user_not_found")
    return {"user": user.to_api()}


@method("users.list")
def user_list(workspace: Workspace, arguments: Json) -> Json:
    members = [user.to_api() for user in workspace.users.values() if not user.stranger]
    return _paged(members, arguments, "members")


@method("views.open")
def open_view(workspace: Workspace, arguments: Json) -> Json:
    view = arguments["view"] | {"id": f"V{workspace.next_id()}"}
    check_blocks(view["blocks"], most=100)
    workspace.modals.append(view)
    return {"view": view}


@method("views.publish")
def publish_view(workspace: Workspace, arguments: Json) -> Json:
    check_blocks(arguments["view"]["blocks"], most=100)
    view = arguments["view"] | {"id": f"V{workspace.next_id()}"}
    workspace.homes[arguments["user_id"]] = view
    return {"view": view}


@method("views.update")
def update_view(workspace: Workspace, arguments: Json) -> Json:
    check_blocks(arguments["view"]["blocks"], most=100)
    return {"view": arguments["view"]}


@method("files.info")
def file_info(workspace: Workspace, arguments: Json) -> Json:
    """Any file of a message, also of one that tells only its id."""
    file = workspace.foreign_files.get(arguments["file"])
    if file is None:
        raise ApiError("file_not_found")
    return {"file": file}


@method("files.getUploadURLExternal")
def upload_url(workspace: Workspace, arguments: Json) -> Json:
    return {"file_id": f"F{workspace.next_id()}", "upload_url": ""}


@method("files.completeUploadExternal")
def complete_upload(workspace: Workspace, arguments: Json) -> Json:
    for file in arguments["files"]:
        if file["id"] not in workspace.uploads:
            raise ApiError("file_not_found")
        workspace.shared_files.append(arguments)
    return {"files": arguments["files"]}


@method("assistant.threads.setStatus")
def set_status(workspace: Workspace, arguments: Json) -> Json:
    workspace.statuses.append(arguments)
    return {}


@method("assistant.threads.setSuggestedPrompts")
def set_prompts(workspace: Workspace, arguments: Json) -> Json:
    if not 1 <= len(arguments["prompts"]) <= 4:
        raise ApiError("invalid_arguments")
    workspace.prompts.append(arguments)
    return {}


@method("reactions.add")
def add_reaction(workspace: Workspace, arguments: Json) -> Json:
    workspace.joined(arguments["channel"])
    return {}


@method("reactions.remove")
def remove_reaction(workspace: Workspace, arguments: Json) -> Json:
    workspace.joined(arguments["channel"])
    return {}

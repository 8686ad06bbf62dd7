"""Files in Slack: those that people attach, and those that the bot hands over.

See https://docs.slack.dev/messaging/working-with-files.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from adapters.slack_calls import SlackCalls, SlackRefused, SlackUnavailable, translated
from adapters.slack_events import REMOVED
from bot.messages import Attachment, FileReply

CHUNK_BYTES = 1 << 16
CHECK = "check_file_info"
"""`file_access` of a file about which files.info has to be asked (Slack Connect)."""

Json = dict[str, Any]

log = logging.getLogger(__name__)


class SlackFiles:
    """Downloads and uploads."""

    def __init__(self, calls: SlackCalls) -> None:
        self._calls = calls

    async def shared_with(self, message: Json) -> tuple[Attachment, ...]:
        """Files that came with a message; those that are gone or kept elsewhere are left out.

        Of a file of another organisation an event tells no more than the id. Raises
        PlatformUnavailable.
        """
        return tuple(
            [
                found
                for file in message.get("files") or []
                if (found := attachment_of(await self._told(file))) is not None
            ]
        )

    async def _told(self, file: Json) -> Json:
        if file.get("file_access") != CHECK:
            return file
        try:
            answer = await self._calls.read("files.info", file=file["id"])
        except SlackRefused as error:
            log.warning("slack: a file cannot be seen: %s", error)
            return {}
        return dict(answer.get("file") or {})

    async def download(self, attachment: Attachment, max_bytes: int) -> bytes:
        """The bytes of an attachment.

        Raises PlatformRefused when it is longer than `max_bytes`, gone, or not kept by Slack;
        PlatformUnavailable when Slack does not answer.
        """
        if not self._is_slacks(attachment.url):
            # The token goes with the request, so it goes to nobody else.
            raise SlackRefused("not_hosted_by_slack", "a download")
        headers = {"Authorization": f"Bearer {self._calls.client.token}"}
        try:
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                session.get(attachment.url, allow_redirects=False) as answer,
            ):
                if answer.status >= 500:
                    raise SlackUnavailable(f"Slack answered a download with {answer.status}")
                # Without the scope Slack sends its sign-in page instead of the file.
                is_page = answer.content_type == "text/html" != attachment.media_type
                if answer.status != 200 or is_page:
                    raise SlackRefused("file_not_readable", "a download")
                data = bytearray()
                async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                    data += chunk
                    if len(data) > max_bytes:
                        raise SlackRefused("file_too_large", "a download")
                return bytes(data)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SlackUnavailable("Slack did not answer a download") from error

    def _is_slacks(self, url: str) -> bool:
        wanted, own = urlsplit(url), urlsplit(self._calls.client.base_url)
        if (wanted.scheme, wanted.netloc) == (own.scheme, own.netloc):
            return True
        host = wanted.hostname or ""
        return wanted.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))

    async def upload(self, channel: str, file: FileReply, text: str | None) -> None:
        """Post a file with a text in a channel. Raises PlatformUnavailable or PlatformRefused."""
        try:
            await self._calls.client.files_upload_v2(
                channel=channel,
                filename=file.name,
                title=file.name,
                content=file.data,
                initial_comment=text,
            )
        except SlackApiError as error:
            raise translated(error, "files.upload") from error
        except (aiohttp.ClientError, TimeoutError, OSError, SlackClientError) as error:
            raise SlackUnavailable("Slack did not take a file") from error


def attachment_of(file: Json) -> Attachment | None:
    """A file as Slack shows it; None for one that is gone or kept elsewhere."""
    url = str(file.get("url_private_download") or file.get("url_private") or "")
    if not url or file.get("mode") == REMOVED:
        return None
    return Attachment(
        id=str(file["id"]),
        name=str(file.get("name") or file["id"]),
        media_type=str(file.get("mimetype") or "application/octet-stream"),
        size=int(file.get("size") or 0),
        url=url,
    )

"""Slack passes the suite that every platform passes, over Socket Mode and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.adapters.slack_stage import SlackStage, slack_stage
from tests.contracts.platform import PlatformContract


class TestSlackSocketMode(PlatformContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[SlackStage]:
        async with slack_stage() as stage:
            yield stage


class TestSlackHttp(PlatformContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[SlackStage]:
        async with slack_stage(http=True) as stage:
            yield stage

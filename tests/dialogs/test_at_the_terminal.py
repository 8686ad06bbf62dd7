"""What is said at the terminal without a language model, down to how it is typed and shown."""

from __future__ import annotations

from bot.settings import Settings
from tests.dialogs.conversation import lacks, verify_dialog


async def test_a_message_is_remembered_without_what_the_keys_sent(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in \x1b[D\x1b[COsaka.\x7f", "Remembered: I live in Osaka."),
            ("\x1b[A猫が好き\x08です。", "猫が好きです。"),
            ("Where do I live?\x1b[A", "Osaka"),
        ],
    )


async def test_a_quotation_that_is_kept_is_not_called_a_models(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("The vault is opened at nine.", "Remembered"),
            ("When is the vault opened?", "nine"),
            ("/keep", ("Kept: When is the vault opened?", lacks("model"))),
        ],
    )

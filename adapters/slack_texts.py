"""The few sentences that the Slack adapter says itself, in English and Japanese."""

from __future__ import annotations

from typing import Final

_TEXTS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "remembered": "📝 Remembered: {text}",
        "known": "📝 I knew that already: {text}",
        "why": "Why?",
        "good": "Good answer",
        "bad": "Bad answer",
        "confirm": "Please confirm",
        "cancel": "Cancel",
        "forget": "Forget",
        "forget_message": "Forget what I learned from this message?",
        "search": "Search what I know",
        "back": "Back to my facts",
        "said": "{day} in {place}",
        "until": "until {day}",
        "alone": "our direct messages",
        "other_topics": "Other",
        "more": "{count} more: search for them, or use `/memory list`.",
        "failed_here": "I could not answer in the channel: {reason}",
        "prompt_list": "What do you know about me?",
        "prompt_remember": "Remember something",
        "prompt_remember_text": "Remember that I prefer short answers.",
        "prompt_help": "What can you do?",
        "prompt_title": "Ask me, or tell me something to remember",
    },
    "ja": {
        "remembered": "📝 覚えました: {text}",
        "known": "📝 すでに知っていました: {text}",
        "why": "なぜ?",
        "good": "良い回答",
        "bad": "良くない回答",
        "confirm": "確認",
        "cancel": "キャンセル",
        "forget": "忘れる",
        "forget_message": "このメッセージから覚えたことを忘れますか?",
        "search": "覚えていることを検索",
        "back": "一覧に戻る",
        "said": "{day}、{place}",
        "until": "{day}まで",
        "alone": "ダイレクトメッセージ",
        "other_topics": "その他",
        "more": "ほかに{count}件あります。検索するか `/memory list` を使ってください。",
        "failed_here": "チャンネルに返信できませんでした: {reason}",
        "prompt_list": "私について何を知っていますか?",
        "prompt_remember": "覚えてもらう",
        "prompt_remember_text": "短い回答が好きだと覚えておいて。",
        "prompt_help": "何ができますか?",
        "prompt_title": "質問するか、覚えてほしいことを教えてください",
    },
}


def say(key: str, locale: str, **values: object) -> str:
    """One sentence in the language of `locale` (BCP 47), English when it is not there."""
    texts = _TEXTS.get(locale.partition("-")[0].lower(), _TEXTS["en"])
    return texts[key].format(**values)


def languages() -> tuple[str, ...]:
    return tuple(_TEXTS)

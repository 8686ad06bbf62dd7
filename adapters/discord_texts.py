"""The few sentences that the Discord adapter says itself, in English and Japanese."""

from __future__ import annotations

from typing import Final

_TEXTS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "sources": "Sources",
        "why": "Why?",
        "learned": "📝 Remembered: {facts}",
        "known": "📝 I knew that already: {facts}",
        "not_yours": "Only the person I answered can use these buttons.",
        "not_here": "I am not allowed to answer you here.",
        "not_stored": "I could not save that just now, so I did nothing. Please try again shortly.",
        "too_late": "That took too long, so here is my answer to `/{command}`:",
        "lost": "<@{user}> my answer to your command came too late and you do not accept direct"
        " messages from me. Please run it again.",
        "dm_closed": "My answer is for you alone, but you do not accept direct messages from me."
        " Use `/memory` here, or allow messages from this server's members.",
        "cannot_post": "I cannot answer in <#{channel}>. Somebody who manages this server has to"
        " give me: {permissions}.",
        "confirm": "Please confirm",
        "confirm_label": "Submit “yes” to go on",
        "yes": "yes",
        "cancelled": "Nothing was changed.",
        "remember_title": "Remember",
        "alone": "our direct messages",
    },
    "ja": {
        "sources": "出典",
        "why": "なぜ？",
        "learned": "📝 覚えました: {facts}",
        "known": "📝 すでに覚えています: {facts}",
        "not_yours": "このボタンは、返信を受け取った本人だけが使えます。",
        "not_here": "ここではあなたにお答えできません。",
        "not_stored": "いま保存できなかったため、何もしていません。"
        "少し待ってもう一度お試しください。",
        "too_late": "時間がかかったため、`/{command}` への返信をこちらに送ります:",
        "lost": "<@{user}> コマンドへの返信が間に合わず、DMも受け付けていないようです。"
        "もう一度実行してください。",
        "dm_closed": "返信はあなただけに送るものですが、DMを受け付けていないようです。"
        "ここで `/memory` を使うか、サーバーのメンバーからのDMを許可してください。",
        "cannot_post": "<#{channel}> に返信できません。サーバーの管理者に、次の権限を"
        "付けてもらってください: {permissions}。",
        "confirm": "確認",
        "confirm_label": "実行するには「はい」を送信",
        "yes": "はい",
        "cancelled": "何も変更していません。",
        "remember_title": "覚える",
        "alone": "ダイレクトメッセージ",
    },
}


def say(key: str, locale: str, **values: str) -> str:
    """One sentence in the language of `locale` (BCP 47), English when it is not there."""
    texts = _TEXTS.get(locale.partition("-")[0].lower(), _TEXTS["en"])
    return texts[key].format(**values)


def languages() -> tuple[str, ...]:
    return tuple(_TEXTS)


def means_yes(answer: str) -> bool:
    """True when a person confirmed, in any of the languages."""
    return answer.strip().casefold() in {texts["yes"] for texts in _TEXTS.values()}

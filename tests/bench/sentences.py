"""Made-up chat sentences, half Japanese and half English, with words as unevenly common as words
are. Nobody said them.
"""

from __future__ import annotations

import random

_PEOPLE = (
    [
        "田中",
        "佐藤",
        "鈴木",
        "高橋",
        "渡辺",
        "伊藤",
        "山本",
        "中村",
        "小林",
        "加藤",
        "吉田",
        "山田",
        "松本",
        "井上",
        "木村",
    ],
    [
        "Tanaka",
        "Alice",
        "Bob",
        "Carol",
        "Dave",
        "Erin",
        "Frank",
        "Grace",
        "Heidi",
        "Ivan",
        "Judy",
        "Mallory",
        "Niaj",
        "Olivia",
    ],
)
_THINGS = (
    [
        "会議",
        "資料",
        "昼ご飯",
        "サーバー",
        "猫",
        "珈琲",
        "予算",
        "旅行",
        "写真",
        "音楽",
        "本",
        "駅",
        "学校",
        "公園",
        "自転車",
        "契約",
        "荷物",
    ],
    [
        "meeting",
        "server",
        "lunch",
        "budget",
        "cat",
        "coffee",
        "report",
        "trip",
        "photo",
        "music",
        "book",
        "bike",
        "contract",
    ],
)
_TOWNS = (
    [
        "東京",
        "京都",
        "大阪",
        "札幌",
        "福岡",
        "名古屋",
        "横浜",
        "神戸",
        "仙台",
        "広島",
        "那覇",
        "金沢",
        "奈良",
        "長野",
        "熊本",
        "新潟",
    ],
    [
        "Tokyo",
        "Kyoto",
        "Osaka",
        "London",
        "Paris",
        "Berlin",
        "Madrid",
        "Rome",
        "Vienna",
        "Oslo",
        "Dublin",
        "Lisbon",
    ],
)
_DEEDS = (
    [
        "見ました",
        "食べたいです",
        "引っ越した",
        "好きです",
        "送ってください",
        "買った",
        "直しました",
    ],
    [
        "moved",
        "liked",
        "ate",
        "sent",
        "bought",
        "fixed",
        "planned",
        "cancelled",
        "wanted",
        "forgot",
        "painted",
    ],
)

_STATEMENTS = (
    "{who}さんは{town}で{number}番の{thing}を{deed}。",
    "{who} {deed} the {thing} number {number} in {town} last year.",
)
_QUESTIONS = (
    "{who}さんが{town}で{number}番の{thing}をどうしたか教えてください",
    "What did {who} do with the {thing} number {number} in {town}?",
)


def statements(count: int, seed: int = 7) -> list[str]:
    """Sentences that tell something."""
    return _sentences(_STATEMENTS, count, seed)


def questions(count: int, seed: int = 11) -> list[str]:
    """Questions about what such sentences tell; seldom twice the same."""
    return _sentences(_QUESTIONS, count, seed)


def _sentences(patterns: tuple[str, str], count: int, seed: int) -> list[str]:
    source = random.Random(seed)

    def pick(words: list[str]) -> str:
        return words[int(len(words) * source.random() ** 2)]

    return [
        patterns[number % 2].format(
            who=pick(_PEOPLE[number % 2]),
            thing=pick(_THINGS[number % 2]),
            town=pick(_TOWNS[number % 2]),
            deed=pick(_DEEDS[number % 2]),
            number=source.randrange(1, 3_000),
        )
        for number in range(count)
    ]

"""What is said to be wrong is put right where it stands, and every change can be taken back."""

from __future__ import annotations

import pytest

from bot.settings import Settings
from tests.dialogs.conversation import Expected, lacks, verify_dialog

Dialog = tuple[tuple[str, Expected], ...]


async def test_a_corrected_value_is_found_under_its_old_subject(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("The release is on Thursday.", "Remembered"),
            ("When is the release?", "Thursday"),
            ("that's wrong, it is Friday", "Corrected: The release is on Friday"),
            ("When is the release?", ("The release is on Friday", lacks("Thursday"))),
        ],
    )


@pytest.mark.parametrize(
    ("told", "asked", "said", "right", "wrong"),
    [
        (
            "定例会議は毎週水曜の10時からです",
            "定例はいつですか？",
            "違います、木曜の10時からです",
            "定例会議は木曜の10時からです",
            "水曜",
        ),
        (
            "会議は本館で開催します",
            "会議はどこで開催しますか？",
            "違います、別館です",
            "会議は別館で開催します",
            "本館",
        ),
        (
            "鍵は青い箱にあります",
            "鍵はどこですか？",
            "違います、赤い箱です",
            "鍵は赤い箱にあります",
            "青い",
        ),
    ],
)
async def test_a_japanese_correction_keeps_topic_and_predicate(
    settings: Settings, told: str, asked: str, said: str, right: str, wrong: str
) -> None:
    await verify_dialog(
        settings,
        [(told, "覚えました"), (asked, told), (said, right), (asked, (right, lacks(wrong)))],
    )


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("名古屋に住んでいます", "覚えました"),
            ("違います、豊橋です", "直しました：豊橋に住んでいます"),
            ("どこに住んでいますか？", ("豊橋に住んでいます", lacks("名古屋"))),
        ),
        (
            ("My favourite drink is tea.", "Remembered"),
            ("That's wrong, it is coffee.", "Corrected: My favourite drink is coffee."),
            ("What is my favourite drink?", ("coffee", lacks("tea"))),
        ),
        (
            ("I live in Osaka.", "Remembered"),
            ("Where do I live?", "Osaka"),
            ("My favourite drink is tea.", "Remembered"),
            ("That's wrong, it is coffee.", "Corrected: My favourite drink is coffee."),
            ("Where do I live?", "Osaka"),
        ),
        (
            ("remember that the pass phrase is amberfish", "Remembered"),
            ("That's wrong, it is bluefish.", "the pass phrase is bluefish"),
            ("That's wrong, it is redfish.", "the pass phrase is redfish"),
            ("What is the pass phrase?", ("redfish", lacks("amberfish", "bluefish"))),
        ),
    ],
    ids=["ja", "en", "after an answer", "twice"],
)
async def test_a_correction_straight_after_telling_is_of_what_was_told(
    settings: Settings, dialog: Dialog
) -> None:
    await verify_dialog(settings, dialog)


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("My name is Taro. The release is on Thursday.", "Remembered"),
            ("That's wrong, it is Friday.", "Corrected: The release is on Friday"),
            ("What is my name?", "Taro"),
        ),
        (
            ("名古屋に住んでいます。飲み物はお茶が好きです。", "覚えました"),
            ("違います、豊橋です", "直しました：豊橋に住んでいます"),
        ),
        (
            ("I live in Osaka. I like tea.", "Remembered"),
            ("That's wrong, it is Kyoto.", ("Which of these", "Osaka", "tea")),
            ("/facts", lacks("Kyoto")),
        ),
        (
            ("That's wrong, it is Friday.", "I cannot tell what that corrects"),
            ("違います、金曜です", "何についての訂正か分かりません"),
            ("/facts", "I know nothing about you yet."),
        ),
        (
            ("Ken manages the payments team.", "Remembered"),
            ("That's wrong, it is the search team.", "“Ken manages the payments team.”"),
            ("/facts", ("payments", lacks("search"))),
        ),
    ],
    ids=["the weekday", "the place", "asks which", "nothing", "no joint"],
)
async def test_a_fragment_corrects_the_one_fact_it_fits_or_is_asked_about(
    settings: Settings, dialog: Dialog
) -> None:
    await verify_dialog(settings, dialog)


async def test_a_whole_sentence_about_something_else_replaces_nothing(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("猫が好きです。", "覚えました"),
            ("違います、神戸に住んでいます", "神戸に住んでいます"),
            ("/facts", ("猫が好きです", "神戸に住んでいます", lacks("until"))),
        ],
    )


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("I live in Osaka.", "Remembered"),
            ("Where do I live?", "Osaka"),
            ("That's wrong, it's Kyoto.", "Corrected"),
            ("undo", "Undone."),
            ("Where do I live?", ("Osaka", lacks("Kyoto"))),
        ),
        (
            ("名古屋に住んでいます", "覚えました"),
            ("違います、豊橋です", "直しました"),
            ("取り消して", "取り消しました。"),
            ("どこに住んでいますか？", ("名古屋", lacks("豊橋"))),
        ),
    ],
    ids=["en", "ja"],
)
async def test_an_undone_correction_leaves_what_was_so_before(
    settings: Settings, dialog: Dialog
) -> None:
    await verify_dialog(settings, dialog)


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("I like tea.", "Remembered"),
            ("undo", "Undone."),
            ("/facts", "I know nothing about you yet."),
            ("undo", "There is nothing to undo."),
        ),
        (
            ("大阪に住んでいます。", "覚えました"),
            ("京都に住んでいます。", "京都"),
            ("取り消して", "取り消しました。"),
            ("どこに住んでいますか？", ("大阪", lacks("京都"))),
            ("取り消して", "取り消しました。"),
            ("/facts", "I know nothing about you yet."),
            ("取り消して", "取り消せるものはありません。"),
        ),
        (
            ("I like tea.", "Remembered"),
            ("remember that the budget is 300 yen", "Remembered"),
            ("I like figs.", "Remembered"),
            ("undo", "Undone."),
            ("/facts", ("tea", "budget", lacks("figs"))),
            ("undo", "Undone."),
            ("/facts", ("tea", lacks("budget"))),
            ("undo", "Undone."),
            ("/facts", "I know nothing about you yet."),
        ),
        (
            ("I like tea.", "Remembered"),
            ("I like tea.", "I knew that already"),
            ("What do I like?", "tea"),
            ("undo", "There is nothing to undo."),
            ("/facts", "tea"),
        ),
    ],
    ids=["en", "ja", "in their order", "what was known"],
)
async def test_what_was_told_is_taken_back_last_first(settings: Settings, dialog: Dialog) -> None:
    await verify_dialog(settings, dialog)


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("remember that the budget is 300 yen", "Remembered"),
            ("forget the budget", "Forgotten"),
            ("undo", "Undone: 1 fact is back."),
            ("undo", "Undone."),
            ("/facts", "I know nothing about you yet."),
            ("undo", "There is nothing to undo."),
        ),
        (
            ("会議は午後3時だと覚えておいて", "覚えました"),
            ("会議は忘れて", "忘れました"),
            ("取り消して", "1件が戻りました"),
            ("取り消して", "取り消しました。"),
            ("取り消して", "取り消せるものはありません。"),
        ),
        (
            ("remember that the budget is 300 yen", "Remembered"),
            ("forget everything", "--yes"),
            ("/forget everything --yes", "Forgotten"),
            ("取り消して", "取り消せるものはありません。"),
        ),
    ],
    ids=["en", "ja", "all gone"],
)
async def test_a_step_is_undone_also_after_a_forget_of_it_was(
    settings: Settings, dialog: Dialog
) -> None:
    await verify_dialog(settings, dialog)

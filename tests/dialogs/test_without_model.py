"""What Oboete is for, with no language model: told, asked, listed, forgotten."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from bot import app as application
from bot.settings import Settings
from memory import maintenance
from tests.dialogs.conversation import Expected, converse, lacks, verify_dialog
from tests.fakes import bytes_of, encodings


class Story(NamedTuple):
    """Three statements, a question about each, and the one that is to be forgotten."""

    statements: tuple[str, str, str]
    questions: tuple[str, str, str]
    unique: tuple[str, ...]
    """Words that only the statement to be forgotten has (the second)."""
    listed: str
    nothing: str
    forgotten: str
    locale: str


STORIES = {
    "en": Story(
        ("My name is Taro Yamada.", "I live in Wakkanai.", "I like grilled mackerel."),
        ("What is my name?", "Where do I live?", "What food do I like?"),
        ("Wakkanai", "wakkanai"),
        "I know 3 things",
        "I know nothing about that.",
        "Forgotten: 1 fact",
        "en",
    ),
    "ja": Story(
        ("私の名前は山田太郎です。", "稚内に住んでいます。", "焼き鯖が好きです。"),
        ("私の名前は何ですか？", "どこに住んでいますか？", "好きな食べ物は何ですか？"),
        ("稚内",),
        "3",
        "",
        "",
        "ja",
    ),
}


@pytest.fixture(params=STORIES)
def story(request: pytest.FixtureRequest) -> Story:
    return STORIES[request.param]


@pytest.fixture
def spoken(settings: Settings, story: Story) -> Settings:
    """The settings, in the language of the story."""
    return settings.model_copy(update={"locale": story.locale})


async def tell(settings: Settings, story: Story) -> None:
    await verify_dialog(settings, [(said, said.rstrip(".。")) for said in story.statements])


async def ask(settings: Settings, story: Story) -> list[str]:
    return await converse(settings, story.questions)


async def forget_second(settings: Settings, story: Story) -> None:
    async with application.opened(settings) as app:
        ((id_,),) = app.database.inline(
            "SELECT id FROM fact WHERE text LIKE ?", (f"%{story.unique[0]}%",)
        )
    await verify_dialog(settings, [(f"/forget {id_}", story.forgotten)])


async def test_each_question_is_answered_by_the_right_quote(spoken: Settings, story: Story) -> None:
    dialog: list[tuple[str, Expected]] = [(said, said.rstrip(".。")) for said in story.statements]
    for question, right in zip(story.questions, story.statements, strict=True):
        others = [said.rstrip(".。") for said in story.statements if said != right]
        dialog.append((question, (right.rstrip(".。"), lacks(*others))))
    await verify_dialog(spoken, dialog)


async def test_another_run_of_the_program_remembers(spoken: Settings, story: Story) -> None:
    await tell(spoken, story)
    for right, answer in zip(story.statements, await ask(spoken, story), strict=True):
        assert right.rstrip(".。") in answer


async def test_the_list_has_exactly_what_was_told(spoken: Settings, story: Story) -> None:
    await tell(spoken, story)
    await ask(spoken, story)
    (listed,) = await converse(spoken, ["/facts"])
    heading, *lines = listed.splitlines()
    assert story.listed in heading
    assert len(lines) == 3
    for said, line in zip(story.statements, lines, strict=True):
        assert said.rstrip(".。") in line
    (nobody,) = await converse(spoken, ["/memory list"], user="hanako")
    assert not any(said.rstrip(".。") in nobody for said in story.statements)


async def test_what_was_forgotten_is_not_found_after_restart_and_reindex(
    spoken: Settings, story: Story
) -> None:
    await tell(spoken, story)
    before = await ask(spoken, story)
    assert any(word in before[1] for word in story.unique)
    await forget_second(spoken, story)

    async def nothing_left() -> None:
        answers = await ask(spoken, story)
        assert not any(word in answers[1] for word in story.unique)
        assert "“" not in answers[1]
        assert "「" not in answers[1]
        assert story.nothing in answers[1]
        for index in (0, 2):
            assert story.statements[index].rstrip(".。") in answers[index]

    await nothing_left()
    async with application.opened(spoken) as app:
        await app.database.write(lambda s: maintenance.reindex(s, app.clock()))
        await app.memory.embedding.drain()
        assert await app.database.read(lambda s: maintenance.check(s, app.ledger)) == []
    await nothing_left()


async def test_no_byte_of_what_was_forgotten_is_left(spoken: Settings, story: Story) -> None:
    await tell(spoken, story)
    await ask(spoken, story)
    present = bytes_of(spoken.data_dir)
    assert any(form in present for form in encodings(story.unique).values())
    await forget_second(spoken, story)
    left = bytes_of(spoken.data_dir)
    found = [name for name, form in encodings(story.unique).items() if form in left]
    assert found == []


async def test_questions_greetings_code_and_quotes_are_not_remembered(settings: Settings) -> None:
    lines = [
        "Hello!",
        "こんにちは",
        "Do I like cats?",
        "私は猫が好きですか？",
        "Thanks",
        "ありがとう",
        "```python x = 'I live in Osaka'```",
        "“I live in Osaka”",
        "If I moved to Berlin, I would learn German.",
        "/help",
    ]
    answers = await converse(settings, [*lines, "/facts"])
    assert answers[-1] == "I know nothing about you yet."


async def test_answers_come_in_the_language_of_the_question(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("猫が好きです。", "猫が好きです"),
            ("私は何が好きですか？", ("猫が好きです", lacks("you,"))),
            ("Where do I work?", "I know nothing about that."),
        ],
    )


async def test_a_correction_takes_the_place_of_what_was_quoted(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("Where do I live?", "Osaka"),
            ("That's wrong, it's Kyoto.", "Kyoto"),
            ("Where do I live?", ("Kyoto", lacks("Osaka"))),
        ],
    )


async def test_a_correction_in_a_sentence_of_its_own_stands_as_it_was_said(
    settings: Settings,
) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("Where do I live?", "Osaka"),
            ("それは違う、京都に住んでいます", ("京都に住んでいます", lacks("I live in"))),
            ("どこに住んでいますか？", ("京都に住んでいます", lacks("Osaka"))),
            ("違います、神戸に住んでいます", ("神戸に住んでいます", lacks("京都"))),
            ("That's wrong, I live in Nara.", "Remembered: I live in Nara."),
            ("Where do I live?", ("I live in Nara.", lacks("神戸"))),
        ],
    )


@pytest.mark.parametrize("question", ["How many days of leave are there?", "休暇は何日ですか？"])
async def test_that_nothing_is_known_is_not_kept(settings: Settings, question: str) -> None:
    answers = await converse(settings, [question, "/keep", "/facts"])
    assert answers[1:] == [
        "There is no answer of mine to keep here.",
        "I know nothing about you yet.",
    ]


async def test_words_said_after_asking_to_remember_are_kept_without_the_asking(
    settings: Settings,
) -> None:
    await verify_dialog(
        settings,
        [
            (
                "覚えておいて、会議は毎週月曜の10時です",
                ("会議は毎週月曜の10時です", lacks("覚えておいて")),
            ),
            ("会議はいつですか？", ("会議は毎週月曜の10時です", lacks("覚えておいて"))),
        ],
    )


async def test_a_day_that_ends_is_set_off_as_the_language_does(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("昨日ラーメンを食べました", "ラーメン"),
            ("昨日何を食べましたか？", ("ラーメン", "まで", lacks(", "))),
        ],
    )


async def test_the_present_value_answers_unless_the_past_is_asked_for(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("I live in Kyoto.", "Kyoto"),
            ("Where do I live?", ("Kyoto", lacks("Osaka"))),
            ("Where did I live before?", "Osaka"),
        ],
    )


async def test_forgetting_in_plain_words_acts_at_once_and_can_be_undone(
    settings: Settings,
) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("Forget that I live in Osaka", "Forgotten"),
            ("Where do I live?", "I know nothing about that."),
            ("undo", "Undone"),
            ("Where do I live?", "Osaka"),
            ("大阪に住んでいることは忘れて", ""),
        ],
    )


async def test_remembering_in_plain_words(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("Remember that the budget is 300 yen", "Remembered: the budget is 300 yen"),
            ("会議は午後3時だと覚えておいて", "会議は午後3時"),
            ("What is the budget?", "300 yen"),
            ("会議は何時ですか？", "午後3時"),
        ],
    )


async def test_a_paused_person_is_answered_and_not_kept(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("/memory pause me", ""),
            ("I like cats.", ("Paused: I did not store that.", lacks("Remembered"))),
            ("猫が好きです。", ("保存しませんでした", lacks("覚えました"))),
            ("Where do I live?", "Osaka"),
            ("/memory resume me", ""),
            ("I like dogs.", "Remembered"),
            ("/facts", ("Osaka", "dogs", lacks("cats"))),
        ],
    )


async def test_a_dm_stays_in_the_dm_and_a_private_channel_in_the_channel(
    settings: Settings,
) -> None:
    await converse(settings, ["My locker code is 4711."])
    await converse(settings, ["The launch is on Friday."], channel="team", private=True)
    await converse(settings, ["The office is in Nagoya."], channel="general")
    question = ["What is my locker code?", "When is the launch?", "Where is the office?"]
    in_channel = await converse(settings, question, channel="general", user="hanako")
    assert "4711" not in in_channel[0]
    assert "Friday" not in in_channel[1]
    assert "Nagoya" in in_channel[2]
    her_dm = await converse(settings, question, user="hanako")
    assert "4711" not in her_dm[0]
    assert "Friday" not in her_dm[1]
    assert "Nagoya" in her_dm[2]
    his_dm = await converse(settings, question)
    assert "4711" in his_dm[0]
    assert "Friday" in his_dm[1]
    in_team = await converse(settings, question, channel="team", private=True)
    assert "4711" not in in_team[0]
    assert "Friday" in in_team[1]


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("What is the pass phrase?", "I know nothing"),
            ("what is the pass phrase", "I know nothing"),
            ("remember that my sister likes tea", "Remembered"),
            ("remember that nothing else matters", "Remembered"),
            ("What is the pass phrase?", "I know nothing"),
            ("remember that the pass phrase is amberfish", "Remembered"),
            ("remember that my brother likes coffee", "Remembered"),
            ("What is the pass phrase?", ("amberfish", lacks("coffee"))),
        ),
        (
            ("合言葉は何ですか？", "何も知りません"),
            ("合言葉は何だっけ", "何も知りません"),
            ("妹はお茶が好きだと覚えて", "覚えました"),
            ("それ以外は重要ではないと覚えて", "覚えました"),
            ("合言葉は何ですか？", "何も知りません"),
            ("合言葉は琥珀だと覚えて", "覚えました"),
            ("弟はコーヒーが好きだと覚えて", "覚えました"),
            ("合言葉は何ですか？", ("琥珀", lacks("コーヒー"))),
        ),
    ],
    ids=["en", "ja"],
)
async def test_what_is_said_after_a_question_to_oboete_does_not_pass_for_its_answer(
    settings: Settings, dialog: tuple[tuple[str, Expected], ...]
) -> None:
    await verify_dialog(settings, dialog)


@pytest.mark.parametrize(
    "dialog",
    [
        (
            ("My dog's name is Rex.", "Remembered"),
            ("What's my name?", "I know nothing"),
            ("My name is Axel.", "Remembered"),
            ("What's my name?", ("Axel", lacks("Rex"))),
            ("What's my dog's name?", "Rex"),
        ),
        (
            ("妻の名前は由紀です", "覚えました"),
            ("田中さんは東京に住んでいます", "覚えました"),
            ("田中さんの誕生日は5月5日です", "覚えました"),
            ("私の名前は？", "何も知りません"),
            ("私はどこに住んでる？", "何も知りません"),
            ("私の誕生日は？", "何も知りません"),
            ("妻の名前は？", "由紀"),
        ),
        (
            ("私は佐藤です", "覚えました"),
            ("猫を飼っています", "覚えました"),
            ("名前はタマです", ("覚えました", lacks("以前"))),
            ("私の名前は？", "佐藤"),
        ),
        (
            ("I grew up in Nagoya.", "Remembered"),
            ("I work as a nurse.", "Remembered"),
            ("I moved to Kobe last month.", "Remembered"),
            ("What do I do for a living?", ("nurse", lacks("Nagoya"))),
            ("Where do I live?", ("Kobe", lacks("Nagoya"))),
        ),
    ],
    ids=["dog", "others", "cat", "attribute"],
)
async def test_a_question_about_oneself_is_answered_by_ones_own_value(
    settings: Settings, dialog: tuple[tuple[str, Expected], ...]
) -> None:
    await verify_dialog(settings, dialog)


@pytest.mark.parametrize("other", ["I like C++.", "I like C#.", "I like 🍣.", "I like 🍺."])
async def test_what_differs_in_a_symbol_only_is_kept_apart(settings: Settings, other: str) -> None:
    dialog = [("I like C.", "Remembered"), ("I like 🍜.", "Remembered"), (other, "Remembered")]
    await verify_dialog(settings, dialog)


async def test_what_is_known_about_somebody_or_something_is_found(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("Bob from sales likes oolong tea.", "Remembered"),
            ("The budget is owned by Tom.", "Remembered"),
            ("ボブは営業部です", "覚えました"),
            ("What do you know about Bob?", ("oolong", lacks("budget"))),
            ("do you remember anything about the budget", ("Tom", lacks("oolong"))),
            ("ボブについて何を知ってる？", "営業部"),
            ("ボブについて教えて", "営業部"),
            ("What do you know about submarines?", "I know nothing"),
        ],
    )

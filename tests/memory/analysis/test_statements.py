"""`statements`: what is worth remembering, and what can be told about it."""

from __future__ import annotations

import pytest

from memory.analysis import SELF, Statement, Tense, statements
from memory.types import Span


def only(text: str, speaker_name: str = "Taro") -> Statement:
    [statement] = statements(text, speaker_name=speaker_name)
    return statement


@pytest.mark.parametrize(
    ("text", "subject", "attribute", "value"),
    [
        ("My name is Taro.", SELF, "name", "Taro"),
        ("Hi, my name's Li", SELF, "name", "Li"),
        ("@oboete my name is Li", SELF, "name", "Li"),
        ("Refer to me as Nora.", SELF, "name", "Nora"),
        ("Please call me Ken", SELF, "name", "Ken"),
        ("Ivo is my name.", SELF, "name", "Ivo"),
        ("My name has changed to Ann-Lee.", SELF, "name", "Ann-Lee"),
        ("I live in Osaka.", SELF, "home", "Osaka"),
        ("Actually, I live in Kyoto, Japan now.", SELF, "home", "Kyoto, Japan"),
        ("I’m based in São Paulo these days", SELF, "home", "São Paulo"),
        ("I just moved to Nagoya!", SELF, "home", "Nagoya"),
        ("I'm a software engineer at a bank.", SELF, "job", "software engineer"),
        ("I work as a nurse in Kobe.", SELF, "job", "nurse"),
        ("I work at Acme Corp.", SELF, "employer", "Acme Corp"),
        ("I'm on the payments team.", SELF, "team", "payments"),
        ("My birthday is May 3rd.", SELF, "birthday", "May 3rd"),
        ("I am 30 years old.", SELF, "age", "30"),
        ("I like cats.", SELF, "likes:cats", "cats"),
        ("I really love the ocean!", SELF, "likes:ocean", "ocean"),
        ("I hate cilantro", SELF, "dislikes:cilantro", "cilantro"),
        ("My favourite colour could be described as Purple.", SELF, "favourite:colour", "Purple"),
        ("White is my favorite colour.", SELF, "favourite:colour", "White"),
        ("I use Emacs for notes.", SELF, "tool:emacs", "Emacs"),
        ("We decided to use SQLite.", None, "decision", "use SQLite"),
        ("The deadline for the report is June 3rd.", None, "deadline:report", "June 3rd"),
        ("The slides are due on Friday.", None, "deadline:slides", "Friday"),
        ("John lives in Paris.", "John", "home", "Paris"),
        ("@hanako lives in Kyoto.", "@hanako", "home", "Kyoto"),
        ("My wife is a nurse.", "wife", "job", "nurse"),
        ("My dog's name is Pochi.", "dog", "name", "Pochi"),
        ("Taro likes tea.", SELF, "likes:tea", "tea"),
        ("No, I live in Kyoto.", SELF, "home", "Kyoto"),
        ("I moved from Tokyo to Fukuoka in April.", SELF, "home", "Fukuoka"),
        ("I moved to the design team last month.", SELF, "team", "design"),
        ("Our deadline for the launch has moved to June 10.", None, "deadline:launch", "June 10"),
        ("私は田中太郎です。", SELF, "name", "田中太郎"),
        ("私のことは「けん」と呼んでください。", SELF, "name", "けん"),
        ("先月東京から福岡に引っ越しました。", SELF, "home", "福岡"),
        ("寿司より焼肉が好きです。", SELF, "likes:焼肉", "焼肉"),
        ("エンジニアです。", SELF, "job", "エンジニア"),
        ("私の部署は営業です。", SELF, "team", "営業"),
        ("名前は太郎です。", SELF, "name", "太郎"),
        ("佐藤と申します。", SELF, "name", "佐藤"),
        ("大阪に住んでいます。", SELF, "home", "大阪"),
        ("僕は札幌に住んでるよ", SELF, "home", "札幌"),
        ("京都に引っ越しました。", SELF, "home", "京都"),
        ("仕事はデザイナーです。", SELF, "job", "デザイナー"),
        ("私は看護師です。", SELF, "job", "看護師"),
        ("エンジニアとして働いています。", SELF, "job", "エンジニア"),
        ("誕生日は5月3日です。", SELF, "birthday", "5月3日"),
        ("猫が好きです。", SELF, "likes:猫", "猫"),
        ("ごはんが大好き！", SELF, "likes:ごはん", "ごはん"),
        ("私も算数は好きです！", SELF, "likes:算数", "算数"),
        ("パクチーは苦手です", SELF, "dislikes:パクチー", "パクチー"),
        ("好きな色は青です。", SELF, "favourite:色", "青"),
        ("決済チームに所属しています。", SELF, "team", "決済"),
        ("SQLiteを使うことに決めました。", None, "decision", "SQLiteを使うこと"),
        ("レポートの締め切りは6月3日です。", None, "deadline:レポート", "6月3日"),
        ("妻は看護師です。", "妻", "job", "看護師"),
        ("田中さんは大阪に住んでいます。", "田中", "home", "大阪"),
    ],
)
def test_reads_subject_attribute_and_value(
    text: str, subject: str | None, attribute: str, value: str
) -> None:
    found = only(text)
    assert (found.subject, found.attribute, found.value) == (subject, attribute, value)
    assert found.text == text
    assert found.span == Span(0, len(text))
    assert found.certain
    assert not found.negated
    assert found.tense is Tense.NOW


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I don't like natto.", "likes:natto", "natto"),
        ("I no longer like cats", "likes:cats", "cats"),
        ("I’m not a fan of jazz", "likes:jazz", "jazz"),
        ("I don't live in Tokyo anymore.", "home", "Tokyo"),
        ("猫は好きではありません。", "likes:猫", "猫"),
        ("猫がもう好きじゃない", "likes:猫", "猫"),
        ("東京に住んでいません。", "home", "東京"),
    ],
)
def test_reads_negation(text: str, attribute: str, value: str) -> None:
    found = only(text)
    assert (found.attribute, found.value, found.negated) == (attribute, value, True)


@pytest.mark.parametrize(
    "text",
    [
        "I may move to Osaka.",
        "Maybe I live in the wrong city.",
        "I might become a teacher",
        "I'm thinking of moving to Berlin.",
        "I think I like jazz.",
        "来月東京に引っ越すかもしれない。",
        "大阪に住むつもりです。",
        "彼は医者らしい。",
    ],
)
def test_doubtful_statements_have_no_attribute(text: str) -> None:
    found = only(text)
    assert (found.certain, found.attribute, found.value) == (False, None, None)


@pytest.mark.parametrize(
    ("text", "tense", "attribute"),
    [
        ("I used to live in Tokyo.", Tense.PAST, "home"),
        ("I used to like jazz.", Tense.PAST, "likes:jazz"),
        ("I went to Paris last week.", Tense.PAST, None),
        ("I am moving to Osaka next month.", Tense.FUTURE, None),
        ("I moved in May.", Tense.PAST, None),
        ("東京に住んでいました。", Tense.PAST, "home"),
        ("先週パリに行きました。", Tense.PAST, None),
        ("来月、引っ越します。", Tense.FUTURE, None),
    ],
)
def test_reads_tense(text: str, tense: Tense, attribute: str | None) -> None:
    found = only(text)
    assert (found.tense, found.attribute) == (tense, attribute)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello!",
        "Good morning everyone",
        "Thanks a lot!",
        "ok",
        "Sounds good, thanks.",
        "What is my name?",
        "do I like cats",
        "tell me a joke",
        "Please summarize the thread.",
        "Remember to buy milk",
        "If I moved to Berlin I would be happy.",
        "I wish I lived in Rome.",
        "What if we used Rust?",
        "Just kidding!",
        "I live on the moon lol",
        'He said "I live in Berlin".',
        "“I live in Berlin”",
        "```\nI live in Berlin\n```",
        "> I live in Berlin",
        "NO_REPLY",
        "HEARTBEAT_OK",
        "123",
        "👍",
        "こんにちは",
        "ありがとうございます！",
        "よろしくお願いします。",
        "了解です",
        "はい、わかりました。",
        "私の名前は何ですか",
        "どこに住んでるっけ",
        "天気を教えて",
        "要約してください。",
        "もしベルリンに引っ越したら楽しいだろうな",
        "お金があればハワイに住みたい。",
        "猫が好き、なんちゃって",
        "「ベルリンに住んでいる」と彼は言った。",
        "そうですね",
    ],
)
def test_keeps_nothing_that_states_nothing(text: str) -> None:
    assert statements(text, speaker_name="Taro") == []


@pytest.mark.parametrize(
    "text",
    [
        "I moved to a bigger flat.",
        "My name is on the list.",
        "I live with my parents.",
        "I work from home.",
        "I'm a vegan.",
        "I love you!",
        "No dogs are allowed in the office.",
        "紅茶もコーヒーも好きです。",
        "納豆が食べられません。",
    ],
)
def test_where_no_pattern_is_certain_the_words_are_kept_alone(text: str) -> None:
    found = only(text)
    assert (found.text, found.attribute, found.value) == (text, None, None)


def test_a_name_after_somebody_else_was_spoken_of_is_not_the_speakers() -> None:
    _, name = statements("犬を飼っています。名前はポチです。", speaker_name="太郎")
    assert (name.subject, name.attribute, name.value) == ("犬", "name", "ポチ")
    _, name = statements("妻と猫がいます。名前はタマです。", speaker_name="太郎")
    assert (name.subject, name.attribute) == (None, None)
    _, name = statements("犬を飼っています。私の名前は太郎です。", speaker_name="太郎")
    assert (name.subject, name.attribute, name.value) == (SELF, "name", "太郎")


def test_a_joke_takes_back_the_words_before_it() -> None:
    assert statements("I live on the moon. Just kidding!", speaker_name="Taro") == []
    assert statements("月に住んでいます。冗談です。", speaker_name="太郎") == []


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("My friend John is a vegan.", "John"),
        ("友達のジョンはビーガンです。", "ジョン"),
        ("Alice manages Bob.", "Alice"),
        ("He also has a friend named Mike.", None),
        ("The build is broken on main.", None),
        ("会議は午後3時からです。", None),
    ],
)
def test_a_fact_about_somebody_else_is_not_about_the_speaker(
    text: str, subject: str | None
) -> None:
    assert only(text).subject == subject


def test_clauses_with_a_pattern_each_become_statements_of_their_own() -> None:
    text = "By the way: I love cats and I live in Kyoto."
    found = statements(text, speaker_name="Taro")
    assert [s.attribute for s in found] == ["likes:cats", "home"]
    assert [text[s.span.start : s.span.end] for s in found] == [s.text for s in found]
    found = statements("大阪に住んでいて、猫が好きです。", speaker_name="太郎")
    assert [(s.attribute, s.text) for s in found] == [
        ("home", "大阪に住んでいて"),
        ("likes:猫", "猫が好きです。"),
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I live in Osaka.", "en"),
        ("大阪に住んでいます。", "ja"),
        ("大阪在住", "ja"),
        ("我叫李明。", "zh"),
        ("저는 서울에 살아요.", "ko"),
        ("Slackを毎日使っています", "ja"),
        ("Ich wohne seit drei Jahren in Berlin.", "de"),
    ],
)
def test_names_the_language(text: str, language: str) -> None:
    assert only(text).language == language


def test_mixed_text_keeps_the_language_of_each_sentence() -> None:
    found = statements("My name is Taro. 大阪に住んでいます。", speaker_name="Taro")
    assert [(s.language, s.attribute) for s in found] == [("en", "name"), ("ja", "home")]

"""Is this a question, and what does it ask about?"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final

from memory.analysis import english, japanese
from memory.analysis.language import language_of
from memory.analysis.morphology import tokens
from memory.analysis.results import SELF, Question, Tense

_FLAGS: Final = re.IGNORECASE

_AUX: Final = r"(?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|must|have|has|had|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|can't|won't|haven't|hasn't)"
_EN_QUESTION: Final = re.compile(
    rf"""^(?:
      (?:what|where|when|who|whom|whose|which|why|how)(?:'s|'re|'d|'ll|s)?\s+(?:{_AUX}\b|the\b|my\b|your\b|about\b|else\b)
    | (?:what|where|who|how|when)(?:'s|'re)\s
    | (?:what|which|whose|how|who)\s+(?:[\w'-]+\s+){{1,5}}?{_AUX}\b
    | (?:who|what|which)\s+(?:\w+\s+)?\w+s\b
    | {_AUX}\s+(?:i|you|we|he|she|it|they|my|your|our|his|her|their|the|this|that|there|these|those|any|anyone|someone|everyone|@?[A-Z]\w*)\b
    | (?:(?:please|can\ you|could\ you|would\ you|now)\s+)*(?:tell|show|remind|give)\s+me\b
    | (?:i\s+wonder|i'd\s+like\s+to\s+know|i\s+want\s+to\s+know|do\s+you\s+(?:know|remember|recall)|any\s+idea|remember\s+(?:what|where|when|who|which|how|my))\b
    | (?:please\s+)?(?:list|name|recall|find|search|look\s+up|summari[sz]e)\s+(?:all\s+|everything\s+)?(?:my|the|of\s+my|what|where|who|which|our)\b
    )""",
    _FLAGS | re.VERBOSE,
)
# "When I was young, …", "What I like is …", "who knows", "How nice" state something.
_EN_NOT_QUESTION: Final = re.compile(
    r"^(?:(?:when|where|while)\s+(?:i|we|you|he|she|they|it)\b|(?:what|how)\s+(?:a|an|nice|lovely|great|i|we)\b(?!\s+(?:do|did|does))|how\s+(?:about\s+that)|remember\s+(?:that|to|:)|remind\s+me\s+to\b|tell\s+(?:everyone|them|him|her)\b|give\s+me\s+a\s+(?:minute|second|moment))",
    _FLAGS,
)

_JA_ENDING: Final = re.compile(
    r"(?:か|かな|かなあ|かね|かしら|っけ|だっけ|でしたっけ|だろうか|でしょうか|のか|んだ?っけ|ますか|ですか|の\?|(?:何|なに|どこ|いつ|誰|だれ|どれ|いくつ|いくら|なぜ|どう)(?:まで|から|に|へ|で|を)?)(?:ね|よ)?[。.!！…?\s]*$"
)
_JA_REQUEST: Final = re.compile(
    r"(?:教えて|おしえて|思い出(?:して|させて)|知りたい|知って(?:る|い)|覚えて(?:る|い(?:る|ます))(?:か|？|\?|$|の)|調べて|探して|検索して|分かる\?|わかる\?|一覧(?:を|にして|して)|挙げて|見せて|まとめて)"
)
_JA_WH: Final = re.compile(
    r"何(?!か|も|でも|らか|度も|とか)|なに(?!か|も)|なん(?:の|だ|で)|どこ(?!か|も|でも)|誰(?!か|も|でも)|だれ(?!か|も)|いつ(?!も|か|でも|の間)|どの(?!よう|くらいか)|どんな(?!に|こと(?:が|でも))|どちら(?!か|も|でも)|どっち(?!か|も)|どれ(?!か|も|でも)|いくつ(?!か|も)|いくら(?!か|でも)|どうやって|どうして|なぜ(?!か)|何歳|何時|何人|何月"
)
_JA_NOT: Final = re.compile(
    r"(?:そう|なる)(?:です|なん)?(?:か|ですか)。?$|ではないか|じゃないか(?:と思)|かもしれない|とか。?$|か(?:も|と)"
)

_OTHER_MARKS: Final = re.compile(r"[?？¿؟;]\s*$|[?？]")
_ZH_QUESTION: Final = re.compile(
    r"[吗嗎呢么麼][。\s]*$|什么|什麼|哪里|哪裡|哪儿|谁|誰|几[个点岁时]|怎么|怎麼|为什么|多少|是不是|有没有|告诉我|告訴我"
)
_KO_QUESTION: Final = re.compile(
    r"(?:니까|나요|가요|까요|을까|어디|무엇|뭐|누구|언제|왜|어떻게|몇|알려)"
)

# What is asked: pattern, attribute (a closing colon takes the object).
_EN_ASKED: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, _FLAGS), attribute)
    for pattern, attribute in (
        (
            r"\bfavou?rite\s+(?P<object>\w+(?:\s+(?!is\b|was\b|again\b|then\b|now\b|and\b|these\b|at\b)\w+)?)",
            "favourite:",
        ),
        (
            r"\bbirthday\b|\b(?:was|were)\s+\S+\s+born\b(?!\s+in\s+which)|\bdate\s+of\s+birth\b",
            "birthday",
        ),
        (r"\bhow\s+old\b|\bage\b", "age"),
        (
            r"\b(?:due|deadline)\b.*?\b(?:for|of)\s+(?:the\s+)?(?P<object>[\w][\w\s-]*?)\s*[?.!]*$|\bwhen\s+(?:is|are)\s+(?:the\s+|our\s+|my\s+)?(?P<object2>[\w][\w\s-]*?)\s+(?:due|deadline)\b|\bthe\s+(?P<object3>\w+)\s+deadline\b|\bdeadline\b|\bdue\b",
            "deadline:",
        ),
        (
            r"\bwhat\s+(?:did|have)\s+(?:we|i|they)\s+(?:decide|decided|agree|agreed|chosen|choose)|\bdecisions?\b",
            "decision",
        ),
        (r"\baddress\b", "address"),
        (
            r"\b(?:job|occupation|profession|career)\b|\bfor\s+(?:a\s+living|work)\b|\bwork(?:s|ing)?\s+as\b|\bwhat\s+(?:do|does)\s+(?:i|he|she|they|\w+)\s+do\b(?!\s+(?:in|on|for\s+fun|after))",
            "job",
        ),
        (r"\b(?:live|lives|living|reside|resides|based|home|moved?\s+to|residence)\b", "home"),
        (r"\b(?:come|comes|originally|am\s+i|is\s+\w+|are\s+you)\s+from\b|\bhometown\b", "origin"),
        (
            r"\b(?:work|works|working|worked|employed)\s+(?:for|at)\b|\bwhere\s+(?:do|does|did|am|is)\s+.+?\s+work(?:ing)?\b|\bwhere\s+(?:i|he|she|they|\w+)\s+works?\b|\bemployer\b|\b(?:which|what)\s+company\b",
            "employer",
        ),
        (r"\b(?:what|which)\s+team\b|\bmy\s+team\b|\bteam\b.*\b(?:am\s+i|is\s+\w+)\b", "team"),
        (
            r"\b(?:don't|doesn't|do\s+not|does\s+not)\s+(?:\w+\s+)?(?:like|enjoy)\b|\b(?:dislike|hate|hates|dislikes|can't\s+stand)\b(?:\s+(?P<object>(?!most|the\s+most)[\w\s-]+?))?\s*[?.!]*$",
            "dislikes:",
        ),
        (
            r"^(?:so\s+|and\s+)?(?:do|does|did)\s+\S+\s+(?:still\s+|really\s+|even\s+)*(?:like|love|enjoy|prefer)\s+(?P<object>[\w\s-]+?)\s*(?:anymore|still|now|or\s+not)?\s*[?.!]*$",
            "likes:",
        ),
        (
            r"\b(?:like|likes|love|loves|enjoy|enjoys|prefer|into|fond\s+of|hobb(?:y|ies)|interests?)\b(?!\s+to\s+know)",
            "likes:",
        ),
        (r"\b(?:what|which)\s+(?:\w+\s+){0,2}(?:do|does|did)\s+\S+\s+use\b|\btools?\b", "tool:"),
        (
            r"\bnames?\b|\bwho\s+am\s+i\b|\bam\s+i\s+called\b|\bcall(?:ed)?\s+me\b|\bwhat's\s+\S+\s+called\b|\bcalled\b",
            "name",
        ),
    )
)
_JA_ASKED: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), attribute)
    for pattern, attribute in (
        (
            r"(?:一番|最も)?(?:好きな|お気に入りの)(?P<object>(?!もの|こと|の)[^、。はっを?？\s]{1,10}?)(?:は|って|を|が|、|\?|$)",
            "favourite:",
        ),
        (r"誕生日|生年月日|いつ生まれ|生まれたの", "birthday"),
        (r"何歳|年齢|いくつ(?:です|だ|に)", "age"),
        (
            r"(?P<object>[^、。は?\s]{1,20}?)の(?:締め?切り?|〆切り?|期限|納期)|(?:締め?切り?|〆切り?|期限|納期)",
            "deadline:",
        ),
        (r"(?:何|どう|なに).*決(?:め|ま)|決定(?:事項)?|決まった", "decision"),
        (r"住所", "address"),
        (r"住ん|住ま|暮らし|在住|自宅|引っ越し(?:た|まし)|家は|どこに住|うちはどこ", "home"),
        (r"出身", "origin"),
        (
            r"(?:どこ|どの会社|何という会社).*(?:働|勤め|勤務)|(?:勤務先|勤め先)|会社(?:は|の名前)",
            "employer",
        ),
        (r"仕事|職業|職種|何をして(?:い)?る(?:人|ひと)|働い", "job"),
        (r"チーム|部署|所属", "team"),
        (r"(?:(?P<object>[^、。は?\s何]{1,15}?)(?:が|は|も))?(?:嫌い|きらい|苦手)", "dislikes:"),
        (
            r"(?:^|[はも、])(?P<object>(?!私|僕|俺|何|なに|誰|どんな|どの)[^、。はもが?\s]{1,15}?)(?:が|は|も|って)、?(?:大)?好き|好き|趣味|好物|好み",
            "likes:",
        ),
        (r"(?:何|どの|どんな).*使っ", "tool:"),
        (r"名前|氏名|誰(?:です|だ|でしょう)?(?:か|っけ)?[?。]*$|何(?:と|て)(?:呼|いう)", "name"),
    )
)

_EN_ABOUT_SELF: Final = re.compile(r"\b(?:i|me|my|mine|myself|i'm|i've)\b", _FLAGS)
# "tell me", "remind me" address the bot; they do not make the question about the speaker.
_EN_ADDRESS: Final = re.compile(
    r"\b(?:tell|remind|show|give|let)\s+me\b|\bi\s+(?:wonder|want\s+to\s+know)\b|\bi'd\s+like\s+to\s+know\b",
    _FLAGS,
)
_EN_NAME: Final = re.compile(
    r"(?<!\bin\s)(?<!\bat\s)(?<!\bto\s)(?<!\bon\s)(?<!\bfrom\s)(?<!\bfor\s)(?:<@[^>]+>|@[\w.-]+|(?<![.?!]\s)(?<!^)\b(?!I\b|I'm\b|I've\b)[A-Z][\w-]*(?:\s[A-Z][\w-]*)*)(?='s\b|\s+(?:live|like|love|work|do|use|enjoy|hate|prefer|born|from|based|called|going|have|own|living|working|moved?|say|said|think)|\s*[?]|\s+(?:a|an|the|on|in|at)\b)"
)
_EN_THING: Final = re.compile(
    r"\bmy\s+(?P<noun>(?:\w+\s+)?\w+)(?:'s\s+(?:name|birthday|job|home|age|favou?rite)|\s+(?:called|named|live|like|work)\b)",
    _FLAGS,
)
_JA_SELF: Final = re.compile(r"私|わたし|僕|ぼく|俺|おれ|自分")
_JA_ABOUT: Final = re.compile(
    r"(?P<name><@[^>]+>|@[\w.-]+|[^、。はのがを?\s@]{1,12}?(?:さん|くん|ちゃん|様|氏))(?:は|の|が|って|も)"
)

_PAST_EN: Final = re.compile(
    r"\b(?:did|was|were|used\s+to|before|previous(?:ly)?|former(?:ly)?|earlier|last\s+\w+|ago|yesterday|had|back\s+then|in\s+the\s+past|once|originally)\b|\bin\s+(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:19|20)\d\d)\b",
    _FLAGS,
)
_NOW_EN: Final = re.compile(
    r"\b(?:now|currently|today|these\s+days|nowadays|at\s+the\s+moment|current|still|right\s+now)\b",
    _FLAGS,
)
_PAST_JA: Final = re.compile(
    r"(?<!名)(?<!人)前(?:は|の|に|まで)|以前|昔|かつて|昨日|先週|先月|去年|昨年|おととい|一昨日|当時|[0-9一二三四五六七八九十]+(?:日|週間|か月|ヶ月|カ月|年)前|(?:[0-9一二三四五六七八九十]+)月(?:に|は|の)|(?:てい|でい|だっ|でし|まし|かっ)た(?:っけ|か|の|んだ)?[。?？\s]*$"
)
_NOW_JA: Final = re.compile(r"今(?!度|日中|後)|現在|最近|いま(?![すしせまだ])|まだ")
# だっけ and でしたっけ ask for a present fact that slipped the mind.
_RECALL_JA: Final = re.compile(
    r"(?:だっ|でし)たっけ|だっけ|だった(?:かな|っけ)|でしたか[。?？\s]*$"
)


LONGEST = 2_000
"""Characters at the end of a text in which a question is looked for."""


def question(text: str) -> Question:
    """Read what `text` asks; a statement gives `is_question=False`.

    Several sentences count as a question when the last one that is not talk is one.
    """
    plain = _plain(text)
    language = language_of(plain)
    if _is_greeting(plain):
        return Question(is_question=False, is_talk=True, language=language)
    asked = _asked_in(plain, language)
    if asked is None:
        return Question(is_question=False, language=language)
    if language == "ja":
        return _japanese(asked)
    if language in {"zh", "ko"}:
        return Question(is_question=True, language=language)
    return _english(asked, language)


def asks(text: str) -> bool:
    """`question(text).is_question`, ten times as fast."""
    plain = _plain(text)
    if _is_greeting(plain):
        return False
    return _asked_in(plain, language_of(plain, told_apart=False)) is not None


def _plain(text: str) -> str:
    asked = text.rstrip()[-LONGEST:]
    return unicodedata.normalize("NFKC", english.straight(asked)).strip()[-LONGEST:]


def _is_greeting(plain: str) -> bool:
    return bool(english.GREETING.match(plain) or japanese.GREETING.match(plain))


def _asked_in(plain: str, language: str) -> str | None:
    """The sentence that asks; None for a statement."""
    if language == "ja":
        return _last(plain, r"(?<=[。.!?])\s*(?=\S)|\n+", _is_japanese_question)
    if language in {"zh", "ko"}:
        marks = _ZH_QUESTION if language == "zh" else _KO_QUESTION
        return plain if _OTHER_MARKS.search(plain) or marks.search(plain) else None
    return _last(plain, r"(?<=[.!?。！？])\s+|\n+", _is_english_question)


def _english(asked: str, language: str) -> Question:
    body = english.opened(asked)
    attribute = _asked(body, _EN_ASKED)
    time = Tense.NOW if _NOW_EN.search(body) else Tense.PAST if _PAST_EN.search(body) else None
    if attribute in {"birthday", "origin", "decision"} and time is Tense.PAST:
        time = None
    thing = _EN_THING.search(body)
    named = _EN_NAME.search(_EN_ADDRESS.sub(lambda m: m.group().lower(), body))
    about: str | None = None
    if thing:
        about = thing["noun"]
    elif _EN_ABOUT_SELF.search(_EN_ADDRESS.sub("", body)):
        about = SELF
    elif named:
        about = named.group()
    return Question(True, attribute, about, time, language=language)


def _is_english_question(sentence: str) -> bool:
    body = english.opened(sentence)
    if not body:
        return False
    if sentence.rstrip(" \"')").endswith("?"):
        return True
    return bool(_EN_QUESTION.match(body)) and not _EN_NOT_QUESTION.match(body)


def _japanese(asked: str) -> Question:
    attribute = _asked(asked, _JA_ASKED)
    time: Tense | None = None
    if _NOW_JA.search(asked):
        time = Tense.NOW
    elif _PAST_JA.search(asked) and not _RECALL_JA.search(asked):
        time = Tense.PAST
    if attribute in {"birthday", "origin", "decision"} and time is Tense.PAST:
        time = None
    about: str | None = None
    named = _JA_ABOUT.search(asked)
    impersonal = (attribute or "").partition(":")[0] in {"deadline", "decision"}
    unknown = re.search(r"(?:誰|だれ|どなた)(?:が|と|に)", asked) is not None
    relation = next(
        (
            r
            for r in re.findall(r"([一-龯々]{1,3}|[ァ-ヺー]+)(?:の|は)", asked)
            if r in japanese.RELATIONS
        ),
        None,
    )
    if named:
        about = japanese.HONORIFIC.sub("", named["name"])
    elif relation:
        about = relation
    elif _JA_SELF.search(asked):
        about = SELF
    else:
        about = _japanese_person(asked) or (
            SELF if attribute and not unknown and not impersonal else None
        )
    if attribute and about and attribute.endswith(f":{about}"):
        about = SELF  # 猫は好きかな: the cat is what is liked, not who likes
    return Question(True, attribute, about, time, language="ja")


def _japanese_person(text: str) -> str | None:
    words = tokens(text)
    for word, following in pairwise(words):
        if "人名" in word.tags and following.surface in {"は", "の", "が", "って"}:
            return word.surface
    return None


def _is_japanese_question(sentence: str) -> bool:
    body = japanese.opened(sentence)
    if not body or japanese.GREETING.match(body):
        return False
    if re.search(r"[?？]\s*$", body):
        return True
    if _JA_REQUEST.search(body):
        return True
    if _JA_NOT.search(body):
        return False
    if _JA_ENDING.search(body):
        return True
    return (
        bool(_JA_WH.search(body))
        and bool(re.search(r"(?:の|る|た|だ|です|ます|い|は|って)[。\s]*$", body))
        and not re.search(
            r"(?:か|も)(?:は|が|を|に)?(?:知らない|わからない|分からない|わかりません|分かりません|忘れ)",
            body,
        )
    )


def _last(text: str, boundary: str, asks: object) -> str | None:
    """The last part of `text` that is a question, when nothing was stated after it."""
    parts = [part for part in re.split(boundary, text) if part and part.strip()]
    for part in reversed(parts):
        if asks(part):  # type: ignore[operator]
            return part.strip()
        if not (english.GREETING.match(part) or japanese.GREETING.match(part)):
            return None
    return None


def _asked(text: str, table: tuple[tuple[re.Pattern[str], str], ...]) -> str | None:
    for pattern, attribute in table:
        match = pattern.search(text)
        if match is None:
            continue
        if attribute.endswith(":"):
            groups = match.groupdict()
            asked_object = next(
                (groups[g] for g in ("object", "object2", "object3") if groups.get(g)), None
            )
            return attribute + english.key(asked_object) if asked_object else attribute[:-1]
        return attribute
    return None

"""What can be told about one Japanese clause without a model."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from memory.analysis.japanese_grammar import is_conditional, is_doubtful, is_negated, tense_of
from memory.analysis.japanese_rules import END, SELF_TOPIC, rules
from memory.analysis.morphology import Token, tokens
from memory.analysis.results import SELF, Reading, Tense

_OPENERS: Final = re.compile(
    r"^(?:(?:えーと|えっと|ええと|あの[ー〜]?|まあ|実は|ちなみに|そういえば|ところで|あと|それと|それから|また|そして|でも|しかし|ただ|やっぱり|はい|いいえ|うん|ううん|こんにちは|こんばんは|おはようございます|おはよう|はじめまして|初めまして|訂正|お疲れ様です|お疲れさまです|ありがとうございます|ありがとう|すみません|今は|今|現在は|現在|最近は|最近|いまは)[、,。!！\s]*)+"
)
_VOCATIVE: Final = re.compile(r"^(?:<@[^>]+>|@[\w.-]+)[\s、,:：]+")

GREETING: Final = re.compile(
    r"""^\W*(?:(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|おやすみ(?:なさい)?|さようなら|さよなら|じゃあ?ね|またね?|また(?:明日|今度|後で)|バイバイ
    |はじめまして|初めまして|やあ|どうも|もしもし|お疲れ(?:様|さま)?(?:です|でした)?|おつかれ(?:さま)?(?:です|でした)?|いってきます|ただいま|失礼します
    |(?:どうも|本当に|大変|誠に|いつも)*(?:ありがとう|有難う|有り難う)(?:ございま(?:す|した))?|感謝(?:します|です)|助かり(?:ます|ました)|あざす|サンキュー
    |(?:どうぞ|何卒|今後とも|こちらこそ)*(?:よろしく|宜しく)(?:お願い(?:いた|致)?し?い?ます|お願いします|です|ね)?|(?:こちらこそ)
    |はい|いいえ|うん|ううん|ええ|いや|そう(?:です|だ)?(?:ね|か|よね|なん(?:です|だ)(?:ね|か)?)?|なるほど|了解(?:です|しました|いたしました)?|りょ|承知(?:しました|いたしました|です)?|かしこまりました
    |わかりました|分かりました|わかった|分かった|オッケー|おっけー|OK(?:です)?|大丈夫(?:です)?|いいですね|いいね|良いですね|すごい(?:です|ですね|ね)?|さすが(?:です)?|素晴らしい(?:です|ですね)?|最高(?:です)?|完璧(?:です)?|面白い(?:です)?ね?
    |確かに|もちろん(?:です)?|ですね|ですよね|ほんと(?:う)?(?:です|に)?|マジ(?:で)?|えっ?と?|えーっ?と|うーん|ん[ー〜]|あー?|おー?|へ[ーえぇ]|ほう|わ[ーあ]い?|やった[ー]?|笑|草|w+|ごめん(?:なさい|ね)?|すみません|すいません|申し訳(?:ありません|ございません)
    |おめでとう(?:ございます)?|お願い(?:いた|致)?します|お元気ですか|元気(?:です)?か?|どういたしまして|いえいえ|結構です|そうですか|そうします|そうしましょう|では|じゃあ?|それでは|それで(?:いい|良い|お願いします)(?:です)?)
    (?:ね|よ|な|か|!|！|。|、|,|\.|…|〜|~|ー|\s|w|笑|♪|[😀-🙏])*)+\W*$""",
    re.VERBOSE,
)
_CONTROL: Final = re.compile(r"\b(?:NO_REPLY|HEARTBEAT_OK|HEARTBEAT)\b")
_REQUEST: Final = re.compile(
    r"(?:して|って|んで|いで|きて|せて|けて|げて|べて|めて|れて|えて|みて|出して|見て|来て)(?:ください|下さい|くれ|くれる|くれますか|もらえますか?|もらえませんか|いただけますか?|いただけませんか|頂けますか|欲しい(?:です)?|ほしい(?:です)?|ちょうだい|頂戴|ね)?"
    + END
)
_POLITE_REQUEST: Final = re.compile(
    r"(?:ください|下さい|くださいませ|くれ|ちょうだい|頂戴|お願い(?:いた|致)?します|お願いね?|なさい|て(?:欲しい|ほしい)(?:です)?|てもらえ(?:る|ますか|ませんか)|ていただけ(?:る|ますか|ませんか)|たいんですが|たいのですが)"
    + END
)
_JOKE: Final = re.compile(
    r"冗談|なんちゃって|なーんて|嘘です|うそです|嘘だよ|うそだよ|ジョーク|[（(](?:笑|嘘|冗談)[)）]|[wｗ]{2,}|[😂🤣😜🤪]|というのは嘘"
)
_SUPPOSE: Final = re.compile(
    r"(?<!か)もし(?!もし|かした|かする|くは)|仮に|としたら|とすれば|だとしたら|たとえば.*なら|もしも(?!し)|たらいい(?:な|の)|ればいいのに|たらなあ|だったらなあ|妄想|夢の中"
)
_WISH: Final = re.compile(
    r"(?:だろう|でしょう|かな|のに|いいな|いいなあ|たい|ようかな|楽しい|嬉しい|うれしい|かも|はず)(?:な|なあ|ね|よ|です|か)*[。!！…]*$"
)
# 紅茶もコーヒーも好き: two values, and an attribute has one.
_BOTH: Final = re.compile(r"[^、。]も[^、。]+も、?(?:大)?(?:好き|嫌い|苦手|使)")
_REPORTED: Final = re.compile(
    r"」(?:と|って)(?!呼)|^[「『].*[」』][。.!！]?$|(?:と|って)(?:言っ|話し|おっしゃ|いっ)て"
)
_FIRST: Final = frozenset(
    {"私", "僕", "俺", "自分", "わたし", "ぼく", "おれ", "うち", "あたし", "我", "小生"}
)
RELATIONS: Final = frozenset(
    [
        "妻",
        "夫",
        "母",
        "父",
        "兄",
        "弟",
        "姉",
        "妹",
        "息子",
        "娘",
        "祖父",
        "祖母",
        "彼氏",
        "彼女",
        "両親",
        "友達",
        "友人",
        "親友",
        "同僚",
        "上司",
        "部下",
        "先輩",
        "後輩",
        "主人",
        "旦那",
        "嫁",
        "犬",
        "猫",
        "子供",
        "家族",
    ]
)
HONORIFIC: Final = re.compile(r"(?:さん|くん|君|ちゃん|様|氏|先生|部長|課長|社長)$")

_LEADING_TOPIC: Final = re.compile(r"^(?P<topic>[^、。はもがをにでとへ「」]{1,20}?)(?:は|も|が)、?")
_CLAUSE: Final = re.compile(
    r"(?:ですが|ますが|だけど|ですけど|ますけど|けれど|けど|ですし|ますし|だし|るし|ていて|んでいて|で)、|、(?=(?:私|僕|俺)(?:は|の|が))"
)
_FILLER: Final = re.compile(
    r"^(?:私たち|今|現在|最近|実は|昔|以前|ずっと|もう|昨日|先週|先月|去年|今年|今月|今週|ついに|とうとう|やっと)(?:は|、|から)?\s*|^(?:[^\s]*?(?:年|月|日|週|ごろ|頃)(?:に|から|、))"
)


def is_skipped(sentence: str) -> bool:
    """True for greetings, acknowledgements, control words, requests and hypotheticals."""
    plain = _plain(sentence)
    body = opened(plain)
    if GREETING.match(plain) or GREETING.match(body) or _CONTROL.search(plain) or len(body) < 2:
        return True
    if _match(body) is None and (_REQUEST.search(body) or _POLITE_REQUEST.search(body)):
        return True
    if _SUPPOSE.search(body):
        return True
    words = tokens(body)
    if is_conditional(words) and _WISH.search(body):
        return True
    return _match(body) is None and not _says_something(words)


def is_joke(sentence: str) -> bool:
    """True when the words say that they, or the words before, were not meant."""
    return bool(_JOKE.search(sentence))


def clauses(sentence: str) -> list[tuple[int, int]]:
    """Ranges of the clauses of `sentence` when each of them has a pattern of its own."""
    cuts = [m.end() for m in _CLAUSE.finditer(sentence)]
    starts, ends = [0, *cuts], [*cuts, len(sentence)]
    parts = list(zip(starts, ends, strict=True))
    if len(parts) > 1 and all(_match(opened(_finished(sentence[a:b]))) for a, b in parts):
        return parts
    return [(0, len(sentence))]


def read(clause: str) -> Reading:
    """What the patterns tell about `clause`; doubtful or future clauses get no attribute."""
    body = opened(_finished(clause))
    words = tokens(body)
    certain = not is_doubtful(body) and not is_conditional(words)
    negated = is_negated(words)
    tense = tense_of(words)
    subject = _subject(body, words)
    found = None if _REPORTED.search(body) or _BOTH.search(body) else _match(body)
    if found is None or not certain:
        return Reading(subject, None, None, negated, certain, tense)
    if tense is Tense.FUTURE and str(found.attribute).partition(":")[0] not in {
        "deadline",
        "birthday",
        "decision",
    }:
        return Reading(subject, None, None, negated, certain, tense)
    return replace(found, negated=found.negated or negated)


def _match(body: str) -> Reading | None:
    for pattern, attribute in rules():
        match = pattern.match(body)
        if match is None:
            continue
        groups = match.groupdict()
        topic, value = _topic_and_value(body, match)
        if (
            not value
            or len(value) > 60
            or value
            in {"何", "どこ", "誰", "いつ", "そこ", "ここ", "それ", "これ", "あれ", "の", "こと"}
        ):
            continue
        if attribute.endswith(":"):
            attribute += _value(groups.get("object") or value).lower()
        who = groups.get("who") or topic
        subject = (
            _named(who) if who else None if attribute.startswith(("decision", "deadline")) else SELF
        )
        tense = Tense.NOW
        if groups.get("tense") in {"た", "ました", "たです"} or re.search(
            r"(?:でした|だった)" + END, body
        ):
            tense = Tense.PAST
        negated = bool(groups.get("no")) or (groups.get("tense") or "") in {
            "ない",
            "ません",
            "いません",
            "いない",
            "おりません",
        }
        return Reading(subject, attribute, value, negated, True, tense)
    words = tokens(body)
    return _self_introduction(body, words)


def _topic_and_value(body: str, match: re.Match[str]) -> tuple[str, str]:
    """Who or what the clause is about, when it says so, and the object after it.

    A topic ends at the last particle は or も, which only Sudachi can tell from the same
    letters inside a word (ごはん). What stands before から, より or a comma is no object.
    """
    start, end = match.span("value")
    topic, first = "", start
    for word in tokens(body):
        after = word.start + len(word.surface)
        if not start <= word.start < end - 1 or after >= end:
            continue
        if word.surface in {"は", "も"} and word.is_a("助詞", "係助詞"):
            topic, first = body[first : word.start].strip(), after
        elif word.surface == "、" or (word.surface in {"から", "より"} and word.is_a("助詞")):
            first = after
    return "" if _TIME_TOPIC.search(topic) else topic, _value(body[first:end])


_TIME_TOPIC: Final = re.compile(r"(?:昔|以前|前|今|現在|最近|今年|去年|今日|昨日|普段|いつも)$")


BARE_NAME: Final = re.compile(r"^\s*(?:お?名前|名)は")
"""猫を飼っています, then 名前はタマです: it may be the name of whoever was spoken of before."""


def _self_introduction(body: str, words: list[Token]) -> Reading | None:
    """私は田中です: a name only when Sudachi knows it as one."""
    match = re.match(rf"^{SELF_TOPIC}(?P<value>[^、。はがを\s]{{1,15}}?)(?:です|だ){END}", body)
    if match is None:
        return None
    inside = [w for w in words if match.start("value") <= w.start < match.end("value")]
    if inside and all("人名" in w.tags for w in inside):
        return Reading(SELF, "name", match["value"])
    return None


def _value(text: str) -> str:
    text = re.sub(rf"^{SELF_TOPIC}", "", text.strip())
    text = _FILLER.sub("", text) or text
    return text.strip(" 　「」『』\"'、")


def _named(topic: str) -> str | None:
    topic = _value(topic) if topic not in _FIRST else topic
    if (
        not topic
        or topic in _FIRST
        or re.search(r"(?:^|[^一-龯ぁ-ゖァ-ヺ])(?:私|僕|俺|自分|わたし|ぼく)$", topic)
    ):
        return SELF
    if topic in {"彼", "彼女", "彼ら", "あの人", "その人"}:
        return None
    inner = re.sub(r"^(?:私|僕|俺|うち)の", "", topic)
    pieces = inner.split("の")
    name = pieces[-1] if len(pieces) > 1 and pieces[0] in RELATIONS else inner
    return HONORIFIC.sub("", name) or name


def _subject(body: str, words: list[Token]) -> str | None:
    """The topic when it is a person; the speaker when the clause says 私 or 僕 first."""
    if re.match(rf"^{SELF_TOPIC}", body) and not re.match(r"^(?:うち|自分)(?!は|も|の|が)", body):
        owned = re.match(r"^(?:私|僕|俺)の(?P<noun>[^、。はもが]{1,12}?)(?:は|も|が)", body)
        if owned and owned["noun"].split("の")[0] in RELATIONS:
            return _named(owned["noun"])
        return SELF
    found = None if _BOTH.search(body) else _match(body)
    if found is not None:
        return found.subject
    match = _LEADING_TOPIC.match(body)
    if match is None:
        return None
    topic = match["topic"]
    inside = [w for w in words if w.start < match.end("topic")]
    personal = HONORIFIC.search(topic) or topic.split("の")[0] in RELATIONS
    if personal or (inside and any("人名" in w.tags for w in inside[-1:])):
        return _named(topic)
    return None


def _says_something(words: list[Token]) -> bool:
    """True when there is more than interjections, pronouns and endings."""
    content = [
        w
        for w in words
        if w.tags[0] in {"名詞", "動詞", "形容詞", "形状詞"}
        and not w.is_a("名詞", "助動詞語幹")
        and "非自立可能" not in w.tags
    ]
    return len(content) > 1 or bool(content and len(words) > 2)


def _finished(clause: str) -> str:
    """`clause` as a sentence: 住んでいて、 → 住んでいます, so that one set of patterns serves."""
    plain = _plain(clause).rstrip(" ,、")
    for ending, finished in (
        ("んでいて", "んでいる"),
        ("ていて", "ている"),
        ("好きで", "好きだ"),
        ("ですが", "です"),
        ("ますが", "ます"),
        ("だけど", "だ"),
        ("ですけど", "です"),
        ("ますけど", "ます"),
        ("ますし", "ます"),
        ("ですし", "です"),
        ("だし", "だ"),
        ("るし", "る"),
        ("けど", ""),
        ("けれど", ""),
    ):
        if plain.endswith(ending):
            return plain[: -len(ending)] + finished
    if plain.endswith(("出身で", "在住で")):
        return plain[:-1] + "です"
    return plain


def opened(text: str) -> str:
    text = _VOCATIVE.sub("", text.strip())
    return _OPENERS.sub("", text).strip() or text


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()

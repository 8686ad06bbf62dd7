"""What can be told about one Japanese clause without a model."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from memory.analysis.morphology import Token, tokens
from memory.analysis.results import SELF, Reading, Tense

_END: Final = r"(?:よ|ね|な|わ|ぞ|さ)*[。!！.…〜~]*\s*$"
_BE: Final = r"(?:です|だ|である|でした|だよ|なんです|なんだ|になりました|になった|に変わりました|に変わった|に変更になりました|に変更しました|に変えました)?" + _END
_SELF_TOPIC: Final = r"(?:(?:私|わたし|わたくし|僕|ぼく|俺|おれ|自分|うち|あたし|当方)(?:は|も|が|、|の|って)?、?\s*)"
_ME: Final = rf"^{_SELF_TOPIC}?"

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
    r"(?:して|って|んで|いで|きて|せて|けて|げて|べて|めて|れて|えて|みて|出して|見て|来て)(?:ください|下さい|くれ|くれる|くれますか|もらえますか?|もらえませんか|いただけますか?|いただけませんか|頂けますか|欲しい(?:です)?|ほしい(?:です)?|ちょうだい|頂戴|ね)?" + _END
)
_POLITE_REQUEST: Final = re.compile(r"(?:ください|下さい|くださいませ|くれ|ちょうだい|頂戴|お願い(?:いた|致)?します|お願いね?|なさい|て(?:欲しい|ほしい)(?:です)?|てもらえ(?:る|ますか|ませんか)|ていただけ(?:る|ますか|ませんか)|たいんですが|たいのですが)" + _END)
_JOKE: Final = re.compile(r"冗談|なんちゃって|なーんて|嘘です|うそです|嘘だよ|うそだよ|ジョーク|[（(](?:笑|嘘|冗談)[)）]|[wｗ]{2,}|[😂🤣😜🤪]|というのは嘘")
_SUPPOSE: Final = re.compile(r"(?<!か)もし(?!もし|かした|かする|くは)|仮に|としたら|とすれば|だとしたら|たとえば.*なら|もしも(?!し)|たらいい(?:な|の)|ればいいのに|たらなあ|だったらなあ|妄想|夢の中")
_WISH: Final = re.compile(r"(?:だろう|でしょう|かな|のに|いいな|いいなあ|たい|ようかな|楽しい|嬉しい|うれしい|かも|はず)(?:な|なあ|ね|よ|です|か)*[。!！…]*$")
_UNCERTAIN: Final = re.compile(
    r"かもしれ|かも(?:です|ね|。|$)|かもです|らしい|ようです|ようだ|みたい(?:です|だ|。|ね|$)|だろう|でしょう|可能性|と思(?:う|い|って)|はず(?:です|だ|。|$)|つもり|予定|たいです|たい(?:。|な|と|$)|たぶん|多分|おそらく|恐らく|もしかし|きっと|どうやら|検討(?:中|して)|迷って|考え(?:て(?:い)?(?:る|ます)|中)|とのこと|そうです(?:。|$)|(?:る|た|い)そうだ|という噂|うわさ|気がする|つもりです|べき|ほしい|欲しい|希望|と(?:聞|き)いた"
)
_CONDITIONAL_OK: Final = re.compile(r"といえば|と言えば|によれば|できれば|よければ|そういえば|そしたら|だったら、|ならでは|なければなら|ければならない|ればならない")
# 紅茶もコーヒーも好き: two values, and an attribute has one.
_BOTH: Final = re.compile(r"[^、。]も[^、。]+も、?(?:大)?(?:好き|嫌い|苦手|使)")
_REPORTED: Final = re.compile(r"」(?:と|って)|^[「『].*[」』][。.!！]?$|(?:と|って)(?:言っ|話し|おっしゃ|いっ)て")
_FIRST: Final = frozenset({"私", "僕", "俺", "自分", "わたし", "ぼく", "おれ", "うち", "あたし", "我", "小生"})
RELATIONS: Final = frozenset(["妻", "夫", "母", "父", "兄", "弟", "姉", "妹", "息子", "娘", "祖父", "祖母", "彼氏", "彼女", "両親", "友達", "友人", "親友", "同僚", "上司", "部下", "先輩", "後輩", "主人", "旦那", "嫁", "犬", "猫", "子供", "家族"])
HONORIFIC: Final = re.compile(r"(?:さん|くん|君|ちゃん|様|氏|先生|部長|課長|社長)$")

_JOB: Final = r"(?P<value>[^、。はがをに\s]*?(?:エンジニア|デザイナー|プログラマー?|マネージャー?|ディレクター|コンサルタント|アナリスト|ライター|カメラマン|教師|教員|先生|医師|医者|看護師|介護士|保育士|弁護士|会計士|税理士|薬剤師|美容師|理容師|調理師|料理人|シェフ|学生|大学生|高校生|会社員|公務員|研究者|記者|作家|漫画家|画家|音楽家|歌手|俳優|声優|警察官|消防士|運転手|農家|漁師|大工|翻訳者|通訳|主婦|主夫|経営者|店長|秘書|販売員|司書|建築家|開発者|営業|SE|フリーランス|フリーター))"
_X: Final = r"(?P<value>[^。、]+?)"
_NOW: Final = r"(?:て|で)(?:い|お)?(?P<tense>る|ます|ました|た|ない|ません|おります|いません|いない|おりません)(?:んです|のです|んだ)?(?:が|けど|けれど)?"

# Pattern, attribute (a closing colon takes the object, else the value, as its second part).
_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), attribute)
    for pattern, attribute in (
        # name
        (rf"^{_SELF_TOPIC}?(?:(?:お)?名前|氏名|名|本名|フルネーム|ニックネーム|あだ名)は、?{_X}(?:と(?:いい|言い|申し)ます|{_BE})", "name"),
        (rf"^(?P<who>[^、。は]{{1,12}}?)の名前は、?{_X}{_BE}", "name"),
        (rf"{_ME}(?P<value>[^、。はがを\s]{{1,15}}?)(?:と申します|といいます|と言います|っていいます|って言います|って呼んでください|って呼んで|と呼んでください|と呼んで){_END}", "name"),
        (rf"^(?P<value>[^、。はがを\s]{{1,15}}?)が(?:私|僕|俺)の名前{_BE}", "name"),
        # home
        (rf"^(?P<value>[^。]+?)に(?:住ん|すん|暮らし){_NOW}{_END}", "home"),
        (rf"^(?P<value>[^。]+?)で(?:暮らし|生活し){_NOW}{_END}", "home"),
        (rf"^(?P<value>[^。]+?)在住{_BE}", "home"),
        (rf"{_ME}(?:家|自宅|住まい|住んでいる(?:の|ところ|場所|街|町)|住んでる(?:の|ところ|場所|街|町)|現住所)は、?{_X}(?:にあります|にある|です|だ){_END}", "home"),
        (rf"{_ME}住所は、?{_X}{_BE}", "address"),
        (rf"^(?P<value>[^。]+?)(?:に|へ)(?:引っ越し|引越し|引越|引っ越|移住し|転居し)(?:ました|た|てきました|てきた|したばかりです|たばかりです|たばかりだ|しました|した){_END}", "home"),
        (rf"{_ME}(?P<value>[^、。はがを]+?)(?:の)?出身{_BE}", "origin"),
        (rf"{_ME}出身(?:地)?は、?(?P<value>[^。、]+?){_BE}", "origin"),
        # work
        (rf"{_ME}(?:仕事|職業|職種|本業)は、?{_X}(?:を(?:して|やって)い?(?:る|ます)|{_BE})", "job"),
        (rf"^(?P<value>[^。]+?)として(?:働い|勤め|勤務し){_NOW}{_END}", "job"),
        (rf"^(?P<value>[^。]+?)(?:を仕事に|の仕事を)し{_NOW}{_END}", "job"),
        (rf"^(?:(?P<who>[^、。]{{1,20}}?)は、?)?{_JOB}(?:です|だ|をして(?:い)?ます|をして(?:い)?る|をやって(?:い)?ます|になりました|になった|ではありません|じゃない){_END}", "job"),
        (rf"^(?P<value>[^。]+?)(?:で働い|に勤め|に勤務し|で勤務し){_NOW}{_END}", "employer"),
        (rf"{_ME}(?:勤務先|勤め先|会社)は、?(?P<value>[^。、]+?){_BE}", "employer"),
        (rf"{_ME}(?P<value>[^。、はも]+?)チームに(?:所属し|入っ|い){_NOW}{_END}", "team"),
        (rf"{_ME}(?:チーム|所属(?:チーム|部署)?|部署)は、?(?P<value>[^。、]+?){_BE}", "team"),
        (rf"{_ME}(?P<value>[^。、はも]+?)に(?:所属し|配属され){_NOW}{_END}", "team"),
        (rf"{_ME}(?P<value>[^。、はも]+?)(?:チーム)に異動(?:しました|した|になりました){_END}", "team"),
        # dates
        (rf"{_ME}(?:誕生日|生年月日|お誕生日)は、?{_X}{_BE}", "birthday"),
        (rf"{_ME}(?P<value>(?:[0-9一二三四五六七八九十]+年)?[0-9一二三四五六七八九十]+月[0-9一二三四五六七八九十]+日)(?:に)?生まれ(?:ました|た|です|だ)?{_END}", "birthday"),
        (rf"^(?P<who>[^、。は]{{1,12}}?)の誕生日は、?{_X}{_BE}", "birthday"),
        (rf"{_ME}(?:年齢は)?(?P<value>[0-9]{{1,3}}|[一二三四五六七八九十]{{1,3}})(?:歳|才)(?:です|だ|になりました|になった){_END}", "age"),
        (rf"^(?P<object>[^、。は]{{1,30}}?)の(?:締め?切り?|〆切り?|期限|納期|デッドライン)は、?{_X}(?:まで)?{_BE}", "deadline:"),
        (rf"^(?:締め?切り?|〆切り?|期限|納期|デッドライン)は、?{_X}(?:まで)?{_BE}", "deadline"),
        # favourites, likes and dislikes
        (rf"{_ME}(?:一番|いちばん|最も)?(?:大)?(?:好きな|お気に入りの|推しの)(?P<object>[^、。は]{{1,12}}?)は、?{_X}(?P<no>では(?:ない|ありません)|じゃ(?:ない|ありません))?{_BE}", "favourite:"),
        (rf"^(?P<value>[^、。はが]{{1,30}}?)(?:が|は)(?:私|僕|俺)の(?:一番|いちばん|最も)?(?:好きな|お気に入りの)(?P<object>[^、。は]{{1,12}}?){_BE}", "favourite:"),
        (rf"^(?P<value>[^。]+?)(?:のこと)?(?:が|は|も)、?(?:とても|すごく|大変|もう|あまり|めっちゃ|本当に|そんなに|やっぱり|ずっと|今でも|けっこう|結構|かなり)*(?:大)?好き(?:で|じゃ|では|だっ|でし)?(?P<no>(?:は)?(?:ない|ありません|なく|なくなりました|なくなった)(?:です|なりました|なった)?)?(?P<tense>たです|た|です|だ|なんです|なんだ)?{_END}", "likes:"),
        (rf"^(?P<value>[^。]+?)(?:を)(?:とても|すごく|心から)?(?:愛して|好んで){_NOW}{_END}", "likes:"),
        (rf"^(?P<value>[^。]+?)(?:が|は)、?(?:とても|すごく|大変|めっちゃ|本当に|ちょっと|少し|かなり)*(?:大)?(?:嫌い|きらい|苦手)(?P<no>では(?:ない|ありません)|じゃ(?:ない|ありません))?{_BE}", "dislikes:"),
        # tools and decisions
        (rf"^(?P<value>[^。]+?)を(?:使っ|利用し|愛用し|使用し){_NOW}{_END}", "tool:"),
        (rf"(?P<value>[^。、はも]+?)(?:に|を)(?:決めました|決めた|決定しました|決定した|決まりました|決まった|採用することにしました|採用することにした){_END}", "decision"),
        (rf"(?P<value>[^。]+?)こと(?:に(?:しました|した|決めました|決めた|なりました|なった|決まりました|決まった)|が決まりました|が決まった){_END}", "decision"),
    )
)
_LEADING_TOPIC: Final = re.compile(r"^(?P<topic>[^、。はもがをにでとへ「」]{1,20}?)(?:は|も|が)、?")
_CLAUSE: Final = re.compile(r"(?:ですが|ますが|だけど|ですけど|ますけど|けれど|けど|ですし|ますし|だし|るし|ていて|んでいて|で)、|、(?=(?:私|僕|俺)(?:は|の|が))")
_FILLER: Final = re.compile(r"^(?:私たち|今|現在|最近|実は|昔|以前|ずっと|もう|昨日|先週|先月|去年|今年|今月|今週|ついに|とうとう|やっと)(?:は|、|から)?\s*|^(?:[^\s]*?(?:年|月|日|週|ごろ|頃)(?:に|から|、))")


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
    if _is_conditional(words) and _WISH.search(body) and not _CONDITIONAL_OK.search(body):
        return True
    return not _says_something(words)


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
    certain = not _UNCERTAIN.search(body) and not _is_conditional(words)
    negated = is_negated(words)
    tense = tense_of(words)
    subject = _subject(body, words)
    found = None if _REPORTED.search(body) or _BOTH.search(body) else _match(body)
    if found is None or not certain:
        return Reading(subject, None, None, negated, certain, tense)
    if tense is Tense.FUTURE and str(found.attribute).partition(":")[0] not in {"deadline", "birthday", "decision"}:
        return Reading(subject, None, None, negated, certain, tense)
    return replace(found, negated=found.negated or negated)


def is_doubtful(text: str) -> bool:
    """True when the words say that it may be so, is hoped for, or was only heard."""
    return bool(_UNCERTAIN.search(text))


def is_negated(words: list[Token]) -> bool:
    """True when an odd number of negating words is left: 好きじゃない, 住んでいません, 蹴り損なう."""
    text = "".join(word.surface for word in words)
    count = sum(is_negator(word, before) for before, word in zip([None, *words], words, strict=False))
    # Forms with a negative in them that do not negate (かもしれない, しか … ない).
    count -= len(_NOT_NEGATING.findall(text)) + 2 * len(_MUST.findall(text))
    if any(word.surface == "しか" and word.is_a("助詞") for word in words):
        count -= 1
    return count > 0 and count % 2 == 1


_NOT_NEGATING: Final = re.compile(r"かもしれ(?:ない|ません)|[じでは]ゃ?ないか(?:と|な|。|$)|違いない|間違いな[いく]|違いありません|くない[?？]")
_MUST: Final = re.compile(r"な(?:ければ|きゃ|くては|くちゃ)(?:なら|いけ|だめ|ダメ)?")
_FAILING: Final = frozenset({"損なう", "損ねる", "そびれる", "損じる"})
"""Second parts of compound verbs that say that it did not succeed."""


def is_negator(word: Token, before: Token | None) -> bool:
    """True for ない, ません, ず and verbs such as 損なう after another verb."""
    if word.base in _FAILING and before is not None and before.is_a("動詞"):
        return True
    if word.is_a("助動詞"):
        return word.normal in {"ない", "無い", "ず", "まい"}
    return word.base in {"ない", "無い", "無し"} and (word.is_a("形容詞") or word.is_a("名詞"))


def tense_of(words: list[Token]) -> Tense:
    """By the last finite verb or auxiliary, and by words such as 来月."""
    text = "".join(w.surface for w in words)
    if re.search(r"来(?:週|月|年|春|夏|秋|冬)|明日|明後日|今度|つもり|予定|これから|将来|いつか", text):
        return Tense.FUTURE
    for word in reversed(words):
        if word.is_a("助動詞", "助動詞-タ"):
            return Tense.PAST
        if word.is_a("動詞") or word.is_a("形容詞") or word.is_a("助動詞"):
            if word.is_a("助動詞", "助動詞-デス") or word.base in {"だ"}:
                continue
            return Tense.NOW
    return Tense.NOW


def _match(body: str) -> Reading | None:
    for pattern, attribute in _RULES:
        match = pattern.match(body)
        if match is None:
            continue
        groups = match.groupdict()
        topic, value = _topic_and_value(body, match)
        if not value or len(value) > 60 or value in {"何", "どこ", "誰", "いつ", "そこ", "ここ", "それ", "これ", "あれ", "の", "こと"}:
            continue
        if attribute.endswith(":"):
            attribute += _value(groups.get("object") or value).lower()
        who = groups.get("who") or topic
        subject = _named(who) if who else None if attribute.startswith(("decision", "deadline")) else SELF
        tense = Tense.NOW
        if groups.get("tense") in {"た", "ました", "たです"} or re.search(r"(?:でした|だった)" + _END, body):
            tense = Tense.PAST
        negated = bool(groups.get("no")) or (groups.get("tense") or "") in {"ない", "ません", "いません", "いない", "おりません"}
        return Reading(subject, attribute, value, negated, True, tense)
    words = tokens(body)
    return _self_introduction(body, words)


def _topic_and_value(body: str, match: re.Match[str]) -> tuple[str, str]:
    """Who or what the clause is about, when it says so, and the object after it.

    A topic ends at the last particle は or も, which only Sudachi can tell from the same
    letters inside a word (ごはん).
    """
    start, end = match.span("value")
    cut = 0
    for word in tokens(body):
        if start <= word.start < end - 1 and word.surface in {"は", "も"} and word.is_a("助詞", "係助詞"):
            cut = word.start + 1
    topic = body[start : cut - 1] if cut else ""
    return topic.strip(), _value(body[max(start, cut) : end])


def _self_introduction(body: str, words: list[Token]) -> Reading | None:
    """私は田中です: a name only when Sudachi knows it as one."""
    match = re.match(rf"^{_SELF_TOPIC}(?P<value>[^、。はがを\s]{{1,15}}?)(?:です|だ){_END}", body)
    if match is None:
        return None
    inside = [w for w in words if match.start("value") <= w.start < match.end("value")]
    if inside and all("人名" in w.tags for w in inside):
        return Reading(SELF, "name", match["value"])
    return None


def _value(text: str) -> str:
    text = re.sub(rf"^{_SELF_TOPIC}", "", text.strip())
    text = _FILLER.sub("", text) or text
    return text.strip(" 　「」『』\"'、")


def _named(topic: str) -> str | None:
    topic = _value(topic) if topic not in _FIRST else topic
    if not topic or topic in _FIRST or re.search(r"(?:^|[^一-龯ぁ-ゖァ-ヺ])(?:私|僕|俺|自分|わたし|ぼく)$", topic):
        return SELF
    inner = re.sub(r"^(?:私|僕|俺|うち)の", "", topic)
    pieces = inner.split("の")
    name = pieces[-1] if len(pieces) > 1 and pieces[0] in RELATIONS else inner
    return HONORIFIC.sub("", name) or name


def _subject(body: str, words: list[Token]) -> str | None:
    """The topic when it is a person; the speaker when the clause says 私 or 僕 first."""
    if re.match(rf"^{_SELF_TOPIC}", body) and not re.match(r"^(?:うち|自分)(?!は|も|の|が)", body):
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


def _is_conditional(words: list[Token]) -> bool:
    return any(
        any("仮定形" in tag for tag in word.tags) or (word.surface == "ば" and word.is_a("助詞", "接続助詞"))
        for word in words
    ) and not _CONDITIONAL_OK.search("".join(w.surface for w in words))


def _says_something(words: list[Token]) -> bool:
    """True when there is more than interjections, pronouns and endings."""
    content = [
        w for w in words
        if w.tags[0] in {"名詞", "動詞", "形容詞", "形状詞"} and not w.is_a("名詞", "助動詞語幹") and "非自立可能" not in w.tags
    ]
    return len(content) > 1 or bool(content and len(words) > 2)


def _finished(clause: str) -> str:
    """`clause` as a sentence: 住んでいて、 → 住んでいます, so that one set of patterns serves."""
    plain = _plain(clause).rstrip(" ,、")
    for ending, finished in (("んでいて", "んでいる"), ("ていて", "ている"), ("好きで", "好きだ"), ("ですが", "です"), ("ますが", "ます"), ("だけど", "だ"), ("ですけど", "です"), ("ますけど", "ます"), ("ますし", "ます"), ("ですし", "です"), ("だし", "だ"), ("るし", "る"), ("けど", ""), ("けれど", "")):
        if plain.endswith(ending):
            return plain[: -len(ending)] + finished
    return plain


def opened(text: str) -> str:
    text = _VOCATIVE.sub("", text.strip())
    return _OPENERS.sub("", text).strip() or text


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()

"""Commands in plain words, in English and Japanese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memory.analysis import asks


@dataclass(frozen=True, slots=True)
class Phrase:
    """A command that somebody said instead of typing it."""

    command: str
    """Name in the registry, or `correct`; `forget everything` and `forget that` whole."""
    argument: str = ""


_END = r"$"
"""What it stands for, white space and full stops, is taken off before: within the patterns it
would be tried again at every place of a text.
"""
_PLEASE = r"^(?:please,?\s+|hey,?\s+|ok(?:ay)?,?\s+)?"
_COULD_YOU = r"(?P<politely>(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"
"""An order, though it may end in a question mark."""
_JA_PLEASE = (
    r"(?:ください|下さい|ほしい|ね|よ"
    r"|(?P<politely>(?:くれ|もらえ|いただけ|頂け)(?:(?:る|ない|ます|ません)(?:か|の|かな)?)?[?？]*))?"
)
_ASKED = r"[?？]*"

_JA_SELF = r"(?:私|僕|俺|わたし|ぼく|おれ|自分)"
_JA_ALL = r"(?:全部|すべて|全て|何もかも)"
_JA_DELETE = r"(?:忘れて|消して|消去して|削除して)"
_JA_SHOW = r"(?:見せて|教えて|聞かせて|話して|表示して|出して)"
_JA_KNOWN = r"(?:(?:覚えて|記憶して|知って)い?る|覚えた)(?:こと|もの|事|内容)"

_ABOUT_ME = r"(?: about me)?"
_ALL_YOU_KNOW = (
    r"(?:everything|all|whatever|what) (?:that )?"
    r"you(?: know| remember|(?:['’]ve| have)(?: (?:learned|learnt|remembered|stored|saved))?)"
    + _ABOUT_ME
)

_POINTED_AT = (
    r"(?:it|this|that|these|those|them|(?:this|that) (?:one|thing|fact)"
    r"|(?:the|that|my|your) (?:last|latest|previous) (?:thing|one|fact|message|statement)"
    r"(?: (?:that )?(?:I|you) (?:just )?(?:said|told you|wrote|learned|learnt|remembered|saved))?"
    r"|what (?:I just (?:said|told you|wrote)|I (?:said|told you|wrote)"
    r"|you(?:['’]ve| have)? just (?:said|learned|learnt|remembered|saved)))"
)
_JA_POINTED_AT = (
    r"(?:それ|これ|あれ|(?:その|この|今の|いまの|さっきの|先ほどの|先程の|直前の|最後の)"
    r"|(?:たった今|今|いま|さっき|先ほど|先程)(?:私が|僕が|俺が)?"
    r"(?:言った|話した|書いた|伝えた|教えた|覚えた))(?:こと|事|の|話|もの|やつ|内容|発言|記憶)?"
)

_IT_IS = r"(?:it|that|this)(?:['’]s|\s+is|\s+was)\s+"
_WRONG = (
    r"(?:no,?\s+)?(?:"
    r"(?:that|this|it)(?:['’]s|\s+is|\s+was)\s+"
    r"(?:wrong|incorrect|false|not\s+(?:right|correct|true))"
    r"|(?:that|this|it)\s+(?:isn|wasn)['’]?t\s+(?:right|correct|true)"
    r"|you(?:['’]re|\s+are)\s+(?:wrong|mistaken|incorrect|not\s+right)"
    r"|wrong|incorrect)"
)
_VALUE = (
    r"(?!(?:ok|okay|i|not|no|just|so|too|fine|all|good|great|nothing|true|false|really)\b)"
    r"(?:(?:(?:at|on|in|by|from|called|named|near)\s+)?(?:(?-i:[A-Z])|\d)"
    r"|(?:(?:at|on|by)\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|noon"
    r"|midnight)\b"
    r"|(?:red|blue|green|yellow|black|white|brown|orange|purple|pink|gr[ae]y)\b"
    r"|(?:called|named)\s|\w{1,30}\s\d)"
)
"""How a value begins that takes the place of another: a name, a number, a day, a colour. "No, it's
raining" has none.
"""
_NAME = r"(?-i:[A-Z])"

_JA_WRONG = (
    r"(?:(?:いいえ|いえ|いや|ううん)[、。,\s]*+)?(?:(?:それ|これ|今の|さっきの)(?:は|って)?)?"
    r"(?:違(?:う|います|いました|って(?:い)?(?:る|ます))|間違(?:い|[っえ]て(?:い)?(?:る|ます))|誤り"
    r"|正しく(?:ない|ありません))(?:です)?[よねな]?"
)
_JA_NO_VALUE = (
    r"(?!結構|大丈夫|平気|まだ|無理|だめ|ダメ|駄目|嫌|違|そう|そんな|とんでも|こちら|別に|特に|なし"
    r"|遠慮|不要|必要|十分|充分|初めて|はじめて|同じ|元気|冗談|残念|もう|気に|本当|ほんと|以上|それだけ"
    r"|全然|全く|まったく|ちょっと|多分|たぶん|暇|幸せ|満足|問題|オッケー|オーケー|ok|嘘|うそ|好き|嫌い"
    r"|普通|微妙|最高|最悪|さすが|誤解|勘違い|お(?:構い|気|互い|願い))"
)
_JA_NO_VERDICT = (
    r"(?<!い)(?<!好き)(?<!そう)(?<!よう)(?<!ほう)(?<!はず)(?<!つもり)(?<!だけ)(?<!わけ)(?<!の)"
    r"(?<![るうたいなくす]ん)"
)
"""Not behind an adjective, and not behind what gives a reason."""

_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), command)
    for pattern, command in (
        # -- everything about the speaker ----------------------------------------------------------
        (
            _PLEASE
            + _COULD_YOU
            + r"(?:forget (?:me|about me|who I am|(?:everything|all)"
            + r"(?: (?:about me|you know(?: about me)?"
            + r"|(?:that )?I(?:['’]ve| have)?(?: ever)? (?:said|told you)))?)"
            + r"|(?:delete|erase|wipe) everything"
            + _ABOUT_ME
            + r"|(?:forget|delete|erase|wipe|remove|clear) (?:"
            + _ALL_YOU_KNOW
            + r"|(?:all (?:of )?)?my (?:data|facts|memories|memory|information)))"
            + _ASKED
            + _END,
            "forget everything",
        ),
        (
            rf"^(?:{_JA_SELF}の?(?:こと|情報)?(?:は|を|の?ことは?)?)?{_JA_ALL}を?{_JA_DELETE}"
            + _JA_PLEASE
            + _END,
            "forget everything",
        ),
        (
            rf"^(?:{_JA_SELF}(?:の|に(?:関する|ついての?))(?:全|{_JA_ALL}の)?"
            rf"(?:こと|事|情報|個人情報|データ|記憶)|{_JA_SELF}について"
            rf"|(?:{_JA_SELF}について)?{_JA_KNOWN}|{_JA_SELF}(?=[をは]))"
            rf"[をは]?(?:{_JA_ALL}を?)?{_JA_DELETE}" + _JA_PLEASE + _END,
            "forget everything",
        ),
        # -- what was said last --------------------------------------------------------------------
        (
            _PLEASE + _COULD_YOU + rf"forget (?:about )?{_POINTED_AT}" + _ASKED + _END,
            "forget that",
        ),
        (rf"^{_JA_POINTED_AT}[をは]?(?:もう)?忘れて" + _JA_PLEASE + _END, "forget that"),
        # -- lists ---------------------------------------------------------------------------------
        (
            _PLEASE
            + _COULD_YOU
            + r"(?:what (?:do you (?:know|remember)|have you (?:learned|learnt|remembered|stored))"
            + _ABOUT_ME
            + r"|(?:tell|show)(?: me)? (?:"
            + _ALL_YOU_KNOW
            + r"|about (?:me|myself))|list|facts"
            + r"|(?:list|show)(?: me)? (?:all )?(?:my |your )?(?:facts|memories|memory))"
            + _ASKED
            + _END,
            "list",
        ),
        (
            rf"^{_JA_SELF}(?:について|のこと)[をは、]?(?:何|なに)[かを]?(?:知って|覚えて)\S*?[?？]?"
            + _END,
            "list",
        ),
        (
            rf"^(?:{_JA_SELF}について)?(?:何|なに)を?(?:覚えて|知って|記憶して)い?(?:る|ます)"
            r"[のか]?" + _ASKED + _END,
            "list",
        ),
        (
            rf"^(?:{_JA_SELF}(?:について|のこと)|(?:{_JA_SELF}について)?{_JA_KNOWN}"
            rf"|(?:{_JA_SELF}の)?(?:記憶|事実)(?:の?一覧)?|一覧)[をは]?(?:{_JA_ALL}を?)?{_JA_SHOW}"
            + _JA_PLEASE
            + _END,
            "list",
        ),
        (
            r"^一覧" + _ASKED + _END,
            "list",
        ),
        # -- undo, help, export, why ---------------------------------------------------------------
        (_PLEASE + r"(?:undo(?: that| it)?|take that back)" + _END, "undo"),
        (r"^(?:取り消して?|取消|元に戻して)" + _JA_PLEASE + _END, "undo"),
        (_PLEASE + r"(?:help(?: me)?|what can you do[?？]?)" + _END, "help"),
        (
            r"^(?:ヘルプ|使い方(?:は|を教えて)?|(?:何|なに)が(?:できる|できます|出来ます)(?:の|か)?)[?？]?"
            + _END,
            "help",
        ),
        (_PLEASE + r"export (?:my|all my) (?:data|facts|memories|memory)" + _END, "export"),
        (
            r"^(?:私の)?(?:データ|記憶)を(?:書き出して|エクスポートして)" + _JA_PLEASE + _END,
            "export",
        ),
        (r"^why(?: did you say that)?[?？]" + _END, "why"),
        (r"^(?:なぜ|なんで|どうして)(?:そう(?:言った|思った)の?)?[?？]" + _END, "why"),
        # -- corrections ---------------------------------------------------------------------------
        (rf"^{_WRONG}" + _END, "correct"),
        (rf"^{_JA_WRONG}" + _END, "correct"),
        (rf"^{_WRONG}[,.;:!]?\s*(?:it['’]s|it\s+is|it\s+was)\s+(?P<rest>.+)" + _END, "correct"),
        (
            rf"^(?:(?:no|nope|actually|sorry)[,.;:!]?\s+)++{_IT_IS}(?={_VALUE})(?P<rest>.+)" + _END,
            "correct",
        ),
        (r"^correction\s*:\s*(?:it['’]s\s+|it\s+is\s+)?(?P<rest>.+)" + _END, "correct"),
        (r"^訂正(?:します|です)?[：:、。\s]\s*+(?P<rest>.+)" + _END, "correct"),
        (
            r"^(?:no[,.]?\s+)?(?:I['’]m|I\s+am|my\s+name\s+is|my\s+name['’]s)\s+not\s+"
            rf"{_NAME}[^,.;]{{0,40}}[,.;]\s*(?:but\s+)?"
            rf"(?:(?:it['’]s|it\s+is)\s+(?={_NAME})"
            rf"|(?=(?:I['’]m|I\s+am|my\s+name\s+is|my\s+name['’]s)\s+{_NAME}))(?P<rest>.+)" + _END,
            "correct",
        ),
        (rf"^{_JA_WRONG}[、。,.\s]++(?P<rest>.+)" + _END, "correct"),
        (
            rf"^(?:いいえ|いえ|いや|ううん)[、。,\s]++{_JA_NO_VALUE}(?P<rest>[^、。,\n]{{1,40}}?)"
            rf"{_JA_NO_VERDICT}(?:です|でした|だ)[よね]?" + _END,
            "correct",
        ),
        (  # a whole sentence takes the place of what was wrong by what it is about
            rf"^{_WRONG}[,.;:]\s*(?P<rest>(?:I|my|we|our)\b.+)$",
            "remember",
        ),
        (
            rf"^{_WRONG}[,.;:]\s*(?P<rest>(?:(?:the|a|an|his|her|their|its)\s|{_NAME}\S*\s)[^\n]*?"
            r"(?<=\s)(?:is|are|was|were|has|have|will|starts?|begins?|ends?|costs?|takes?|lives?"
            r"|works?|likes?)\s.+)" + _END,
            "correct",
        ),
        # -- remember ------------------------------------------------------------------------------
        (
            r"^(?:(?:覚えて|記憶して|憶えて)(?:おいて)?|忘れないで)"
            + _JA_PLEASE
            + r"[、。,:：\s]++(?P<rest>.+)$",
            "remember",
        ),
        (
            _PLEASE
            + r"remember(?:\s++that|\s++this)?(?:\s*+[:,])?\s++"
            + r"(?!when\b|how\b|what\b|who\b|where\b|to\b)(?P<rest>.+)$",
            "remember",
        ),
        (
            _PLEASE
            + r"(?P<politely>(?:can|could|will|would)\s+you\s+)(?:please\s+)?remember(?:\s*+:\s*+"
            + r"|\s++that[,:]?\s++(?=(?:I|we|you|he|she|it|they|there|my|our|your|his|her|its|their"
            + rf"|the|a|an|this|all|every|no)\b|I['’]|{_NAME}|\d)"
            + r"|\s++(?=(?:my|our)\s[^\n]*?(?<=\s)(?:is|are)\s))(?P<rest>.+)$",
            "remember",
        ),
        (
            _PLEASE
            + r"(?:don['’]?t|do\s+not|never)\s+forget(?:\s*+[:,])?\s++(?:(?:that|about)\s++)?+"
            + r"(?!(?:to|when|how|what|who|where|why|if|whether|your|yourself)\b"
            + r"|(?:me|us|it|that|this|them|him|her|you|about)$)(?P<rest>.+)$",
            "remember",
        ),
        (
            r"^(?P<rest>.+?)(?:、|,)?(?:(?:という)?(?:こと|の))?(?:を|は|って|と)?"
            r"(?:覚えて|記憶して|憶えて)(?:おいて)?" + _JA_PLEASE + _END,
            "remember",
        ),
        (
            rf"^(?!(?:{_JA_SELF}(?:たち)?|それ|これ|あれ)(?:の?こと)?[をは]?忘れないで)"
            r"(?P<rest>.+?)(?:、|,)?(?:(?:という)?(?:こと|の))?(?:を|は|って)?忘れないで(?:おいて)?"
            + _JA_PLEASE
            + _END,
            "remember",
        ),
        # -- forget --------------------------------------------------------------------------------
        (
            _PLEASE
            + r"forget (?P<rest>(?:everything|anything|all)(?: you know)? about (?!me\b).+?)"
            + _END,
            "forget",
        ),
        (
            _PLEASE
            + r"forget (?P<rest>(?:everything |all |anything )?(?:what |that )?"
            + r"I (?:said|told you|wrote) (?!about\b).+?)"
            + _END,
            "forget",
        ),
        (
            r"^(?P<rest>.+?(?:に関する|についての|について)(?:こと|話|情報)?)(?:は|を)?"
            + r"(?:全部|すべて|全て)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
        (
            r"^(?P<rest>.+?(?:言った|話した|書いた|伝えた)(?:こと|話|内容)?)(?:は|を)?"
            + r"(?:全部|すべて|全て)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
        (_PLEASE + r"forget (?:that |about |what I said about )?(?P<rest>.+?)" + _END, "forget"),
        (
            r"^(?P<rest>.+?)(?:(?:という)?(?:の)?こと|の)?(?:は|を|って)?忘れて"
            + _JA_PLEASE
            + _END,
            "forget",
        ),
    )
)

_JA_COPULA: Final = re.compile(r"(?:です|でした|だ)[よね]?$")
_JA_SENTENCE: Final = re.compile(r"[^ぁ-ん\s][はが].")
"""Somebody or something that is talked about, behind another script than that of ながさき."""


def phrase(text: str) -> Phrase | None:
    """The command that `text` says in plain words, or None for ordinary talk.

    Only a message that is a command as a whole counts; "I often forget my keys" is not one.
    """
    said = text.strip()
    plain = _without_closing(said)
    for pattern, command in _PATTERNS:
        found = pattern.match(plain)
        if found is None:
            continue
        groups = found.groupdict()
        rest = (groups.get("rest") or "").strip()
        politely = bool(groups.get("politely"))
        if command == "remember" and found.end("rest") == len(plain):
            rest += said[len(plain) :]  # the words are kept as they were said
            rest = rest.rstrip("?？ ") if politely else rest
        if command == "correct":
            rest = _right_words(rest)
        if command in {"remember", "forget", "correct"} and not politely and _asks(text):
            continue
        return Phrase(command, rest)
    return None


def _right_words(rest: str) -> str:
    """A sentence as it was said; of 水曜です the value alone."""
    return rest if _JA_SENTENCE.search(rest) else _JA_COPULA.sub("", rest)


def _without_closing(text: str) -> str:
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in ".!。！"):
        end -= 1
    return text[:end]


def _asks(text: str) -> bool:
    """True for questions: "Do you remember my name?" and 覚えてる？ order nothing."""
    return text.rstrip().endswith(("?", "？")) and asks(text)

"""Patterns that tell for certain what an English clause says of whom."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from memory.analysis.results import Tense

_ADVERB: Final = r"(?:(?:really|also|still|currently|now|just|always|absolutely|actually|definitely|truly|do|recently|finally|have|'ve|even|especially|mostly|only|already|both|usually|officially)\s+)*"
_NO: Final = r"(?P<no>(?:don'?t|do\s+not|doesn'?t|does\s+not|no\s+longer|never|am\s+not|'m\s+not|is\s+not|isn'?t|can'?t\s+say\s+i)\s+(?:really\s+|actually\s+|even\s+|much\s+)*)?"
_I: Final = r"^i(?:\s+|(?='))"
_OTHER: Final = r"^(?:(?P<who>(?:my\s+(?:\w+(?:'s)?\s+){0,2}\w+)|(?-i:[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,2})|<@[^>]+>|@[\w.-]+)\s+)?(?:has\s+)?(?:(?:really|also|still|currently|now|always|just)\s+)*"


_OCCUPATION: Final = r"""(?:\w+[\s-]){0,3}?(?:engineer|developer|programmer|designer|teacher|professor|nurse|doctor|physician|dentist
|lawyer|attorney|accountant|manager|director|analyst|scientist|researcher|architect|consultant|writer|author|editor|journalist
|artist|musician|singer|actor|actress|chef|cook|baker|waiter|waitress|barista|driver|pilot|student|farmer|mechanic|electrician|plumber
|carpenter|photographer|translator|interpreter|librarian|therapist|psychologist|pharmacist|vet|veterinarian|salesperson|secretary
|assistant|administrator|technician|officer|firefighter|soldier|coach|trainer|tutor|recruiter|marketer|economist|biologist|chemist
|physicist|mathematician|statistician|freelancer|ceo|cto|cfo|founder)"""

_NOT_PLACE: Final = r"(?!(?:peace|fear|hope|love|a\s+(?:hurry|rush)|danger|the\s+(?:moment|past|present|future)|with|alone|by\s+myself)\b)"

# fmt: off
_PATTERNS: Final = (
    # name
    (r"^my\s+(?:full\s+|first\s+|real\s+|new\s+)?name(?:\s+is|'s|\s+has\s+changed\s+to|\s+changed\s+to)\s+(?:now\s+)?(?P<no>not\s+)?(?!(?:on|in|at|too|very|so|a|an|the|hard|easy|spelled|spelt|written|pronounced|common|short|long|wrong|missing|also)\b)(?P<value>.+)", "name", Tense.NOW),
    (r"^(?P<value>[^,]{1,40}?)\s+is\s+(?:my\s+(?:full\s+|first\s+|real\s+)?name|what\s+i(?:'m|\s+am)\s+called|what\s+(?:people|they)\s+call\s+me)\b", "name", Tense.NOW),
    (r"^(?:please\s+)?(?:start\s+calling\s+me|call\s+me|refer\s+to\s+me\s+as|address\s+me\s+as)\s+(?:by\s+my\s+name\s+which\s+is\s+)?(?!back\b|when\b|if\b|later\b|at\b|tomorrow\b)(?P<value>.+)", "name", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+(?:called|named)\s+(?P<value>.+)", "name", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+(?P<bare>(?P<value>(?-i:[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})))(?:\s+(?:and|from|by\s+the\s+way)\b.*)?[.!\s]*$", "name", Tense.NOW),
    (r"^(?:people|everyone|everybody|they|friends|my\s+friends)\s+calls?\s+me\s+(?P<value>.+)", "name", Tense.NOW),
    (r"^i\s+go\s+by\s+(?P<value>.+)", "name", Tense.NOW),
    (r"^my\s+(?P<who>(?:\w+\s+)?\w+)'s\s+name\s+is\s+(?P<value>.+)", "name", Tense.NOW),
    (r"^i\s+(?:have|own|got)\s+an?\s+(?P<who>\w+(?:\s+\w+)?)\s+(?:named|called)\s+(?P<value>.+)", "name", Tense.NOW),
    # home
    (_I + _ADVERB + _NO + r"(?:live|reside|stay)\s+(?:(?:here|now|alone|permanently)\s+)?(?:in|at|near|on)\s+" + _NOT_PLACE + r"(?P<value>.+)", "home", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+" + _ADVERB + r"(?:living|based|residing)\s+(?:in|at|near|out\s+of)\s+" + _NOT_PLACE + r"(?P<value>.+)", "home", Tense.NOW),
    (_I + _ADVERB + r"(?:moved|relocated)\s+(?:back\s+)?(?:from\s+.+?\s+)?(?:to|into)\s+(?!.*\b(?:team|job|role|project|department|group|company|office|flat|apartment|house|room|desk|building|place|plan|version)\b)(?P<value>.+)", "home", Tense.NOW),
    (r"^my\s+(?:home|hometown\s+now|home\s+city|current\s+city|house|place|apartment)\s+is\s+(?:now\s+)?(?:in|at|near)\s+(?P<value>.+)", "home", Tense.NOW),
    (r"^my\s+(?:home\s+)?address\s+(?:is|has\s+changed\s+to)\s+(?:now\s+)?(?P<value>.+)", "address", Tense.NOW),
    (r"^i\s+(?:used\s+to\s+live|lived|was\s+living|grew\s+up)\s+(?:in|at|near)\s+(?P<value>.+)", "home", Tense.PAST),
    (r"^i(?:'m|\s+am|\s+come)\s+(?:originally\s+)?from\s+(?P<value>.+)", "origin", Tense.NOW),
    # work
    (_I + _ADVERB + _NO + r"work\s+as\s+(?P<value>.+?)(?:\s+(?:at|for|in)\s+.+)?$", "job", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+" + _ADVERB + r"(?:working\s+as|employed\s+as)\s+(?P<value>.+?)(?:\s+(?:at|for|in)\s+.+)?$", "job", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+" + _ADVERB + r"(?P<no>not\s+)?an?\s+(?P<value>" + _OCCUPATION + r")\b(?!\s+of\b)(?:\s+(?:at|for|in|by)\s+.+)?[.!\s]*$", "job", Tense.NOW),
    (r"^my\s+(?:new\s+|current\s+)?(?:job|profession|occupation|job\s+title|role)\s+is\s+(?P<value>.+)", "job", Tense.NOW),
    (_I + _ADVERB + r"became\s+(?P<value>an?\s+" + _OCCUPATION + r")\b", "job", Tense.NOW),
    (r"^i\s+(?:used\s+to\s+work|worked|was\s+working)\s+as\s+(?P<value>.+)", "job", Tense.PAST),
    (r"^i\s+used\s+to\s+be\s+an?\s+(?P<value>" + _OCCUPATION + r")\b", "job", Tense.PAST),
    (_I + _ADVERB + _NO + r"work\s+(?:at|for)\s+(?!home\b|night\b|the\s+moment|a\s+living|\w+\s+hours)(?P<value>.+)", "employer", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+" + _ADVERB + r"(?:working|employed)\s+(?:at|for|by)\s+(?!home\b)(?P<value>.+)", "employer", Tense.NOW),
    (r"^my\s+(?:employer|company)\s+is\s+(?P<value>.+)", "employer", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+(?:now\s+|currently\s+)?(?:on|in|part\s+of|a\s+member\s+of)\s+(?:the\s+)?(?P<value>[\w\s&-]+?)\s+team\b", "team", Tense.NOW),
    (r"^my\s+(?:new\s+|current\s+)?team\s+is\s+(?:called\s+|now\s+)?(?P<value>.+)", "team", Tense.NOW),
    (r"^i\s+(?:just\s+|recently\s+)?(?:joined|moved\s+to|switched\s+to)\s+the\s+(?P<value>[\w\s&-]+?)\s+team\b", "team", Tense.NOW),
    # dates
    (r"^my\s+birthday\s+is\s+(?:on\s+)?(?P<value>.+)", "birthday", Tense.NOW),
    (r"^i\s+was\s+born\s+on\s+(?P<value>.+)", "birthday", Tense.NOW),
    (r"^my\s+(?:date\s+of\s+birth|birth\s?date)\s+is\s+(?P<value>.+)", "birthday", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+(?P<value>\d{1,3})(?:\s+years\s+old)?[.!\s]*$", "age", Tense.NOW),
    (r"^my\s+age\s+is\s+(?P<value>\d{1,3})\b", "age", Tense.NOW),
    (r"^(?:the|our|my)\s+(?:new\s+)?deadline\s+(?:for|of)\s+(?P<object>.+?)\s+(?:is|has\s+(?:moved|changed)\s+to|(?:was\s+)?(?:moved|changed)\s+to|is\s+now)\s+(?:on\s+|by\s+|now\s+)*(?P<value>.+)", "deadline:", Tense.NOW),
    (r"^(?:the\s+|our\s+|my\s+)?(?!deadline)(?P<object>[\w][\w\s-]{0,40}?)(?:'s)?\s+(?:deadline\s+(?:is|has\s+(?:moved|changed)\s+to|moved\s+to|is\s+now)|(?:is|are)\s+due)\s+(?:on\s+|by\s+|now\s+)*(?P<value>.+)", "deadline:", Tense.NOW),
    (r"^(?:the|our|my)\s+(?:new\s+)?deadline\s+(?:is|has\s+(?:moved|changed)\s+to|moved\s+to)\s+(?:on\s+|by\s+|now\s+)*(?P<value>.+)", "deadline", Tense.NOW),
    # favourites, likes and dislikes
    (r"^(?:the\s+name\s+of\s+)?my\s+(?:new\s+|current\s+|absolute\s+|all-time\s+)?favou?rite\s+(?P<object>\w+(?:\s+\w+){0,2}?)\s+(?:is|has\s+(?:always\s+been|changed\s+to)|could\s+be\s+described\s+as|changed\s+to)\s+(?:now\s+)?(?P<no>not\s+|no\s+longer\s+)?(?P<value>.+)", "favourite:", Tense.NOW),
    (r"^(?P<value>[^,]{1,60}?)\s+is\s+(?:now\s+)?(?P<no>not\s+|no\s+longer\s+)?my\s+(?:new\s+|absolute\s+|all-time\s+)?favou?rite\s+(?P<object>\w+(?:\s+\w+)?)", "favourite:", Tense.NOW),
    (_I + _ADVERB + _NO + r"(?:like|love|enjoy|adore|prefer)\s+(?!you\b|it\b|that\b|this\b|them\b|him\b|her\b|your\b|how\b|when\b|what\b|these\b|those\b|yours?\b|yourself\b|the\s+(?:idea|way|sound)\b|to[.!\s]*$|to\s+(?:know|see|have|get|thank)\b)(?P<value>.+)", "likes:", Tense.NOW),
    (r"^i(?:'m|\s+am)\s+" + _ADVERB + r"(?P<no>not\s+)?(?:a\s+)?(?:really\s+|very\s+)?(?:(?:big\s+|huge\s+)?fan\s+of|fond\s+of|into|crazy\s+about|keen\s+on)\s+(?P<value>.+)", "likes:", Tense.NOW),
    (r"^i\s+used\s+to\s+(?:like|love|enjoy|adore)\s+(?P<value>.+)", "likes:", Tense.PAST),
    (r"^i\s+(?:liked|loved|enjoyed)\s+(?!it\b|that\b|this\b|you\b)(?P<value>.+)", "likes:", Tense.PAST),
    (_I + _ADVERB + r"(?:hate|dislike|detest|loathe|can't\s+stand|cannot\s+stand)\s+(?!it\b|that\b|this\b|you\b|when\b|to\s+(?:say|ask|bother)\b)(?P<value>.+)", "dislikes:", Tense.NOW),
    # tools and decisions
    (r"^(?:i|we)\s+" + _ADVERB + _NO + r"use\s+(?!.*\bpronouns\b)(?P<value>.+?)(?:\s+(?:for|as|to|in|on|with)\s+.+)?$", "tool:", Tense.NOW),
    (r"^we(?:\s+have|'ve)?\s+(?:finally\s+)?(?:decided|agreed|chosen|chose|settled|resolved)\s+(?:to\s+|that\s+|on\s+|upon\s+)*(?P<value>.+)", "decision", Tense.NOW),
    (r"^the\s+decision\s+(?:is|was)\s+(?:to\s+|that\s+)?(?P<value>.+)", "decision", Tense.NOW),
    # somebody else
    (_OTHER + r"(?:(?P<no>does\s+not|doesn't|no\s+longer)\s+lives?|lives)\s+(?:in|at|near)\s+" + _NOT_PLACE + r"(?P<value>.+)", "home", Tense.NOW),
    (_OTHER + r"(?:moved|relocated)\s+to\s+(?P<value>.+)", "home", Tense.NOW),
    (_OTHER + r"(?:(?P<no>does\s+not|doesn't|no\s+longer)\s+works?|works)\s+as\s+(?P<value>.+?)(?:\s+(?:at|for|in)\s+.+)?$", "job", Tense.NOW),
    (_OTHER + r"(?:(?P<no>does\s+not|doesn't|no\s+longer)\s+works?|works)\s+(?:at|for)\s+(?P<value>.+)", "employer", Tense.NOW),
    (_OTHER + r"is\s+(?P<no>not\s+|no\s+longer\s+)?an?\s+(?P<value>" + _OCCUPATION + r")\b(?!\s+of\b)", "job", Tense.NOW),
    (_OTHER + r"(?:(?P<no>does\s+not|doesn't|no\s+longer)\s+(?:really\s+)?(?:likes?|loves?|enjoys?)|likes|loves|enjoys|adores)\s+(?!it\b|that\b|this\b)(?P<value>.+)", "likes:", Tense.NOW),
    (_OTHER + r"(?:hates|dislikes|can't\s+stand)\s+(?!it\b|that\b|this\b)(?P<value>.+)", "dislikes:", Tense.NOW),
    (r"^(?P<who>(?-i:[A-Z][\w-]*)|my\s+\w+)'s\s+birthday\s+is\s+(?:on\s+)?(?P<value>.+)", "birthday", Tense.NOW),
    (r"^(?P<who>(?-i:[A-Z][\w-]*)|my\s+\w+)'s\s+favou?rite\s+(?P<object>\w+(?:\s+\w+)?)\s+is\s+(?P<value>.+)", "favourite:", Tense.NOW),
)
# fmt: on
"""Pattern, attribute (a closing colon takes the group `object`, else `value`, as its second part),
tense. `who` is somebody else, `no` a negation, `bare` what is a name only if it is no word."""


@cache
def rules() -> tuple[tuple[re.Pattern[str], str, Tense], ...]:
    """The patterns, compiled on first use; earlier ones win."""
    return tuple(
        (re.compile(pattern, re.IGNORECASE | re.DOTALL), attribute, tense)
        for pattern, attribute, tense in _PATTERNS
    )

"""Takes secrets out of a text before anything is stored.

Credentials are found by the detectors of detect-secrets (used in process; nothing is sent
anywhere), card numbers and My Number by their check digits, passwords by the words around them.
Entropy alone is no sign: hashes, order numbers and links stay.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets."""

    text: str
    kinds: tuple[str, ...]
    """What was taken out, in order: `password`, `card number`, `API key`, …"""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    kind: str


def redact(text: str, *, phone_numbers: bool = False, postal_codes: bool = False) -> Redacted:
    """Replace every secret in `text` by a placeholder such as `[redacted: card number]`.

    A text without secrets comes back as it is; redacting twice changes nothing. Phone numbers
    and postal codes are taken out only when asked: people want them remembered.
    """
    # Full-width digits and letters count as well; the copy has the same length.
    plain = "".join(_narrow(character) for character in text)
    found = [
        *_private_keys(plain),
        *_credentials(plain),
        *_passwords(plain),
        *_card_numbers(plain),
        *_my_numbers(plain),
    ]
    if phone_numbers:
        found.extend(_all(_PHONE, plain, "phone number"))
    if postal_codes:
        found.extend(_all(_POSTAL_CODE, plain, "postal code"))
    kept = _without_overlaps(found, [m.span() for m in _PLACEHOLDER.finditer(plain)])
    pieces, end = [], 0
    for secret in kept:
        pieces += [text[end : secret.start], f"[redacted: {secret.kind}]"]
        end = secret.end
    return Redacted("".join([*pieces, text[end:]]), tuple(secret.kind for secret in kept))


_PLACEHOLDER: Final = re.compile(r"\[redacted: [^\]\n]{1,40}\]")


def _narrow(character: str) -> str:
    normal = unicodedata.normalize("NFKC", character)
    return normal if len(normal) == 1 else character


def _without_overlaps(found: list[_Found], taken: list[tuple[int, int]]) -> list[_Found]:
    """Earliest first, of overlapping ones the longest; nothing inside a placeholder."""
    kept: list[_Found] = []
    ends = [end for _, end in taken]  # in order, as they do not overlap
    for secret in sorted(found, key=lambda s: (s.start, s.start - s.end)):
        if kept and secret.start < kept[-1].end:
            continue
        at = bisect_right(ends, secret.start)
        if at == len(taken) or secret.end <= taken[at][0]:
            kept.append(secret)
    return kept


def _all(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[_Found]:
    for match in pattern.finditer(text):
        yield _Found(*match.span("secret"), kind)


# --- credentials ------------------------------------------------------------------------------

_DETECTORS: Final = {
    "artifactory": ("ArtifactoryDetector", False),
    "aws": ("AWSKeyDetector", False),
    "azure_storage_key": ("AzureStorageKeyDetector", False),
    "basic_auth": ("BasicAuthDetector", True),
    "cloudant": ("CloudantDetector", True),
    "discord": ("DiscordBotTokenDetector", False),
    "github_token": ("GitHubTokenDetector", False),
    "gitlab_token": ("GitLabTokenDetector", False),
    "ibm_cloud_iam": ("IbmCloudIamDetector", True),
    "ibm_cos_hmac": ("IbmCosHmacDetector", True),
    "jwt": ("JwtTokenDetector", False),
    "mailchimp": ("MailchimpDetector", False),
    "npm": ("NpmDetector", True),
    "openai": ("OpenAIDetector", False),
    "pypi_token": ("PypiTokenDetector", False),
    "sendgrid": ("SendGridDetector", False),
    "slack": ("SlackDetector", False),
    "softlayer": ("SoftlayerDetector", True),
    "square_oauth": ("SquareOAuthDetector", False),
    "stripe": ("StripeDetector", False),
    "telegram_token": ("TelegramBotTokenDetector", False),
    "twilio": ("TwilioKeyDetector", False),
}
"""Module and class of each detector, and whether its first group is the secret.

Left out: IP addresses, and keyword and entropy detectors, which are made for source code.
"""

_LINEAR: Final = {
    "npm": (re.compile(r"//\S{1,200}?/:_authToken=\s*((npm_\S+)|([A-Fa-f0-9-]{36}))"),),
    "openai": (
        re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]*[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    ),
}
"""In place of two patterns that take time by the square of a text's length (`////…`)."""

_PREFIXED_KEY: Final = re.compile(
    r"(?<![A-Za-z0-9_/])(?P<secret>(?:sk|pk|rk|ak|api|key|token|secret|xapp|xoxe|npm|hf|gsk|pat|github_pat|dop_v1)[-_.]"
    r"(?:[A-Za-z0-9]{1,16}[-_.]){0,6}(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{16,}|AIza[0-9A-Za-z_-]{35})(?![A-Za-z0-9_])"
)
"""Keys that name themselves, `sk-…` and the like, of services without a detector."""
_LABELLED_KEY: Final = re.compile(
    r"(?:(?:api|access|secret|private|client|auth|bearer)[\s_-]*(?:key|token|secret)|bearer|(?:API|アクセス|秘密|シークレット)(?:キー|トークン)|アクセスキー|シークレット)"
    r"\s*+(?:(?:is|was|=|:|は|を|が)\s*+)?[\"'`「]?(?P<secret>(?=[A-Za-z0-9_+/=.-]*[0-9])(?=[0-9_+/=.-]*[A-Za-z])[A-Za-z0-9+/=_.-]{12,})",
    re.IGNORECASE,
)
_PRIVATE_KEY: Final = re.compile(
    r"(?P<secret>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z))",
    re.DOTALL,
)
_LONG_GAP: Final = re.compile(r"(\s{24})(\s+)(\s)")
_TOKEN_REST: Final = re.compile(r"[A-Za-z0-9_+/=.-]*[A-Za-z0-9_]|")


@cache
def _credential_patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    # Imported late: detect-secrets brings requests and yaml with it.
    patterns = []
    for module, (name, is_group) in _DETECTORS.items():
        if module in _LINEAR:
            patterns += [(pattern, is_group) for pattern in _LINEAR[module]]
            continue
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
        patterns += [(pattern, is_group) for pattern in detector.denylist]
    return tuple(patterns)


def _private_keys(text: str) -> Iterator[_Found]:
    yield from _all(_PRIVATE_KEY, text, "private key")


def _credentials(text: str) -> Iterator[_Found]:
    # the detectors try a run of spaces in three places at once
    short = _LONG_GAP.sub(lambda gap: gap[1] + "\0" * len(gap[2]) + gap[3], text)
    for pattern, is_group in _credential_patterns():
        for match in pattern.finditer(short):
            body = match.group()
            if is_group and match.group(match.lastindex or 0):
                start, end = match.span(match.lastindex or 0)
            elif any(character.isdigit() for character in body):
                start = match.start() + len(body) - len(body.lstrip("\"'=: \t\n"))
                end = match.end() - (len(body) - len(body.rstrip("\"' \t\n")))
                rest = _TOKEN_REST.match(text, end)
                end = rest.end() if rest else end
            else:
                continue
            yield _Found(start, end, "credential")
    yield from _all(_PREFIXED_KEY, text, "API key")
    yield from _all(_LABELLED_KEY, text, "API key")


# --- passwords --------------------------------------------------------------------------------

_PASSWORD_EN: Final = re.compile(
    r"\b(?P<word>pass(?:word|phrase|code|wd)s?|pwd|pin(?:\s*(?:code|number))?)\b(?:\s+(?:for|to|of|on|at)\s+(?:(?:the|my|our|a)\s+)?[\w.-]+(?:\s+[\w.-]+)?)?"
    r"\s*(?P<joint>is\s+now|is|was|=>?|:|->)\s*(?P<secret>\"[^\"\n]{3,}\"|'[^'\n]{3,}'|`[^`\n]{3,}`|[^\s\"'`,;、。]{3,})",
    re.IGNORECASE,
)
_PASSPHRASE_WORDS: Final = re.compile(r"[a-z]+(?:[ -][a-z0-9]+){3,}", re.IGNORECASE)
_GRAMMAR: Final = re.compile(
    r"\b(?:the|an?|and|or|to|too|of|in|on|is|are|was|be|for|by|with|not|it|i|my|we|you|so|than)\b",
    re.IGNORECASE,
)
_NO_PASSWORD: Final = re.compile(
    r"^(?:\w+(?:ed|ing|ly)|too|not|no|never|always|still|now|the|a|an|my|your|our|in|on|at|to|for|by|with|from|wrong|weak|strong|secret|incorrect"
    r"|correct|invalid|valid|safe|secure|unknown|unsafe|missing|optional|mandatory|ready|reset|different|good|bad|long|short|old|new|easy|hard|difficult"
    r"|simple|complex|empty|blank|okay|ok|fine|there|here|this|that|what|where|same|unique|private|public|case-sensitive|important|necessary|known|shown|sent"
    r"|kept|written|hidden|stolen|lost|gone|set|bad|so|very|really|it|mine|yours|only|also|just|something|anything|about|due|likely|probably|available)[.!?]*$",
    re.IGNORECASE,
)
_PASSWORD_JA: Final = re.compile(
    r"(?:パスワード|パスコード|パスフレーズ|暗証番号|PIN(?:コード|番号)?|ピンコード)(?:は|：|:|=|が)?\s*(?:[「『\"'](?P<quoted>[^」』\"'\n]{3,})[」』\"']|(?P<bare>[!-~]{4,512}+|[^\s、。「」『』]{0,12}?[0-9][^\s、。「」『』]{0,20}?))"
    r"(?=(?:です|だ|でした|である|に(?:しま|した|変え|なり|設定)|と(?:いう|なり)|\s|[、。」』！!]|$))"
)
_COUNTED: Final = re.compile(r"[0-9]+\s*(?:文字|桁|回|日|か月|ヶ月|年|個|分|時|以上|以内|つ|種)")


def _passwords(text: str) -> Iterator[_Found]:
    for match in _PASSWORD_EN.finditer(text):
        secret, joint = match["secret"], match["joint"].lower()
        bare = secret.strip("\"'`")
        start, end = match.span("secret")
        end -= len(secret) - len(secret.rstrip(".!?)"))
        if secret[0] in "\"'`":
            yield _Found(start + 1, end - 1, "password")
        elif secret.startswith("[") or "://" in bare:
            continue
        elif match["word"].lower().startswith("passphrase"):
            words = _PASSPHRASE_WORDS.match(text, start)
            if words and not _GRAMMAR.search(words.group()):
                yield _Found(start, words.end(), "password")
        elif not _NO_PASSWORD.match(bare) and _looks_secret(bare, joint, text[end:], match["word"]):
            yield _Found(start, end, "password")
    for match in _PASSWORD_JA.finditer(text):
        group = "quoted" if match["quoted"] else "bare"
        if match[group].startswith("[") or "://" in match[group]:
            continue
        if group == "bare" and (_COUNTED.search(match[group]) or not _mixed(match[group])):
            continue
        yield _Found(*match.span(group), "password")


def _mixed(value: str) -> bool:
    """True for what no ordinary word looks like, or a long one after a label."""
    return any(not c.isalpha() for c in value) or len(value) >= 6


def _looks_secret(value: str, joint: str, rest: str, word: str) -> bool:
    is_pin = word.lower().startswith("pin")
    if is_pin:
        return bool(re.fullmatch(r"[0-9]{4,8}[.!?]*", value))
    if any(character.isdigit() for character in value) or re.search(r"[^\w.!?-]", value):
        return True
    # "my password is swordfish." states it; "my password is swordfish-related" goes on.
    return bool(re.match(r"\s*(?:[.!?,;\n]|$)", rest)) and (len(value) >= 5 or joint in {":", "="})


# --- numbers with a check digit ---------------------------------------------------------------

_CARD: Final = re.compile(
    r"(?<![A-Za-z0-9_.,/=-])(?P<secret>[0-9](?:[ -]?[0-9]){12,18})(?![A-Za-z0-9_/=]|[.,-][0-9])"
)
_CARD_ISSUER: Final = re.compile(
    r"^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17})$"
)
"""Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay (ISO/IEC 7812 ranges)."""
_MY_NUMBER: Final = re.compile(
    r"(?<![A-Za-z0-9_.,/=-])(?P<secret>[0-9]{4}([ -]?)[0-9]{4}\2[0-9]{4})"
    r"(?![A-Za-z0-9_/=]|[.,-][0-9]|[ ][0-9]{4})"
)
_OTHER_NUMBER: Final = re.compile(
    r"(?:order|tracking|invoice|ticket|shipment|serial|account\s+id|isbn|注文|追跡|伝票|受付|問い?合わせ|シリアル|請求書)[\w\s#.:：番号はコードのNo-]{0,16}$",
    re.IGNORECASE,
)
_PHONE: Final = re.compile(
    r"(?<![A-Za-z0-9_.,/=-])(?P<secret>"
    r"\+[0-9]{1,3}[ -]?(?:\([0-9]{1,4}\)[ -]?)?[0-9]{1,4}(?:[ -]?[0-9]{2,4}){2,3}"
    r"|0[0-9]{1,4}-[0-9]{1,4}-[0-9]{3,4}|0[5789]0[0-9]{8}"
    r"|\(?[2-9][0-9]{2}\)?[ -][2-9][0-9]{2}-[0-9]{4})(?![A-Za-z0-9_-])"
)
_POSTAL_CODE: Final = re.compile(r"〒\s*(?P<secret>[0-9]{3}-?[0-9]{4})(?![A-Za-z0-9_-])")


def _card_numbers(text: str) -> Iterator[_Found]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match["secret"])
        if _CARD_ISSUER.match(digits) and _luhn(digits) and not _is_other(text, match):
            yield _Found(*match.span("secret"), "card number")


def _my_numbers(text: str) -> Iterator[_Found]:
    for match in _MY_NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match["secret"])
        if is_my_number(digits) and len(set(digits)) > 1 and not _is_other(text, match):
            yield _Found(*match.span("secret"), "My Number")


def _is_other(text: str, match: re.Match[str]) -> bool:
    """True when the words before it say that it is another kind of number."""
    return bool(
        _OTHER_NUMBER.search(text[max(0, match.start("secret") - 30) : match.start("secret")])
    )


def _luhn(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_my_number(digits: str) -> bool:
    """True when twelve digits end in the check digit of an individual number (マイナンバー).

    Ordinance of the Ministry of Internal Affairs and Communications No. 85 of 2014, article 5.
    """
    body = [int(digit) for digit in reversed(digits[:11])]
    rest = sum(d * (n + 1 if n <= 6 else n - 5) for n, d in enumerate(body, start=1)) % 11
    return len(digits) == 12 and int(digits[11]) == (0 if rest <= 1 else 11 - rest)

"""`redact`: secrets go, everything else stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import redaction
from memory.redaction import is_my_number, redact

_BOT_TOKEN = "-".join(("xoxb", "123456789012", "1234567890123", "abcdefghijklmnopqrstuvwx"))
_HUB_TOKEN = "ghp" + "_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("my key is sk-test-FAKE0123456789abcdef ok", "my key is [redacted: API key] ok"),
        (f"token {_BOT_TOKEN}", "token [redacted: credential]"),
        (f"use {_HUB_TOKEN}, please", "use [redacted: credential], please"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted: credential]"),
        (
            "see https://bob:s3cret@host.example/x",
            "see https://bob:[redacted: credential]@host.example/x",
        ),
        ("the API key is abcd1234efgh5678", "the API key is [redacted: API key]"),
        ("APIキーはabcd1234efgh5678です", "APIキーは[redacted: API key]です"),
        ("my password is hunter2", "my password is [redacted: password]"),
        ("My password is swordfish.", "My password is [redacted: password]."),
        ("password: Tr0ub4dor&3", "password: [redacted: password]"),
        (
            'the password for the wifi is "open sesame"',
            'the password for the wifi is "[redacted: password]"',
        ),
        ("my passphrase is correct horse battery staple", "my passphrase is [redacted: password]"),
        ("My PIN is 4821.", "My PIN is [redacted: password]."),
        ("パスワードはhunter2です", "パスワードは[redacted: password]です"),
        ("パスワードは「ひらけごま」です。", "パスワードは「[redacted: password]」です。"),
        ("暗証番号は4821です", "暗証番号は[redacted: password]です"),
        ("パスワード：Abc!2345", "パスワード：[redacted: password]"),
        ("card 4111 1111 1111 1111 exp 12/27", "card [redacted: card number] exp 12/27"),
        ("カードは4111-1111-1111-1111です", "カードは[redacted: card number]です"),
        (
            "カード番号は４１１１１１１１１１１１１１１１です",
            "カード番号は[redacted: card number]です",
        ),
        ("378282246310005", "[redacted: card number]"),
        ("マイナンバーは1234 5678 9018です", "マイナンバーは[redacted: My Number]です"),
        ("my number: 123456789018", "my number: [redacted: My Number]"),
    ],
)
def test_takes_secrets_out_and_says_what_they_were(text: str, clean: str) -> None:
    found = redact(text)
    assert found.text == clean
    assert len(found.kinds) == 1


def test_a_private_key_goes_as_a_whole() -> None:
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    found = redact(f"here:\n{begin}\nMIIEabc\ndef==\n{end}\nthanks")
    assert found.text == "here:\n[redacted: private key]\nthanks"


def test_a_signed_web_token_goes_with_its_signature() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9Plx"
    assert redact(f"Authorization: {token}").text == "Authorization: [redacted: credential]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I live in Osaka.",
        "My password is too short.",
        "The password was changed yesterday.",
        "What is my password?",
        "The password is required.",
        "Is the password correct?",
        "I forgot my password, is it stored anywhere?",
        "The pin is broken.",
        "Meet me on 2026-05-01 at 10:00, room 1234.",
        "Order number 4111111111111111 has shipped.",
        "Order 1234-5678-9012-3456",
        "It costs 1,234,567,890,123 yen.",
        "https://github.com/a/b/commit/0123456789abcdef0123456789abcdef01234567",
        "https://example.com/item?id=4111111111111111",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "4111 1111 1111 1112 fails its check digit",
        "123456789012 is no My Number",
        "the token ring network is old",
        "sk-learn and pk-fields are names",
        "My phone is 090-1234-5678, 〒150-0001.",
        "パスワードは8文字以上です",
        "パスワードを忘れました",
        "パスワードは何ですか",
        "パスワードは変更しました。",
        "注文番号は4111111111111111です",
        "会議は2026年5月1日15時からです",
        "電話番号は03-1234-5678です",
        "秘密のレシピを教えて",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text).text == text
    assert redact(text).kinds == ()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("電話は090-1234-5678です", "電話は[redacted: phone number]です"),
        ("call +81 90 1234 5678", "call [redacted: phone number]"),
        ("call (415) 555-2671 now", "call [redacted: phone number] now"),
        ("〒150-0001 渋谷区", "〒[redacted: postal code] 渋谷区"),
    ],
)
def test_phone_numbers_and_postal_codes_go_only_when_asked(text: str, clean: str) -> None:
    assert redact(text).text == text
    assert redact(text, phone_numbers=True, postal_codes=True).text == clean


def test_several_secrets_are_named_in_order() -> None:
    found = redact("password: abc12345, card 4111111111111111")
    assert found.kinds == ("password", "card number")


class Counted(list[tuple[int, int]]):
    """Counts how many of its items are looked at."""

    looks = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for item in super().__iter__():
            self.looks += 1
            yield item

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


def test_placeholders_are_not_gone_through_once_for_each_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Counted] = []
    real = redaction._without_overlaps

    def counting(found: Any, taken: list[tuple[int, int]]) -> Any:
        given.append(Counted(taken))
        return real(found, given[-1])

    monkeypatch.setattr(redaction, "_without_overlaps", counting)
    for size in (20, 80):
        assert len(redact("[redacted: a]\n4111 1111 1111 1111\n" * size).kinds) == size
    small, big = (taken.looks for taken in given)
    assert 0 < big < 5 * small


@pytest.mark.parametrize("around", ["{} {}", "{}{}", "カード{}、暗証番号は{}"])
def test_secrets_beside_a_placeholder_go_and_it_stays(around: str) -> None:
    placeholder, card = "[redacted: password]", "4111 1111 1111 1111"
    for pair in ((placeholder, card), (card, placeholder)):
        clean = redact(around.format(*pair)).text
        assert card not in clean
        assert placeholder in clean
        assert clean.count("[redacted: ") == 2


def test_my_number_check_digit() -> None:
    assert [d for d in range(10) if is_my_number(f"12345678901{d}")] == [8]


_PIECES = st.sampled_from(
    [
        "my password is ",
        "hunter2",
        "パスワードは",
        "です",
        "4111 1111 1111 1111",
        "123456789018",
        " ",
        "sk-test-FAKE0123456789abcdef",
        "[redacted: password]",
        "[",
        "]",
        ":",
        '"',
        "」",
        "「",
        "\n",
        "https://",
        "@",
        "0",
        "-",
        "pin is ",
    ]
)


@settings(deadline=None)
@given(st.lists(_PIECES | st.text(max_size=6), max_size=10).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    twice = redact(once.text)
    assert twice.text == once.text
    assert twice.kinds == ()


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Nd", "No", "Nl"]), max_size=80))
def test_text_without_digits_or_labels_is_never_touched(text: str) -> None:
    if not any(
        word in text.lower()
        for word in ("pass", "pin", "pwd", "パス", "暗証", "private key", "://")
    ):
        assert redact(text).text == text

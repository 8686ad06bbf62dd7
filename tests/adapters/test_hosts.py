"""Addresses of model servers, and which of them are this machine."""

from __future__ import annotations

import pytest

from adapters.hosts import base_url, is_this_machine


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::]:5000", "http://[::1]:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("http://10.0.0.5", "http://10.0.0.5:80"),
        ("https://models.example/ollama/", "https://models.example:443/ollama"),
        ("http://me:secret@host:1/v1", "http://host:1/v1"),
        (" [::1] ", "http://[::1]:11434"),
    ],
)
def test_addresses_are_read_as_people_write_them(host: str, url: str) -> None:
    assert base_url(host, 11434) == url


@pytest.mark.parametrize("host", ["ftp://host", "http://[::", "host:port", "two words"])
def test_what_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(ValueError):
        base_url(host, 11434)


def unresolvable(name: str) -> list[str]:
    raise OSError(name)


@pytest.mark.parametrize(
    ("url", "addresses", "local"),
    [
        ("http://127.0.0.1:1", [], True),
        ("http://127.8.8.8:1", [], True),
        ("http://[::1]:1", [], True),
        ("http://[::ffff:127.0.0.1]:1", [], True),
        ("http://192.168.1.2:1", [], False),
        ("http://[fe80::1]:1", [], False),
        ("http://localhost:1", ["127.0.0.1", "::1"], True),
        ("http://localhost:1", ["10.0.0.1"], False),
        ("http://localhost.example:1", ["93.184.216.34"], False),
        ("http://both.example:1", ["127.0.0.1", "93.184.216.34"], False),
        ("http://link.example:1", ["fe80::1%eth0"], False),
        ("http://nothing.example:1", [], False),
    ],
)
def test_only_loopback_is_this_machine(url: str, addresses: list[str], local: bool) -> None:
    assert is_this_machine(url, lambda _: addresses) is local


def test_a_name_that_cannot_be_resolved_is_not_this_machine() -> None:
    assert not is_this_machine("http://gone.example:1", unresolvable)

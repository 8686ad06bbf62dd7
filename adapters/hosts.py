"""Where a model server is, and whether that is this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

Resolve = Callable[[str], Iterable[str]]
"""Gives the IP addresses of a name. Raises OSError when there are none."""


def base_url(host: str, default_port: int) -> str:
    """`host` as `scheme://name:port/path`, the way people write it in `OLLAMA_HOST`.

    Scheme, name and port may be missing; credentials are dropped, so that the result can be
    shown. 0.0.0.0 and [::], where servers listen, become the loopback address to connect to.
    Raises ValueError when it is not an address.
    """
    text = host.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"not an http address: {parts.scheme}://")
    if "://" in text:
        default_port = 443 if parts.scheme == "https" else 80
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(  # noqa: S104
        parts.hostname or "", parts.hostname or ""
    )
    if any(character.isspace() for character in name):
        raise ValueError("an address must not contain spaces")
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{parts.port or default_port}{parts.path.rstrip('/')}"


def resolve_name(name: str) -> list[str]:
    """Every IP address of `name`. Blocks; raises OSError."""
    return [str(found[4][0]) for found in socket.getaddrinfo(name, None)]


def is_this_machine(url: str, resolve: Resolve = resolve_name) -> bool:
    """True only when every address of the URL's host is a loopback address.

    A name that cannot be resolved is not local: text might leave this machine once it can.
    """
    name = urlsplit(url).hostname or ""
    try:
        addresses = [ipaddress.ip_address(name)]
    except ValueError:
        try:
            addresses = [ipaddress.ip_address(a.partition("%")[0]) for a in resolve(name)]
        except (OSError, UnicodeError):
            return False
    return bool(addresses) and all(_is_loopback(address) for address in addresses)


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)

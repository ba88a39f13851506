"""The proxy between us and a server: which one the standard variables name, and how it is addressed."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

from yarl import URL

from kubeloop.auth import basic
from kubeloop.urls import shown_url


def proxy_at(address: str) -> tuple[URL, dict[str, str]]:
    """The proxy at an address, and the header with the name and password that stand in it.

    Raises ValueError, with a sentence that shows neither, for what is no address of a proxy.
    """
    try:
        proxy = URL(address)
        usable = proxy.scheme in ("http", "https") and bool(proxy.host)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"the proxy {shown_url(address)} must be an http:// or https:// address")
    headers = {"Proxy-Authorization": basic(proxy.user, proxy.password or "")} if proxy.user else {}
    return proxy.with_user(None), headers


def proxy_in(environ: Mapping[str, str], scheme: str, host: str, port: int) -> str:
    """The proxy that the standard variables name for a host, empty for none; this machine itself is never proxied.

    `NO_PROXY` may hold host names (with all below them), addresses, networks like 10.0.0.0/8, any with a port, or `*`.
    A dot at the end of a name, which keeps a resolver from trying others, makes it no other name.
    """
    host = _bare(host)
    proxy, exempt = (environ.get(name) or environ.get(name.upper(), "") for name in (f"{scheme}_proxy", "no_proxy"))
    if not proxy or host == "localhost" or _within(host, "127.0.0.0/8") or host == "::1":
        return ""
    if any(_exempts(entry.strip(), host, port) for entry in exempt.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _exempts(entry: str, host: str, port: int) -> bool:
    name, colon, at = entry.rpartition(":")
    if colon and at.isdigit() and (":" not in name or name.endswith("]")):
        return int(at) == port and _exempts(name, host, port)
    entry = _bare(entry)
    suffix = entry.lstrip("*.")
    return entry == "*" or _within(host, entry) or (bool(suffix) and (host == suffix or host.endswith(f".{suffix}")))


def _bare(host: str) -> str:
    """As hosts are compared."""
    return host.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False

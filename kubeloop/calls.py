"""HTTP calls that do not go to the API server, as values: pod endpoints, metric queries, webhooks.

A handler is a function from a Call to a Reply, so that the same one is wrapped by a real HTTP server or called
directly in virtual time; a Caller is the other side of the same seam.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from kubeloop.urls import shown_url


class Call(Struct, frozen=True, kw_only=True):
    """One request; as seen by a handler, `url` is the path with its query."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout: float = 5.0
    """Seconds until the whole call is given up."""
    authority: bytes = b""
    """PEM of the certificate authorities to trust instead of the machine's."""
    verified: bool = True
    """Whether the certificate of the other side must be trusted."""
    follows: bool = False
    """Whether a redirect is followed; else it is the reply."""
    proxy: str = ""
    """The proxy that it goes through; empty: the one that the environment names, if any."""
    shown_as: str = ""
    """What is shown instead of the address, where all of that is secret."""
    largest: int = 0
    """Bytes that the body of the reply may have, beyond which it is no reply; 0: what the Caller reads at all."""
    heeds_body: bool = True
    """Whether the body of the reply is wanted; where it is not, it may be empty."""
    is_awaited: Callable[[], bool] = lambda: True
    """Asked by a handler: whether the other side still waits for the reply, as far as its connection shows."""

    def header(self, name: str) -> list[str]:
        """All values of a header, in order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def __repr__(self) -> str:
        """Without what may be secret: a body may hold a password, headers a session."""
        return f"Call({self.shown}, {len(self.body)} bytes)"

    @property
    def shown(self) -> str:
        """Method and address for people, without what may be secret."""
        return f"{self.method} {self.place}"

    @property
    def place(self) -> str:
        """The address for people."""
        return self.shown_as or shown_url(self.url)


class Reply(Struct, frozen=True):
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """Without what may be secret: headers may open a session."""
        return f"Reply({self.status}, {self.body!r})"


class NoReply(Exception):
    """The call was not answered: not resolved, not connected, not trusted, cut off or too late; the text says which."""


class TooLate(NoReply):
    """The time for an answer was over."""


Handler: TypeAlias = Callable[[Call], Awaitable[Reply]]
Caller: TypeAlias = Callable[[Call], Awaitable[Reply]]
"""Raises NoReply; any status is a reply."""

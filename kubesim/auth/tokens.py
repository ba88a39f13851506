"""Bearer tokens: those that a server was started with, and those that service accounts were given.

A token of a service account is good for its time, for the audiences that it was made for, and while its account exists.
It looks like those of a real cluster (claims in the middle), but is recognised as a whole and not by its signature.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from kubeloop import clock
from kubesim.auth.rbac import AUTHENTICATED, User, account_groups, user_of
from kubesim.kinds.registry import SERVICE_ACCOUNTS
from kubesim.store.store import Store
from kubesim.store.versions import Key

ISSUER = "https://kubernetes.default.svc"
_SIGNATURE_WORDS = 4


class _Issued(Struct, frozen=True):
    user: User
    account: Key
    audiences: tuple[str, ...]
    expires: datetime


class Tokens:
    """Whose each token is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._given: dict[str, User] = {}
        self._issued: dict[str, _Issued] = {}

    def give(self, tokens: Mapping[str, str]) -> None:
        """Makes tokens known under the names of their users, for ever."""
        self._given |= {token: user_of(name) for token, name in tokens.items()}

    def issue(self, account: Key, audiences: tuple[str, ...], seconds: int) -> tuple[str, datetime]:
        """A new token for a service account that exists, and when it ends."""
        namespace, name = account
        now = clock.now()
        expires = now + timedelta(seconds=seconds)
        uid = self._store.table(SERVICE_ACCOUNTS).live[account].head.uid
        user = User(f"system:serviceaccount:{namespace}:{name}", (*account_groups(namespace), AUTHENTICATED), uid)
        claims = {
            "aud": audiences,
            "exp": int(expires.timestamp()),
            "iat": int(now.timestamp()),
            "iss": ISSUER,
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
            "nbf": int(now.timestamp()),
            "sub": user.name,
        }
        draws = self._store.draws("token")
        signature = b"".join(draws.integer().to_bytes(8) for _ in range(_SIGNATURE_WORDS))
        token = ".".join(_encoded(part) for part in (_HEADER, msgspec.json.encode(claims), signature))
        self._issued = {known: issued for known, issued in self._issued.items() if issued.expires > now}
        self._issued[token] = _Issued(user, account, audiences, expires)
        return token, expires

    def user(self, token: str) -> User | None:
        """Whose the token is, for this server."""
        found = self.recognise(token, (ISSUER,))
        return None if found is None else found[0]

    def recognise(self, token: str, audiences: Iterable[str]) -> tuple[User, tuple[str, ...]] | None:
        """Whose the token is, and for which of the audiences; a token that was given at the start is for this server.

        None for a token that is unknown, has ended, has lost its account or is meant for others.
        """
        issued = self._issued.get(token)
        user, meant = self._among_given(token), frozenset((ISSUER,))
        if issued is not None:
            user, meant = (issued.user if self._is_valid(issued) else None), frozenset(issued.audiences)
        shared = tuple(audience for audience in audiences if audience in meant)
        return None if user is None or not shared else (user, shared)

    def _among_given(self, token: str) -> User | None:
        # Compared in constant time: how much of a wrong token was right must not show.
        found = [user for known, user in self._given.items() if hmac.compare_digest(known.encode(), token.encode())]
        return found[0] if found else None

    def _is_valid(self, issued: _Issued) -> bool:
        account = self._store.table(SERVICE_ACCOUNTS).live.get(issued.account)
        return account is not None and account.head.uid == issued.user.uid and clock.now() < issued.expires


_HEADER = b'{"alg":"RS256","kid":"embedded"}'


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()

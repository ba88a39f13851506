"""Environments to be run and rolled, and what their namespace needs for them."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

import msgspec
from msgspec import Struct

from bench.cases import GONE_AFTER, READY_AFTER
from fairlead.contracts.environments.stand_in.rules import CATCH_UP, PROMOTE_TAKES

FIRST, SECOND = "materialize/environmentd:v26.0.0", "materialize/environmentd:v26.1.0"
SECRET = "materialize-backend"  # noqa: S105  (a name)
BOUND = READY_AFTER + GONE_AFTER
"""Seconds for the new generation's pod to come and for the old one's to go, one after the other."""
_ANY = "00000000-0000-0000-0000-000000000000"
"""The environment that a license is for, when it is for all."""


class Estate(Struct, frozen=True):
    """How many there are, and how many of them are changed."""

    environments: int = 200
    alone: int = 3
    """Changed one after the other."""
    at_once: int = 50
    idle_seconds: int = 60

    @property
    def names(self) -> list[str]:
        return [f"environment-{index:03}" for index in range(self.environments)]

    @property
    def changed_alone(self) -> list[str]:
        return self.names[: self.alone]

    @property
    def changed_at_once(self) -> list[str]:
        return self.names[self.alone : self.alone + self.at_once]

    @property
    def generations(self) -> dict[str, int]:
        """Which one serves at the end."""
        return {name: 2 if name in {*self.changed_alone, *self.changed_at_once} else 1 for name in self.names}


QUICK = Estate(environments=6, alone=1, at_once=3, idle_seconds=10)


def environment(name: str, index: int) -> dict[str, object]:
    """One that has nothing to catch up with and leads as soon as it is told to.

    Otherwise the pauses of five to nine seconds that the contract asks for would be all that is measured.
    """
    return {
        "metadata": {"name": name},
        "spec": {
            "environmentdImageRef": FIRST,
            "backendSecretName": SECRET,
            "environmentId": f"{index:08x}-1234-4234-8234-123456789012",
            "balancerdReplicas": 1,
            "consoleReplicas": 1,
            "podAnnotations": {CATCH_UP: "0s", PROMOTE_TAKES: "0s"},
        },
    }


def with_image(image: str) -> bytes:
    """A merge patch."""
    return msgspec.json.encode({"spec": {"environmentdImageRef": image}})


def secret() -> dict[str, object]:
    """The backend of all environments, with a license that nobody signed and that fits every one."""
    claims = {"exp": 4_000_000_000, "nbf": 0, "iat": 0, "iss": "Materialize, Inc.", "sub": "bench", "aud": _ANY}
    head, body = ({"typ": "JWT", "alg": "PS256"}, claims | {"jti": "bench", "version": 1})
    license_key = ".".join(map(_text, (msgspec.json.encode(head), msgspec.json.encode(body), b"nobody signed this")))
    entries = {
        "metadata_backend_url": "postgres://metadata",
        "persist_backend_url": "s3://persist",
        "license_key": license_key,
    }
    data = {key: b64encode(value.encode()).decode() for key, value in entries.items()}
    return {"metadata": {"name": SECRET}, "data": data}


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()

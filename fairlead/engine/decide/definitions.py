"""Definitions of kinds as the API server answers with them: whole trees, of which what is read has its shape."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.engine.decide.registration import Tree
from kubeloop.decoding import decoded


class _Meta(Struct, rename="camel"):
    uid: str
    resource_version: str
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Names(Struct):
    plural: str
    kind: str


class _Version(Struct):
    name: str
    served: bool = False
    storage: bool = False


class _ClientConfig(Struct, rename="camel"):
    ca_bundle: str | None = None


class _Webhook(Struct, rename="camel"):
    client_config: _ClientConfig | None = None


class _Conversion(Struct):
    strategy: str = ""
    webhook: _Webhook | None = None


class _Spec(Struct):
    group: str
    scope: str
    names: _Names
    versions: list[_Version]
    conversion: _Conversion | None = None


class _Condition(Struct, rename="camel"):
    type: str
    status: str = ""
    reason: str | None = None
    message: str | None = None
    observed_generation: int = 0


class _Status(Struct, rename="camel"):
    stored_versions: list[str] | None = None
    conditions: list[_Condition] | None = None


class _Definition(Struct):
    metadata: _Meta
    spec: _Spec
    status: _Status | None = None


def definition_in(body: bytes, what: str) -> Tree:
    """Raises Garbled for anything else; `what` begins the sentence."""
    decoded(body, _Definition, what)
    return decoded(body, dict[str, Any], what)

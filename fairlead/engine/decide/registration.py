"""What to apply so that a definition is as this operator wants it, or nothing when it is.

Every change of a definition's spec makes each API server rebuild the resource and read all its objects again, so a
start with nothing to change must not write. What is compared is what the server makes of a definition: its defaults
are filled in, and empty values that it drops are left out.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from kubeloop.objects.meta import Resource

Tree: TypeAlias = dict[str, Any]

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_VERBATIM = ("default", "enum", "example")
"""Of a schema: values of the objects' fields, where empty is not absent."""
_MAPS = ("properties", "patternProperties", "definitions")
"""Dropped by the server when they are empty; another empty object says something, such as `status: {}`."""


class ConversionWebhook(Struct, frozen=True, kw_only=True):
    """Where the API server finds the conversion webhook: a Service, or a URL outside of the cluster."""

    name: str = ""
    namespace: str = ""
    port: int = 443
    path: str = "/convert"
    url: str = ""
    """Without a path of its own it gets the one above."""

    @property
    def server_name(self) -> str:
        """What its certificate must be for; empty where a URL says it."""
        return "" if self.url else f"{self.name}.{self.namespace}.svc"

    def conversion(self, authority: bytes) -> Tree:
        """`spec.conversion` with these authorities; without any the machine's are trusted."""
        bare = not urlsplit(self.url).path.strip("/")
        where: Tree = {"url": self.url.rstrip("/") + self.path if bare else self.url}
        if not self.url:
            service = {"namespace": self.namespace, "name": self.name, "path": self.path, "port": self.port}
            where = {"service": service}
        trusted = {"caBundle": b64encode(authority).decode()} if authority else {}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {**where, **trusted}}
        return {"strategy": "Webhook", "webhook": webhook}


NOT_CONVERTED: Tree = {"strategy": "None"}


def name_of(definition: Tree) -> str:
    return str(definition["metadata"]["name"])


def is_converted(definition: Tree) -> bool:
    """Whether its objects need converting at all: with one version there is nothing to convert to."""
    return len(definition["spec"]["versions"]) > 1


def authority_of(definition: Tree | None) -> bytes | None:
    """The `caBundle` that a live definition holds; None without a conversion webhook."""
    conversion = at(definition or {}, "spec", "conversion")
    if conversion.get("strategy") != "Webhook":
        return None
    try:
        return b64decode(at(conversion, "webhook", "clientConfig").get("caBundle") or "")
    except ValueError:
        return b""


INJECTED = ("inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca")


def is_injected(live: Tree | None) -> bool:
    """Whether somebody else is asked, by annotation, to keep the `caBundle`; then it is not ours to write."""
    annotations = at(live or {}, "metadata", "annotations")
    return any(f"cert-manager.io/{each}" in annotations for each in INJECTED)


def wanted(definition: Tree, conversion: Tree | None, live: Tree | None) -> Tree:
    """The definition to apply: ours, and the versions of the live one that others have brought and still need.

    The list of versions is replaced as a whole, so a version that we do not know is repeated in it, never as the
    stored one, while it is served or objects may be stored in it.
    """
    spec = {**definition["spec"], "conversion": NOT_CONVERTED if conversion is None else conversion}
    spec["versions"] = [*spec["versions"], *_foreign(definition, live)]
    metadata = dict(definition["metadata"])
    if live is not None:
        if live["spec"].get("preserveUnknownFields"):  # the server allows it together with no webhook
            spec["preserveUnknownFields"] = False
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
    return {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind, "metadata": metadata, "spec": spec}


def differs(to_apply: Tree, live: Tree, trusts: Callable[[bytes, bytes], bool]) -> bool:
    """Whether applying would change the live definition.

    `trusts` says whether two bundles, the wanted and the live one, hold the same authorities.
    """
    spec, there = to_apply["spec"], live["spec"]
    return (
        any(key in spec and spec[key] != there.get(key) for key in ("group", "scope"))
        or not _within(spec["names"], there.get("names") or {})
        or bool(spec.get("preserveUnknownFields", False) != there.get("preserveUnknownFields", False))
        or not _same_versions(spec["versions"], there.get("versions") or [])
        or not same_conversion(spec.get("conversion"), there.get("conversion") or NOT_CONVERTED, trusts)
        or any(
            not _within(to_apply["metadata"].get(key) or {}, live["metadata"].get(key) or {})
            for key in ("labels", "annotations")
        )
    )


class Pending(Struct, frozen=True):
    """The definition is written and not yet in force; the text says what is missing."""

    text: str


class Established(Struct, frozen=True):
    """It is in force; `versions` are those that discovery must show."""

    versions: tuple[str, ...]


def standing(live: Tree) -> Pending | Established:
    """What has become of a definition that was written."""
    if live["metadata"].get("deletionTimestamp"):
        return Pending("it is being deleted; it can be registered when its last object is gone")
    conditions = {each["type"]: each for each in at(live, "status").get("conditions") or ()}
    for kind in ("NamesAccepted", "Established"):
        found = conditions.get(kind, {})
        if found.get("status") != "True":
            why = found.get("message") or found.get("reason") or "the API server has not looked at it yet"
            return Pending(f"it is not {kind}: {why}")
        generation = live["metadata"].get("generation", 0)
        if found.get("observedGeneration", generation) < generation:  # servers that keep no such field act at once
            return Pending(f"its {kind} condition is about an earlier state")
    return Established(tuple(each["name"] for each in live["spec"]["versions"] if each.get("served")))


def _foreign(definition: Tree, live: Tree | None) -> list[Tree]:
    ours = [each["name"] for each in definition["spec"]["versions"]]
    stored = at(live or {}, "status").get("storedVersions") or ()
    return [
        {**each, "storage": False}
        for each in at(live or {}, "spec").get("versions") or ()
        if each["name"] not in ours and (each.get("served") or each["name"] in stored)
    ]


def same_conversion(ours: Tree | None, live: Tree, trusts: Callable[[bytes, bytes], bool]) -> bool:
    """What is not said is left to others."""
    if ours is None:
        return True
    if ours["strategy"] != live.get("strategy"):
        return False
    if ours["strategy"] != "Webhook":
        return True
    mine, theirs = authority_of({"spec": {"conversion": ours}}), authority_of({"spec": {"conversion": live}})
    same = _plain(without_authority(ours)) == _plain(without_authority(live))
    return same and trusts(mine or b"", theirs or b"")


def without_authority(conversion: Tree) -> Tree:
    """A conversion by a webhook, but for its `caBundle`."""
    webhook = at(conversion, "webhook")
    config = {key: value for key, value in at(webhook, "clientConfig").items() if key != "caBundle"}
    return {**conversion, "webhook": {**webhook, "clientConfig": config}}


def _same_versions(ours: list[Tree], live: list[Tree]) -> bool:
    """Mostly they are as we wrote them, and then nothing need be left out of hundreds of fields."""
    return ours == live or _by_name(ours) == _by_name(live)


def _by_name(versions: list[Tree]) -> dict[str, object]:
    return {each["name"]: _plain(each) for each in versions}


def _within(ours: Mapping[str, object], live: Mapping[str, object]) -> bool:
    """Whether all that we say is so there; what others add beside is theirs."""
    return all(_plain(live.get(key)) == _plain(value) for key, value in ours.items())


def _plain(value: object) -> object:
    """The value as the server gives it back: without what it leaves out when empty."""
    match value:
        case dict():
            kept = {key: each if key in _VERBATIM else _plain(each) for key, each in value.items()}
            return {key: each for key, each in kept.items() if key in _VERBATIM or not _is_dropped(key, each)}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _is_dropped(key: str, value: object) -> bool:
    if isinstance(value, dict):
        return not value and key in _MAPS
    if key == "priority" and value == 0:  # of a column; elsewhere, as in `minimum`, 0 says something
        return True
    return value is None or value is False or value in ("", [])


def at(tree: Tree, *keys: str) -> Tree:
    """What is under these keys, or nothing."""
    for key in keys:
        tree = tree.get(key) or {}
    return tree

"""The versions of a definition as commands speak of them."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CRD_OWNER, CRD_REVISION
from fairlead.core.api_versions import age
from kubeloop.objects.meta import Resource

OLM_LABEL, OLM_PREFIX = "olm.managed", "operators.coreos.com/"


class NoSuchVersion(Exception):
    """The definition has no version of this name; the text says which it has."""


def name_of(definition: Tree) -> str:
    return str(definition["metadata"]["name"])


def versions_of(definition: Tree) -> dict[str, Tree]:
    """By name, in the order of the definition."""
    return {each["name"]: each for each in definition["spec"]["versions"]}


def version_of(definition: Tree, name: str) -> Tree:
    known = versions_of(definition)
    if name not in known:
        raise NoSuchVersion(f"{name_of(definition)} has no version {name}: it has {', '.join(known)}")
    return known[name]


def storage_version(definition: Tree) -> str:
    """Empty where none says so, which no server takes."""
    return next((name for name, each in versions_of(definition).items() if each.get("storage")), "")


def served_versions(definition: Tree) -> tuple[str, ...]:
    """From the newest to the oldest."""
    served = [name for name, each in versions_of(definition).items() if each.get("served")]
    return tuple(sorted(served, key=age, reverse=True))


def stored_versions(definition: Tree) -> tuple[str, ...]:
    return tuple((definition.get("status") or {}).get("storedVersions") or ())


def strategy_of(definition: Tree) -> str:
    return str((definition["spec"].get("conversion") or {}).get("strategy") or "None")


def client_of(definition: Tree) -> Tree:
    """Where the API server sends reviews; empty without a webhook."""
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    found: Tree = webhook.get("clientConfig") or {}
    return found if strategy_of(definition) == "Webhook" else {}


def target_of(definition: Tree) -> str:
    """The same for people: `namespace/service` or a URL."""
    client = client_of(definition)
    service = client.get("service") or {}
    return f"{service.get('namespace')}/{service.get('name')}" if service else str(client.get("url") or "")


def resource_of(definition: Tree, version: str) -> Resource:
    spec = definition["spec"]
    names = spec["names"]
    return Resource(spec["group"], version, names["plural"], names["kind"], spec.get("scope") == "Namespaced")


def owner_of(definition: Tree) -> str:
    """The namespace of the installation that writes this definition; empty where it is nobody's."""
    return str(_text(definition, "annotations").get(CRD_OWNER) or "")


def is_of_olm(definition: Tree) -> bool:
    labels = _text(definition, "labels")
    return labels.get(OLM_LABEL) == "true" or any(each.startswith(OLM_PREFIX) for each in labels)


def revision_of(definition: Tree) -> int:
    found = str(_text(definition, "annotations").get(CRD_REVISION) or "")
    return int(found) if found.isdecimal() else 0


def _text(definition: Tree, field: str) -> Mapping[str, str]:
    found: Mapping[str, str] = definition["metadata"].get(field) or {}
    return found

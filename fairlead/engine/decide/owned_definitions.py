"""Definitions that others write as well: what stands in the way of writing one, and whose its parts are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from fairlead.engine.decide.registration import ConversionWebhook, Tree, at

OLM_LABEL, OLM_PREFIX = "olm.managed", "operators.coreos.com/"
CLIENT = ("spec", "conversion", "webhook", "clientConfig")
BUNDLE = (*CLIENT, "caBundle")
FORCED = (".spec.versions", ".spec.conversion")
"""What is ours whoever else writes it: the versions are merged before, and a conversion of others is not applied."""
_FIELD = re.compile(r"^- (\.\S+)$|: (\.\S+)$", re.MULTILINE)


class DefinitionOwner(Struct, frozen=True, kw_only=True):
    """As whom definitions are written beside others, and how an installation marks them."""

    manager: str
    """Owns all that is written but the bundle of authorities."""
    ca_manager: str
    """Owns that bundle alone, so that tools which apply the rest never conflict with it."""
    namespace: str
    """That of this installation."""
    owner_key: str
    """The annotation that names the installation which writes a definition."""
    revision_key: str
    """The annotation with the revision of a definition's text."""
    takes_over: bool = False
    """Whether a conversion that names somebody else is overwritten."""


class Obstacle(Struct, frozen=True):
    """Why a definition is left as it is."""

    reason: str
    """Of the Event."""
    text: str


def obstacle(definition: Tree | None, live: Tree, owner: DefinitionOwner) -> Obstacle | None:
    """`definition` is the text of ours; None where only the conversion of another's is written."""
    annotations = at(live, "metadata", "annotations")
    if is_olms(live):
        return Obstacle("CRDOwnedElsewhere", "OLM owns it, so the operator does not write it; let OLM install its text")
    holder = annotations.get(owner.owner_key)
    if holder and holder != owner.namespace:
        text = f"the installation in namespace {holder} writes it; remove one of the two installations"
        return Obstacle("CRDOwnedElsewhere", text)
    if definition is None:
        return None
    ours, theirs = (revision_of(each, owner) for each in (definition, live))
    if theirs > ours:
        text = f"its text is revision {theirs} and this operator has {ours}; use an operator that is as new"
        return Obstacle("CRDNewer", text)
    return None


def is_olms(live: Tree) -> bool:
    labels = at(live, "metadata", "labels")
    return labels.get(OLM_LABEL) == "true" or any(each.startswith(OLM_PREFIX) for each in labels)


def revision_of(definition: Tree, owner: DefinitionOwner) -> int:
    """0 where it says none, or nothing that can be read."""
    found = str(at(definition, "metadata", "annotations").get(owner.revision_key, ""))
    return int(found) if found.isascii() and found.isdigit() else 0


def is_webhook(live: Tree) -> bool:
    return at(live, "spec", "conversion").get("strategy") == "Webhook"


def is_ours(live: Tree, webhook: ConversionWebhook | None, owner: DefinitionOwner) -> bool:
    """Whether objects are converted by this operator: its address is there, or it wrote what is there."""
    if not is_webhook(live):
        return False
    config = at(live, "spec", "conversion", "webhook", "clientConfig")
    if webhook is not None and _same_place(config, webhook):
        return True
    return wrote_conversion(live, owner.manager)


def wrote_conversion(live: Tree, manager: str) -> bool:
    """Whether the address that objects are converted at is the manager's: whoever changes it owns it from then on."""
    service = (*CLIENT, "service")
    named = owns(live, manager, *service, "name") and owns(live, manager, *service, "namespace")
    return is_webhook(live) and (named or owns(live, manager, *CLIENT, "url"))


def is_foreign(live: Tree, webhook: ConversionWebhook | None, owner: DefinitionOwner) -> bool:
    return is_webhook(live) and not is_ours(live, webhook, owner)


def place_of(live: Tree) -> str:
    """Who converts objects, for people."""
    config = at(live, "spec", "conversion", "webhook", "clientConfig")
    service = config.get("service") or {}
    return str(config["url"]) if config.get("url") else f"{service.get('namespace', '')}/{service.get('name', '')}"


def owns(live: Tree, manager: str, *path: str) -> bool:
    """Whether the manager has applied something at this place."""
    return any(
        _has(each.get("fieldsV1") or {}, path)
        for each in at(live, "metadata").get("managedFields") or ()
        if each.get("manager") == manager and each.get("operation") == "Apply"
    )


def disputed(refusals: Iterable[str]) -> tuple[str, ...]:
    """Fields that others own with another value, as the server names them when it refuses an apply."""
    found = (match[1] or match[2] for text in refusals if "Apply failed" in text for match in _FIELD.finditer(text))
    return tuple(dict.fromkeys(found))


def left_to_others(fields: Iterable[str]) -> tuple[str, ...]:
    """Those of the disputed fields that stay as they are."""
    return tuple(each for each in fields if not each.startswith(FORCED))


def without(tree: Tree, fields: Iterable[str]) -> Tree:
    """The tree without these fields; one that the server names inside of a leaf takes the whole leaf away."""
    gone = tuple(fields)
    return _pruned(tree, "", gone) if gone else tree


def _pruned(tree: Mapping[str, Any], path: str, gone: tuple[str, ...]) -> Tree:
    found: Tree = {}
    for key, value in tree.items():
        place = f"{path}.{key}"
        if isinstance(value, dict) and place not in gone:
            found[key] = _pruned(value, place, gone)
        elif not any(each == place or each.startswith((f"{place}.", f"{place}[")) for each in gone):
            found[key] = value
    return found


def _has(fields: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    place: Any = fields
    for key in path:
        if not isinstance(place, dict) or f"f:{key}" not in place:
            return False
        place = place[f"f:{key}"]
    return True


def _same_place(config: Tree, webhook: ConversionWebhook) -> bool:
    if webhook.url:
        ours = at(webhook.conversion(b""), "webhook", "clientConfig")
        return bool(config.get("url") == ours["url"])
    service = config.get("service") or {}
    return bool((service.get("namespace"), service.get("name")) == (webhook.namespace, webhook.name))

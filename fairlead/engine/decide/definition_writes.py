"""The next write that brings a definition nearer to what it is to be, where others write it as well.

What is ours is applied without force; where the server names owners of fields with other values, versions and the
conversion are taken from them and everything else is left to them. The bundle of authorities belongs to a manager of
its own. Between a conversion by nobody and one with a bundle lies one write of the spec, so that there is no moment
with a webhook that nobody trusts: the first apply has both, and what follows only moves the bundle to its manager.
Every write is bound to the version that was read, and a definition that is as it should be gets none.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from fairlead.core.act import AnyWrite, Apply, Does, Patch, PatchKind
from fairlead.engine.decide.owned_definitions import (
    BUNDLE,
    DefinitionOwner,
    disputed,
    is_foreign,
    is_ours,
    is_webhook,
    left_to_others,
    owns,
    without,
)
from fairlead.engine.decide.registration import (
    DEFINITIONS,
    NOT_CONVERTED,
    ConversionWebhook,
    Tree,
    at,
    authority_of,
    differs,
    is_injected,
    same_conversion,
    without_authority,
)
from kubeloop.objects.meta import Ref


class DefinitionWish(Struct, frozen=True, kw_only=True):
    """What a definition is to be."""

    name: str
    definition: Tree | None
    """The text of ours; None: only the conversion is."""
    webhook: ConversionWebhook | None
    """None: objects are converted by nobody."""
    bundle: bytes
    enough: frozenset[bytes]
    """Those of the bundles seen that hold the same authorities."""
    owner: DefinitionOwner


class DefinitionStep(Struct, frozen=True):
    write: AnyWrite
    corrects: bool
    """Whether it changes what somebody else wrote, and not only who owns it or which authorities are trusted."""


def next_step(wish: DefinitionWish, live: Tree | None, refusals: Sequence[str] = ()) -> DefinitionStep | None:
    """None: it is as it should be. `refusals` are what the server said to the applies of this pass."""
    if live is None:
        return DefinitionStep(_applied(wish, _body(wish, None), None, force=False), corrects=False)
    if _is_taken_over(wish, live):
        return DefinitionStep(_converted(wish, live, wish.webhook), corrects=True)
    fields = disputed(refusals)
    body = without(_body(wish, live), left_to_others(fields))
    if _lacks(wish, body, live):
        force = len(left_to_others(fields)) < len(fields)
        return DefinitionStep(_applied(wish, body, live, force=force), corrects=True)
    if wish.webhook is None:
        return DefinitionStep(_converted(wish, live, None), corrects=True) if is_ours(live, None, wish.owner) else None
    if is_foreign(live, wish.webhook, wish.owner) or is_injected(live) or not wish.bundle:
        return None
    if (authority_of(live) or b"") not in wish.enough or not owns(live, wish.owner.ca_manager, *BUNDLE):
        return DefinitionStep(_trusting(wish, live), corrects=False)
    if owns(live, wish.owner.manager, *BUNDLE):
        return DefinitionStep(_applied(wish, body, live, force=False), corrects=False)
    return None


def _is_taken_over(wish: DefinitionWish, live: Tree) -> bool:
    return wish.webhook is not None and wish.owner.takes_over and is_foreign(live, wish.webhook, wish.owner)


def _body(wish: DefinitionWish, live: Tree | None) -> Tree:
    """What our manager applies."""
    metadata: Tree = {"name": wish.name}
    spec: Tree = {}
    if wish.definition is not None:
        ours = wish.definition["metadata"]
        metadata |= {key: ours[key] for key in ("labels", "annotations") if ours.get(key)}
        metadata["annotations"] = {**metadata.get("annotations", {}), wish.owner.owner_key: wish.owner.namespace}
        spec = {key: value for key, value in wish.definition["spec"].items() if key != "conversion"}
        spec["versions"] = [*spec["versions"], *_unknown(wish.definition, live)]
    if live is not None and live["spec"].get("preserveUnknownFields"):  # the server allows it together with no webhook
        spec["preserveUnknownFields"] = False
    conversion = _conversion(wish, live)
    if conversion is not None:
        spec["conversion"] = conversion
    return {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind, "metadata": metadata, "spec": spec}


def _unknown(definition: Tree, live: Tree | None) -> list[Tree]:
    """Versions that others brought: the list is replaced as a whole, so they are repeated, never as the stored one."""
    ours = [each["name"] for each in definition["spec"]["versions"]]
    theirs = at(live or {}, "spec").get("versions") or ()
    return [{**each, "storage": False} for each in theirs if each["name"] not in ours]


def _conversion(wish: DefinitionWish, live: Tree | None) -> Tree | None:
    """None: it is left to others."""
    if live is not None and is_foreign(live, wish.webhook, wish.owner):
        return None
    if wish.webhook is None:
        # From a webhook to nobody is no apply: what others own of it would remain and make the definition invalid.
        return without_authority(live["spec"]["conversion"]) if live is not None and is_webhook(live) else NOT_CONVERTED
    return wish.webhook.conversion(_own_bundle(wish, live))


def _own_bundle(wish: DefinitionWish, live: Tree | None) -> bytes:
    """The bundle as long as its manager does not hold it: with the first write, and until it has taken it over."""
    if live is None or not is_webhook(live):
        return b"" if is_injected(live) else wish.bundle
    waits = owns(live, wish.owner.manager, *BUNDLE) and not owns(live, wish.owner.ca_manager, *BUNDLE)
    if not waits:
        return b""
    # Who serves at another address shows another certificate, so the bundle goes with the address.
    return (authority_of(live) or b"") if has_our_address(wish, live) else wish.bundle


def has_our_address(wish: DefinitionWish, live: Tree) -> bool:
    """Whether objects are converted where they are to be, whoever wrote that."""
    if wish.webhook is None:
        return False
    held = live["spec"].get("conversion") or NOT_CONVERTED
    return same_conversion(wish.webhook.conversion(b""), held, lambda *_: True)


def _lacks(wish: DefinitionWish, body: Tree, live: Tree) -> bool:
    if wish.definition is not None and differs(_without_conversion(body), live, lambda *_: True):
        return True
    conversion = body["spec"].get("conversion")
    if conversion is None:
        return False
    if not same_conversion(conversion, live["spec"].get("conversion") or NOT_CONVERTED, lambda *_: True):
        return True
    ours = conversion["strategy"] == "Webhook" and wish.webhook is not None
    return ours and not owns(live, wish.owner.manager, "spec", "conversion", "strategy")


def _without_conversion(body: Tree) -> Tree:
    return {**body, "spec": {key: value for key, value in body["spec"].items() if key != "conversion"}}


def _applied(wish: DefinitionWish, body: Tree, live: Tree | None, *, force: bool) -> Apply:
    return Apply(
        ref=_ref(wish, live),
        body=msgspec.json.encode(body),
        manager=wish.owner.manager,
        force=force,
        does=Does.APPLY_DEFINITION,
        resource_version=_version(live),
        refusable=True,
        change_to="new" if live is None else f"generation after {live['metadata'].get('generation', 0)}",
    )


def _trusting(wish: DefinitionWish, live: Tree) -> Apply:
    """The bundle alone. It is ours with the conversion, so it is forced; a value that is enough stays as it is."""
    held = authority_of(live) or b""
    bundle = held if held in wish.enough else wish.bundle
    config = {"caBundle": b64encode(bundle).decode()}
    body = {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": wish.name},
        "spec": {"conversion": {"webhook": {"clientConfig": config}}},
    }
    return Apply(
        ref=_ref(wish, live),
        body=msgspec.json.encode(body),
        manager=wish.owner.ca_manager,
        force=True,
        does=Does.APPLY_DEFINITION,
        resource_version=_version(live),
        refusable=True,
        change_to="its authorities",
    )


def _converted(wish: DefinitionWish, live: Tree, webhook: ConversionWebhook | None) -> Patch:
    """The conversion replaced as a whole, with whatever others own of it."""
    return conversion_patch(wish.name, live, NOT_CONVERTED if webhook is None else webhook.conversion(wish.bundle))


def conversion_patch(name: str, live: Tree, conversion: Tree) -> Patch:
    steps: list[Tree] = []
    if live["spec"].get("preserveUnknownFields"):
        steps.append({"op": "replace", "path": "/spec/preserveUnknownFields", "value": False})
    steps.append({"op": "add", "path": "/spec/conversion", "value": conversion})
    return Patch(
        ref=Ref(DEFINITIONS, "", name, str(live["metadata"].get("uid", ""))),
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        does=Does.APPLY_DEFINITION,
        resource_version=_version(live),
        refusable=True,
        change_from=str(at(live, "spec", "conversion").get("strategy", "")),
        change_to=str(conversion["strategy"]),
    )


def _ref(wish: DefinitionWish, live: Tree | None) -> Ref:
    return Ref(DEFINITIONS, "", wish.name, str(at(live or {}, "metadata").get("uid", "")))


def _version(live: Tree | None) -> str:
    return str(at(live or {}, "metadata").get("resourceVersion", ""))

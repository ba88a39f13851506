"""Which webhook configurations get the certificate authority, and the smallest patch that gives it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answers, Ask, Bad, Listing, Need
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.admissionregistration import Entry, WebhookConfiguration
from kubeloop.objects.meta import Ref, Resource

LIST_TIMEOUT_SECONDS = 30.0


class TrustLabels(Struct, frozen=True):
    """By which labels a webhook configuration asks for the authority of the certificate of webhooks."""

    wish: str
    """Exactly `true`: it is to have it."""
    namespace: str
    """Which operator it asks, by its namespace."""


class TrustScope(Struct, frozen=True):
    """Whose webhooks an operator answers."""

    labels: TrustLabels
    namespaces: tuple[str, ...]
    """Empty: all of the cluster."""
    home: str = ""
    """Where the operator itself is, which counts when all are served."""

    def wants(self, found: WebhookConfiguration, entry: Entry) -> bool:
        """Whether the entry is to trust this operator.

        The label names an operator by its namespace. One that serves all namespaces is named by none of them, and
        others may serve some of them: it takes what calls a Service of its own namespace, or names that namespace.
        """
        labels, namespace = found.metadata.labels, self.labels.namespace
        if labels.get(self.labels.wish) != "true" or namespace not in labels:
            return False
        if self.namespaces:
            return labels[namespace] in self.namespaces
        service = entry.client_config.service
        return self.home == (labels[namespace] if service is None else service.namespace)

    @property
    def selector(self) -> str:
        """Configurations that name one of the namespaces; none given means any."""
        label = self.labels.namespace
        match self.namespaces:
            case ():
                return label
            case (only,):
                return f"{label}={only}"
            case several:
                return f"{label} in ({','.join(several)})"


class InjectionSnapshot(Struct, frozen=True, kw_only=True):
    resource: Resource
    found: tuple[WebhookConfiguration, ...]
    """One of them as a watch shows it, or all that were listed."""
    served: TrustScope
    bundles: Mapping[str, str]
    """For every bundle that an entry has, the one that it is to have if it asks for the authority."""
    is_readable: bool = True
    """Whether what was listed could be read."""
    answers: Answers = Answers()

    def patches(self) -> tuple[Patch, ...]:
        """For those that do not trust the authority yet."""
        made = (injected(each, self.resource, self.served, self.bundles) for each in self.found)
        return tuple(patch for patch in made if patch is not None)


def inject(seen: InjectionSnapshot, _: datetime) -> Decision:
    """Gives a configuration the bundle; one that was changed meanwhile is left to what the watch will show."""
    patches = seen.patches()
    if not patches:
        return Decision("trusted", Hold(Reason.COMPLETE))
    if any(isinstance(seen.answers.known.get(patch), Bad) for patch in patches):
        return Decision("wait_for_watch", Hold(Reason.CACHE_BEHIND))
    return Decision("inject", Move(Reason.TRUSTING, patches))


def trust(seen: InjectionSnapshot, _: datetime) -> Decision | Need:
    """Gives the bundle to all configurations of a kind, whatever becomes of some of them."""
    listing = listing_of(seen.resource, seen.served)
    if todo := seen.answers.lacking((listing,)):
        return Need(todo)
    listed = seen.answers[listing]
    if isinstance(listed, Bad):
        return _list_again(seen, listed.text or listed.kind)
    if not seen.is_readable:
        return _list_again(seen, "the answer cannot be read; does a proxy answer in the API server's place?")
    patches = seen.patches()
    if todo := seen.answers.lacking(patches):
        return Need(todo)
    # One that is gone trusts nobody and is asked by nobody.
    if any(isinstance(bad := seen.answers[each], Bad) and bad.kind != "absent" for each in patches):
        return Decision("trust_again", Hold(Reason.TRUST_INCOMPLETE))
    return Decision("trusted", Hold(Reason.COMPLETE))


def listing_of(resource: Resource, served: TrustScope) -> Ask:
    return Ask(Listing(resource, "", labels=served.selector), timeout=LIST_TIMEOUT_SECONDS)


def _list_again(seen: InjectionSnapshot, problem: str) -> Decision:
    return Decision("list_again", Hold(Reason.TRUST_INCOMPLETE, details=((seen.resource.kind, problem),)))


def injected(
    found: WebhookConfiguration, resource: Resource, served: TrustScope, bundles: Mapping[str, str]
) -> Patch | None:
    """Every entry that wants the bundle gets it; None when it is everywhere.

    Only the bundles are touched, and each entry is tested to be the one that was seen, so that a change of
    somebody else in the meantime makes the patch fail instead of being undone.
    """
    steps = []
    for place, entry in enumerate(found.webhooks):
        if not served.wants(found, entry):
            continue
        held = entry.client_config.ca_bundle
        bundle = bundles[held]
        if held != bundle:
            at = f"/webhooks/{place}"
            steps.append({"op": "test", "path": f"{at}/name", "value": entry.name})
            steps.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": bundle})
    if not steps:
        return None
    return Patch(
        ref=Ref(resource, "", found.metadata.name, found.metadata.uid),
        does=Does.INJECT_CA,
        kind=PatchKind.JSON,
        body=msgspec.json.encode([{"op": "test", "path": "/metadata/uid", "value": found.metadata.uid}, *steps]),
        change_to=f"{len(steps) // 2} of {len(found.webhooks)} entries",
        refusable=True,
    )

"""Which webhook configurations get the certificate authority, and the smallest write that gives it.

Those that ask by a label are patched. Those that a contract knows by name are replaced, bound to the version that was
read, because its role grants no patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.core.act import Does, Patch, PatchKind, Replace
from fairlead.core.ask import Answers, Ask, Bad, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.admissionregistration import WebhookConfiguration, WebhookEntry
from kubeloop.objects.meta import Ref, Resource

LIST_TIMEOUT_SECONDS = 30.0
READ_AGAIN = timedelta(seconds=10)
"""Until what could not be read, or was not what the watch shows, is looked at without a new event."""


class TrustLabels(Struct, frozen=True):
    """By which labels a webhook configuration asks for the authority of the certificate of webhooks."""

    wish: str
    """Exactly `true`: it is to have it."""
    namespace: str
    """Which operator it asks, by its namespace."""


class TrustScope(Struct, frozen=True):
    """Whose webhooks an operator answers."""

    labels: TrustLabels | None
    """None: no label asks for anything."""
    namespaces: tuple[str, ...]
    """Empty: all of the cluster."""
    home: str = ""
    """Where the operator itself is, which counts when all are served."""
    names: tuple[str, ...] = ()
    """Of configurations that are to trust this operator whatever they say themselves."""
    other_labels: tuple[TrustLabels, ...] = ()
    """By which they ask as well, where several contracts are served."""

    def wants(self, found: WebhookConfiguration, entry: WebhookEntry) -> bool:
        """Whether the entry is to trust this operator.

        The label names an operator by its namespace. One that serves all namespaces is named by none of them, and
        others may serve some of them: it takes what calls a Service of its own namespace, or names that namespace.
        """
        if found.metadata.name in self.names:
            return True
        asked = () if self.labels is None else (self.labels, *self.other_labels)
        return any(self._is_asked(each, found, entry) for each in asked)

    def _is_asked(self, asked: TrustLabels, found: WebhookConfiguration, entry: WebhookEntry) -> bool:
        labels, namespace = found.metadata.labels, asked.namespace
        if labels.get(asked.wish) != "true" or namespace not in labels:
            return False
        if self.namespaces:
            return labels[namespace] in self.namespaces
        service = entry.client_config.service
        return self.home == (labels[namespace] if service is None else service.namespace)

    @property
    def selector(self) -> str:
        """Configurations that name one of the namespaces; none given means any. Names, and labels of several contracts,
        select nothing: all are seen."""
        if self.labels is None or self.names or self.other_labels:
            return ""
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
        """For those that ask by a label and do not trust the authority yet."""
        asking = (each for each in self.found if each.metadata.name not in self.served.names)
        made = (injected(each, self.resource, self.served, self.bundles) for each in asking)
        return tuple(patch for patch in made if patch is not None)

    def reads(self) -> tuple[Ask, ...]:
        """What must be read whole to be replaced: what is known by name and does not trust the authority yet."""
        return tuple(
            Ask(Read(Ref(self.resource, "", each.metadata.name, each.metadata.uid)))
            for each in self.found
            if each.metadata.name in self.served.names
            and any(
                self.bundles[entry.client_config.ca_bundle] != entry.client_config.ca_bundle for entry in each.webhooks
            )
        )

    def replacements(self) -> tuple[Replace, ...]:
        """Made of what was read; of what has changed since it was seen there is none."""
        made = (replaced(ask, self.answers[ask], self.bundles) for ask in self.reads())
        return tuple(each for each in made if each is not None)


def inject(seen: InjectionSnapshot, now: datetime) -> Decision | Need:
    """Gives a configuration the bundle; one that was changed meanwhile is left to what the watch will show."""
    if seen.reads():
        return _replace(seen, now)
    patches = seen.patches()
    if not patches:
        return Decision("trusted", Hold(Reason.COMPLETE))
    if any(isinstance(seen.answers.known.get(patch), Bad) for patch in patches):
        return Decision("wait_for_watch", Hold(Reason.CACHE_BEHIND))
    return Decision("inject", Move(Reason.TRUSTING, patches))


def _replace(seen: InjectionSnapshot, now: datetime) -> Decision | Need:
    if todo := seen.answers.lacking(seen.reads()):
        return Need(todo)
    if replacements := seen.replacements():
        return Decision("inject", Move(Reason.TRUSTING, replacements))
    return Decision("wait_for_watch", Hold(Reason.CACHE_BEHIND, again=now + READ_AGAIN))


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
    reads = seen.reads()
    if todo := seen.answers.lacking(reads):
        return Need(todo)
    writes: tuple[Question, ...] = (*seen.patches(), *seen.replacements())
    if todo := seen.answers.lacking(writes):
        return Need(todo)
    # One that is gone trusts nobody and is asked by nobody.
    asked: tuple[Question, ...] = (*reads, *writes)
    lost = [bad for each in asked if isinstance(bad := seen.answers[each], Bad) and bad.kind != "absent"]
    if lost or sum(isinstance(seen.answers[each], Good) for each in reads) > len(seen.replacements()):
        return Decision("trust_again", Hold(Reason.TRUST_INCOMPLETE, details=_unread(seen, reads)))
    return Decision("trusted", Hold(Reason.COMPLETE))


def _unread(seen: InjectionSnapshot, reads: tuple[Ask, ...]) -> tuple[tuple[str, str], ...]:
    """Why configurations could not be read; a write that fails has its own record."""
    found = (seen.answers[each] for each in reads)
    return tuple((seen.resource.kind, each.text) for each in found if isinstance(each, Bad) and each.kind != "absent")


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


def replaced(read: Ask, answer: Good | Bad, bundles: Mapping[str, str]) -> Replace | None:
    """The configuration as it was read, with the bundle in every entry; None: it is gone, or not what was seen."""
    assert isinstance(read.to, Read)  # noqa: S101  whoever asks for it reads
    tree = _tree(answer.value) if isinstance(answer, Good) else None
    if tree is None or tree["metadata"].get("uid") != read.to.ref.uid:
        return None
    entries = [entry for entry in tree["webhooks"] if entry["clientConfig"].get("caBundle", "") in bundles]
    if len(entries) != len(tree["webhooks"]):
        return None
    lacking = 0
    for entry in entries:
        held = entry["clientConfig"].get("caBundle", "")
        lacking += held != bundles[held]
        entry["clientConfig"]["caBundle"] = bundles[held]
    if not lacking:
        return None
    return Replace(
        ref=read.to.ref,
        does=Does.INJECT_CA,
        body=msgspec.json.encode(tree),
        resource_version=str(tree["metadata"]["resourceVersion"]),
        change_to=f"{lacking} of {len(entries)} entries",
        contested=True,
    )


class _Configuration(Struct, frozen=True):
    """What must be in one for it to be replaced."""

    metadata: dict[str, Any]
    webhooks: list[_Entry]


class _Entry(Struct, frozen=True, rename="camel"):
    client_config: dict[str, Any]


def _tree(body: bytes) -> dict[str, Any] | None:
    """None where it is no configuration; does a proxy answer in the API server's place?"""
    try:
        tree: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
        msgspec.convert(tree, _Configuration)
    except msgspec.MsgspecError:
        return None
    return tree if tree["metadata"].get("resourceVersion") else None

"""The look at a cluster before a definition changes: what is asked, page by page, and the findings that come of it.

What is found is decided by pure functions; here is only who is asked for what.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.converters import converters_of, kind_by
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.crd_versions import (
    client_of,
    name_of,
    owner_of,
    resource_of,
    served_versions,
    storage_version,
    strategy_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.lifecycle import Converters
from fairlead.contracts.apiversions.decide.preflight import cluster
from fairlead.contracts.apiversions.decide.preflight.definitions import (
    Check,
    Comparison,
    compared,
    gone_versions,
    merged,
    pruning,
)
from fairlead.contracts.apiversions.decide.preflight.findings import Finding
from fairlead.contracts.apiversions.decide.preflight.objects import CheckTally, ConversionTally
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.contracts.apiversions.kinds import CERTIFICATE_SECRET, HOME
from fairlead.contracts.apiversions.live_objects import PAGE, objects
from fairlead.contracts.apiversions.server_trials import ServerTrials
from fairlead.contracts.apiversions.uses import add_dependents
from fairlead.engine.certificates import pairs
from fairlead.engine.decide.conversion_probe import probed_versions
from fairlead.engine.decide.missing_rights import ACCESS_REVIEWS
from fairlead.engine.decide.registration import authority_of
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, NotFound
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import create, list_page

ADMISSION = tuple(
    Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for plural, kind in (
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    )
)


TRIES = 200


class LookTerms(Struct, frozen=True, kw_only=True):
    """How a look is taken."""

    page: int = PAGE
    tries: int = TRIES
    """Objects that are tried on the server in each version, converted; 0: none."""
    dependents: tuple[tuple[str, str], ...] = ()
    journal: str = ""


def without_cluster(live: Tree | None, new: Tree, rules: RuleSet | None) -> list[Finding]:
    """What two texts, or one, say by themselves."""
    comparison = _comparison(live, new)
    wanted = new if live is None else merged(live, new)
    kind, problems = _kind(rules, wanted)
    covered = None if rules is None else frozenset(kind.versions if kind is not None else ())
    return [
        *comparison.findings,
        *(each.finding for each in comparison.checks),
        *cluster.of_converters(wanted, Converters(rules=covered), problems),
    ]


async def look(client: Client, live: Tree | None, new: Tree, rules: RuleSet | None, terms: LookTerms) -> list[Finding]:
    """Everything about one definition; raises KubeError where the cluster does not answer."""
    if live is None:
        return [*without_cluster(None, new, rules), *await _permissions(client, new, terms)]
    wanted = merged(live, new)
    comparison = _comparison(live, new)
    kind, problems = _kind(rules, wanted)
    gone = gone_versions(comparison.findings)
    trials = ServerTrials(client, live, wanted, kind, most=terms.tries)
    walk = _Walk(client, live, comparison.checks, kind, trials, uses=bool(gone), page=terms.page)
    await walk.run()
    findings = [each for each in comparison.findings if each.code != "ServedVersionGone"]
    if gone:
        await add_dependents(walk.uses, client, live, named=terms.dependents, page=terms.page)
        findings += cluster.of_uses(gone, walk.uses, await _admission(client, live))
    converters = await converters_of(client, wanted, rules)
    walked = walk.findings()
    known = {(each.code, each.version) for each in walked}
    probed = [each for each in cluster.of_probes(live, walk.failures) if (each.code, each.version) not in known]
    return [
        *findings,
        *walked,
        *cluster.of_converters(wanted, converters, problems, live),
        *probed,
        *await _certificate(client, live),
        *await _permissions(client, new, terms),
    ]


def _comparison(live: Tree | None, new: Tree) -> Comparison:
    return Comparison((), tuple(pruning(new))) if live is None else compared(live, new)


def _kind(rules: RuleSet | None, definition: Tree) -> tuple[KindConversion | None, Sequence[str]]:
    if rules is None:
        return None, ()
    try:
        return kind_by(rules, definition), ()
    except RulesRejected as error:
        return None, error.problems


class _Walk:
    """Through the live objects, once in each version that something must be known of."""

    def __init__(
        self,
        client: Client,
        live: Tree,
        checks: Sequence[Check],
        kind: KindConversion | None,
        trials: ServerTrials,
        *,
        uses: bool,
        page: int,
    ) -> None:
        self._client, self._live, self._page = client, live, page
        self._storage = storage_version(live)
        self._trials = trials
        versions = dict.fromkeys(each.version for each in checks)
        self._tallies = {name: CheckTally([each for each in checks if each.version == name]) for name in versions}
        known = kind is not None and self._storage in kind.versions
        self._conversion = ConversionTally(name_of(live), kind, self._storage) if kind is not None and known else None
        self._counts = uses
        self.uses = Uses()
        self.failures: dict[str, str] = {}
        """By version: what the server said where it could not list."""

    async def run(self) -> None:
        for version in served_versions(self._live):
            is_storage = version == self._storage
            wanted = version in self._tallies or (is_storage and (self._conversion is not None or self._counts))
            try:
                if wanted:
                    await self._through(version, is_storage=is_storage)
                elif version in probed_versions(self._live) and strategy_of(self._live) == "Webhook":
                    await self._client.page(list_page(resource_of(self._live, version), limit=1), dict[str, Any])
            except ApiError as error:
                self.failures[version] = error.message or str(error)

    async def _through(self, version: str, *, is_storage: bool) -> None:
        tally = self._tallies.get(version)
        async for tree in objects(self._client, resource_of(self._live, version), page=self._page):
            if tally is not None:
                tally.see(tree)
            if is_storage:
                if self._conversion is not None:
                    self._conversion.see(tree, await self._trials.of(tree))
                if self._counts:
                    self.uses.see(tree["metadata"], self._live["spec"]["group"])

    def findings(self) -> list[Finding]:
        found = [] if self._conversion is None else [*self._conversion.findings()]
        hidden = {each for each in versions_of(self._live) if each not in served_versions(self._live)}
        for version, tally in self._tallies.items():
            why = self.failures.get(version, f"{version} is not served" if version in hidden else "")
            found += tally.findings(unlisted=why)
        return found


async def _admission(client: Client, live: Tree) -> Mapping[str, Sequence[str]]:
    configurations: list[Tree] = []
    for resource in ADMISSION:
        try:
            listed = await client.list(resource, dict[str, Any])
        except (Forbidden, NotFound):
            continue
        configurations += [{"kind": resource.kind, **each} for each in listed.items]
    return cluster.admission_names(configurations, live["spec"]["group"], live["spec"]["names"]["plural"])


async def _permissions(client: Client, new: Tree, terms: LookTerms) -> list[Finding]:
    journal = terms.journal or owner_of(new) or HOME
    refused = [each for each in cluster.permissions(new, journal) if not await _may(client, each)]
    return [*cluster.of_permissions(name_of(new), refused)]


async def _may(client: Client, wanted: cluster.Permission) -> bool:
    attributes = {key: value for key, value in msgspec.structs.asdict(wanted).items() if value}
    body = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.call(create(ACCESS_REVIEWS, "", msgspec.json.encode(body)))
    return bool((msgspec.json.decode(answer.body).get("status") or {}).get("allowed"))


async def _certificate(client: Client, live: Tree) -> list[Finding]:
    """Of a webhook behind a Service, from what is published and from the Secret beside it, where that may be read."""
    bundle = authority_of(live)
    if bundle is None:
        return []
    service = client_of(live).get("service") or {}
    ends = tuple(end for _, end in pairs.authorities(bundle))
    found = cluster.WebhookCertificate(bundle_ends=ends)
    served = await _served(client, str(service.get("namespace") or ""))
    if served is not None and (known := pairs.served_until(served)) is not None:
        trusted = pairs.is_trusted(served, bundle) if bundle else None
        found = cluster.WebhookCertificate(bundle_ends=ends, leaf_end=known[0], names=known[1], is_trusted=trusted)
    name = f"{service.get('name')}.{service.get('namespace')}.svc" if service else ""
    return [*cluster.of_certificate(live, name, found, clock.now())]


async def _served(client: Client, namespace: str) -> bytes | None:
    if not namespace:
        return None
    ref = Ref(SECRETS, namespace, CERTIFICATE_SECRET)
    try:
        found = await client.read(ref, dict[str, Any])
        return b64decode((found.get("data") or {}).get("tls.crt") or "")
    except (Forbidden, NotFound, ValueError):
        return None

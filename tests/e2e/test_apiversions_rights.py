"""Rights of section 2.7 that are missing, one at a time: people are told which, everything else goes on, and it ends
when the right is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from fairlead.contracts.apiversions.install.values import CHART
from fairlead.contracts.apiversions.kinds import CRD_OWNER
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.core.explain import Explain
from fairlead.engine.charts import data_of
from kubeloop import request
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting_operator import ConvertingOperator, rules_in_a_map
from tests.e2e.history import Tree
from tests.e2e.replicated_operator import SERVICE, Replica
from tests.e2e.roles import CLUSTER_ROLES, allow
from tests.e2e.service_proxy import ServiceProxy, a_pod
from tests.e2e.tellings import Tellings, tellings
from tests.e2e.widgets import Widgets, widgets

SECRET, POD = "fairlead-webhook-cert", "fairlead-0"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
STATUS = "customresourcedefinitions/status.apiextensions.k8s.io"
KIND = "WIDGETS"
"""Stands for the kind of the scenario."""
HOUR = 3600
CASES: list[tuple[str, str, str]] = [
    ("list", DEFINITIONS, "pod"),
    ("watch", DEFINITIONS, "pod"),
    ("get", DEFINITIONS, "crd"),
    ("patch", DEFINITIONS, "crd"),
    ("patch", STATUS, "crd"),
    ("list", KIND, "crd"),
    ("patch", KIND, "crd"),
    ("create", "leases.coordination.k8s.io", "pod"),
    ("get", "leases.coordination.k8s.io", "pod"),
    ("list", "configmaps", "pod"),
    ("watch", "configmaps", "pod"),
    ("create", "configmaps", "pod"),
    ("get", "secrets", "pod"),
    ("list", "secrets", "pod"),
    ("create", "secrets", "pod"),
    ("list", "endpointslices.discovery.k8s.io", "pod"),
    ("patch", "pods", "pod"),
]
"""What is missing, and what people are told about: the CRD, or the operator's pod."""
REAL = {("patch", DEFINITIONS), ("list", KIND), ("create", "configmaps")}


def title(verb: str, of: str) -> str:
    """As documents name the right."""
    return f"{verb}.{of}".replace("/", ":")


def granted(kind: Widgets) -> list[Tree]:
    """What the chart grants, and the rights for a kind that a rule set attaches and that is migrated."""
    roles: dict[str, list[Tree]] = data_of(CHART, "permissions.yaml", {"SECRET": SECRET})
    plurals, verbs = ["widgets", "widgets/status"], ["get", "list", "patch", "update", "watch"]
    own = {"apiGroups": [kind.group], "resources": plurals, "verbs": verbs}
    return [own, *(rule for each in ("manager", "own", "certificate") for rule in roles[each])]


def rules_without(rules: list[Tree], verb: str, of: str) -> Iterator[Tree]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                is_it = of == ".".join(filter(None, (resource, group)))
                verbs = [each for each in rule["verbs"] if not (is_it and each == verb)]
                if verbs:
                    yield {**rule, "apiGroups": [group], "resources": [resource], "verbs": verbs}


def test_one_right_is_taken_away_and_no_other() -> None:
    rules: list[Tree] = [{"apiGroups": ["", "a.test"], "resources": ["pods", "things"], "verbs": ["get", "list"]}]

    left = list(rules_without(rules, "get", "things.a.test"))

    assert [(*each["apiGroups"], *each["resources"], *each["verbs"]) for each in left] == [
        ("", "pods", "get", "list"),
        ("", "things", "get", "list"),
        ("a.test", "pods", "get", "list"),
        ("a.test", "things", "list"),
    ]


class Scene:
    """A CRD that is to be attached and migrated, and an operator who lacks one right."""

    def __init__(self, site: Site, kind: Widgets) -> None:
        self.site, self.kind = site, kind
        self.user = f"fairlead-{site.namespace}"
        given = ApiVersionsSettings(service_name="fairlead", service_namespace=site.namespace, pod_name=POD)
        self.operator = ConvertingOperator(site, given)

    async def begin(self, verb: str, of: str) -> None:
        await a_pod(self.site, POD)
        await self.kind.define("v1", "v2", storage="v2")
        for number in range(3):
            await self.kind.make(f"w-{number}", "v2", size=number)
        await rules_in_a_map(self.site, {**self.kind.rules(), "attach": True})
        mixed = msgspec.json.encode({"status": {"storedVersions": ["v1", "v2"]}})
        definition = Ref(CUSTOM_RESOURCES, "", self.kind.name)
        await self.site.client.call(request.patch(definition, MERGE_PATCH, mixed, "status"))
        rules = list(rules_without(granted(self.kind), verb, of))
        await allow(self.site, self.user, rules, everywhere=True)
        self.site.start_operator(self.operator, self.user)

    async def own(self) -> None:
        """From now on what is stored of it is the operator's to move."""
        body = msgspec.json.encode({"metadata": {"annotations": {CRD_OWNER: self.site.namespace}}})
        await self.site.client.call(request.patch(Ref(CUSTOM_RESOURCES, "", self.kind.name), MERGE_PATCH, body))

    async def grant(self) -> None:
        body = msgspec.json.encode({"rules": granted(self.kind)})
        await self.site.client.call(request.patch(Ref(CLUSTER_ROLES, "", self.user), MERGE_PATCH, body))

    async def is_attached_and_migrated(self) -> bool:
        """All that an operator with its rights does."""
        tree = await self.kind.live_definition()
        is_ours = tree["spec"].get("conversion", {}).get("strategy") == "Webhook"
        return is_ours and bool(tree["status"]["storedVersions"] == ["v2"])

    def is_missing(self, verb: str, of: str) -> bool:
        return self.operator.sample("fairlead_right_missing", verb=verb, resource=of) == 1

    def is_blocked(self, verb: str, of: str) -> bool:
        labels = {"part": "rights", "namespace": self.site.namespace, "reason": "RightMissing"}
        return self.operator.sample("fairlead_rollout_blocked", rollout=title(verb, of), **labels) == 1

    def asked(self) -> int:
        """How often the API server was asked about rights."""
        families = self.operator.metrics.registry.collect()
        found = (
            each for family in families for each in family.samples if each.name.endswith("_duration_seconds_count")
        )
        return sum(int(each.value) for each in found if "selfsubjectaccessreviews" in each.labels.get("path", ""))

    async def shown(self, verb: str, of: str) -> Explain | None:
        """The operator's word about the right."""
        manager = self.operator.manager
        if manager is None:
            return None
        report = await manager.report("fairlead", [self.site.namespace])
        return next((each for each in report.items if (each.noun, each.rollout) == ("right", title(verb, of))), None)

    async def told(self, since: Tellings, verb: str, of: str) -> Tree | None:
        wanted = f"the operator may not {verb} {of}"
        return next((each for each in await since.all("RightMissing") if wanted in each["note"]), None)


async def meets(site: Site, verb: str, of: str, about: str) -> None:
    kind = widgets(site)
    of = kind.name if of == KIND else of
    scene, since = Scene(site, kind), await tellings(site)
    await scene.begin(verb, of)
    await scene.own()

    await site.until(lambda: scene.is_missing(verb, of), every=0.1)
    await site.until(lambda: scene.is_blocked(verb, of), every=0.1)
    shown = await site.until(lambda: scene.shown(verb, of), every=0.1)
    event = await site.until(lambda: scene.told(since, verb, of), every=0.1)

    assert shown is not None
    assert event is not None
    assert shown.outcome == "blocked"
    (block,) = shown.blocked_by
    assert f"the operator may not {verb} {of}" in block.text
    assert f"grant {verb} of {of}" in block.text
    assert event["type"] == "Warning"
    involved = event["regarding"]
    expected = ("CustomResourceDefinition", kind.name) if about == "crd" else ("Pod", POD)
    assert (involved["kind"], involved["name"]) == expected
    assert not [each for level, *each in scene.operator.log.records if level == "error"]

    await scene.grant()

    async def is_over() -> bool:
        is_told = scene.is_missing(verb, of) or scene.is_blocked(verb, of)
        return not is_told and await scene.shown(verb, of) is None

    await site.until(is_over, within=120, every=0.2)
    await site.until(scene.is_attached_and_migrated, within=600, every=0.5)


def named(case: tuple[str, str, str]) -> str:
    return f"{case[0]} {case[1].partition('.')[0]}"


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("case", CASES, ids=named)
async def test_a_right_that_is_missing_is_told_until_it_is_there(site: Site, case: tuple[str, str, str]) -> None:
    """Section 2.7."""
    await meets(site, *case)


@everywhere(controllers=False, on=("real",))
@pytest.mark.parametrize("case", [each for each in CASES if each[:2] in REAL], ids=named)
async def test_a_real_server_is_told_of_alike(site: Site, case: tuple[str, str, str]) -> None:
    await meets(site, *case)


@everywhere(controllers=False, on=("sim",))
async def test_one_right_that_many_objects_lack_is_told_in_one_sentence_ever_less_often_and_forgotten_with_them(
    site: Site,
) -> None:
    """Section 2.7: a migration that is tried every six hours misses it for each object in turn."""
    kind = widgets(site)
    scene, since = Scene(site, kind), await tellings(site)
    await scene.begin("patch", kind.name)
    await scene.own()
    await site.until(lambda: scene.is_blocked("patch", kind.name), every=0.1)
    before = scene.asked()

    await asyncio.sleep(7 * HOUR)

    notes = {each["note"] for each in await since.all("RightMissing")}
    assert len(notes) == 1
    assert 7 * 12 - 12 <= scene.asked() - before <= 7 * 12 + 12

    for name in await kind.all("v2"):
        await kind.delete(name, "v2")
    await asyncio.sleep(16 * HOUR)
    assert scene.is_missing("patch", kind.name)

    def is_over() -> bool:
        return not scene.is_missing("patch", kind.name) and not scene.is_blocked("patch", kind.name)

    await site.until(is_over, within=9 * HOUR, every=600)


@everywhere(controllers=False, on=("sim",))
async def test_a_replica_that_may_not_hold_its_lease_says_so_by_its_metric_and_leads_once_it_may(site: Site) -> None:
    """Section 2.7: nobody leads, so that nothing else can be told."""
    kind, proxy = widgets(site), ServiceProxy(site, SERVICE)
    await proxy.start()
    replica = Replica(site, proxy, 1)
    await a_pod(site, replica.endpoint.pod)
    user, of = f"fairlead-{site.namespace}", "leases.coordination.k8s.io"
    await allow(site, user, list(rules_without(granted(kind), "create", of)), everywhere=True)
    site.start_operator(replica, user)

    def lacks_it() -> bool:
        return replica.sample("fairlead_right_missing", verb="create", resource=of) == 1

    await site.until(lacks_it, every=0.1)
    manager = replica.manager
    assert manager is not None
    assert not manager.leading.is_set()

    body = msgspec.json.encode({"rules": granted(kind)})
    await site.client.call(request.patch(Ref(CLUSTER_ROLES, "", user), MERGE_PATCH, body))

    await site.until(manager.leading.is_set, within=120, every=0.1)
    assert not lacks_it()

"""A cluster in memory whose rollout is routed: a route with versions, and Services that have the pods of workloads.

After every write it is judged from outside whether a Service that gets requests has pods to answer them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.traffic.dialects import DIALECTS
from fairlead.contracts.plans.decide.traffic.split import weights_of
from fairlead.contracts.plans.kinds import Json
from fairlead.core.act import AnyWrite, Create, Does, Patch, PatchKind
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision
from kubeloop.objects.core import SERVICES as SERVICES_KIND
from kubeloop.objects.meta import Resource, ServedVersion
from kubesim.patches.patch import reader
from tests.contracts.plans.decide.cluster import Cluster
from tests.contracts.plans.decide.traffic.routes import PAIR, backend, one_entry
from tests.contracts.plans.decide.workloads.objects import merged

SERVICES = {"shop-v1": "d1", "shop-v2": "d2"}
PLURALS = {"HTTPRoute": "httproutes", "VirtualService": "virtualservices", "TrafficSplit": "trafficsplits"}


class _Refused(Exception):
    def __init__(self, write: AnyWrite) -> None:
        super().__init__(write)
        self.write = write


class RoutedCluster(Cluster):
    def __init__(self, plan: Json, *, provider: str = "gatewayapi", **fields: Any) -> None:
        self.dialect = DIALECTS[provider]
        routing = {
            "provider": provider,
            "ingressRef": {"name": "shop"},
            "sourceService": "shop-v1",
            "targetService": "shop-v2",
        }
        super().__init__({"trafficRouting": routing, **plan}, **fields)
        self.versions = self.dialect.versions
        """In which the kind of the route is served."""
        self.route: Json | None = one_entry(self.dialect, backend(self.dialect, "shop-v1", 100))
        self.route_namespace = "ns"
        """Where it is asked for."""
        self.selectors: dict[str, Json | None] = {name: {"app": app} for name, app in SERVICES.items()}
        """Of the Services that are there."""
        self.refusal: Bad | None = None
        """What the API server says to every change of the route."""
        self.silent: set[str] = set()
        """Services of which no endpoint is known, whatever pods there are."""
        self.shares: list[tuple[int, ...]] = []
        """What the target got after each write of the route."""
        self._tried: dict[Question, Answer] = {}
        self.lost: list[str] = []
        """Each write after which a Service gets requests and has no pods."""

    def exchange(self) -> None:
        """Target and source of the plan, with their Services."""
        routing = self.plan["trafficRouting"]
        turned = {"sourceService": routing["targetService"], "targetService": routing["sourceService"]}
        self.change(
            targetRef=self.spec["sourceRef"][0],
            sourceRef=[self.spec["targetRef"]],
            rolloutPlan={**self.plan, "trafficRouting": {**routing, **turned}},
        )

    @property
    def share(self) -> tuple[int, ...]:
        """Of shop-v2, in each entry."""
        assert self.route is not None
        found = weights_of(self.dialect, self.route, PAIR)
        assert isinstance(found, tuple), found
        return found

    def _answered(self, need: Need) -> Iterator[tuple[Question, Answer]]:
        for stage in need.stages:
            for question in stage:
                assert isinstance(question, Ask)
                match question.to:
                    case Discover():
                        yield question, Good(msgspec.json.encode([*self._served()]))
                    case Read() if question.to.ref.resource == SERVICES_KIND:
                        yield question, self._service(question.to.ref.name)
                    case Read():
                        assert (question.to.ref.namespace, question.to.ref.name) == (self.route_namespace, "shop")
                        yield question, Bad("absent") if self.route is None else Good(msgspec.json.encode(self.route))
                    case Listing():
                        yield question, Good(msgspec.json.encode(self._slices(question.to.labels)))
                    case _:
                        yield from super()._answered(Need(((question,),)))

    def _service(self, name: str) -> Answer:
        if name not in self.selectors:
            return Bad("absent")
        return Good(msgspec.json.encode({"spec": {"selector": self.selectors[name]}}))

    def _served(self) -> Iterator[ServedVersion]:
        for version in self.versions:
            yield ServedVersion(Resource(self.dialect.group, version, PLURALS[self.dialect.kind], self.dialect.kind))

    def _slices(self, labels: str) -> Json:
        service = labels.removeprefix("kubernetes.io/service-name=")
        ready = 0 if service in self.silent else self._ready(service)
        dead = {"addresses": ["10.0.0.9"], "conditions": {"ready": False}}
        alive = [{"addresses": [f"10.0.0.{each}"], "conditions": {"ready": True}} for each in range(ready)]
        return {"metadata": {}, "items": [{"endpoints": [dead, *alive]}, {"endpoints": None}]}

    def _ready(self, service: str) -> int:
        """Pods that were ready and are still wanted."""
        tree = self.tree(SERVICES[service])
        return int(min(tree["status"]["readyReplicas"], tree["spec"]["replicas"]))

    def run(self) -> Decision:
        """A refused write is decided on again, as the engine does."""
        self._tried = {}
        try:
            return super().run()
        except _Refused as refused:
            assert self.refusal is not None
            self._tried = {refused.write: self.refusal}
            return super().run()

    def seen(self, answers: Answers) -> TraitSeen:
        return super().seen(Answers({**self._tried, **answers.known}))

    def _write(self, write: AnyWrite) -> None:
        if self.refusal is not None and write.does is Does.ROUTE_TRAFFIC:
            raise _Refused(write)
        match write:
            case Create():
                assert self.route is None
                self.version += 1
                metadata = {"name": write.name, "namespace": write.namespace, "uid": "uid-shop"}
                self.route = {**msgspec.json.decode(write.body), "metadata": self._versioned(metadata)}
            case Patch() if write.does is Does.ROUTE_TRAFFIC:
                assert self.route is not None
                assert write.resource_version == self.route["metadata"]["resourceVersion"]
                patched = reader(PatchKind.JSON.value, write.body)(self.route)
                self.route = {**patched, "metadata": self._versioned(patched["metadata"])}
            case _:
                super()._write(write)
                self._judge(write)
                return
        assert write.refusable
        self.shares.append(self.share)
        self._judge(write)

    def _versioned(self, metadata: Json) -> Json:
        self.version += 1
        return {**metadata, "resourceVersion": str(self.version)}

    def _judge(self, write: AnyWrite) -> None:
        is_usable = isinstance(weights_of(self.dialect, self.route or {}, PAIR), tuple)
        for weight in self.share if is_usable else ():
            for service, share in (("shop-v1", 100 - weight), ("shop-v2", weight)):
                if share and not self._ready(service):
                    self.lost.append(f"{service} gets {share} after {write.does.value} {write.change_to}")


def a_routed_pair(plan: Json | None = None, old: int = 5, **fields: Any) -> RoutedCluster:
    batches = [{"replicas": 1}, {"replicas": 2}, {"replicas": 2}]
    cluster = RoutedCluster({"rolloutBatches": batches, **(plan or {})}, **fields)
    cluster.add_deployment("d1", old)
    cluster.add_deployment("d2", 0, paused=True)
    for name in ("d1", "d2"):
        resource, tree = cluster.objects[name]
        cluster.put(resource, merged(tree, {"spec": {"template": {"metadata": {"labels": {"app": name}}}}}))
    return cluster

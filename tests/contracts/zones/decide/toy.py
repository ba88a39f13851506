"""A toy cluster of values: just enough of a StatefulSet controller and a kubelet to play decisions to their end.

Pods are seen as they are; a StatefulSet's status only when `report` says so, as late as the test likes. Every change
goes to a Witness.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.zones.decide import Snapshot
from fairlead.core.act import Delete, Replace
from fairlead.core.decision import Decision, Move
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import ContainerStatus, Pod
from tests.builders import GROUP, NAMESPACE, NOW, RUNNING, STARTING, a_pod, body_of
from tests.contracts.zones.decide.judging import settled
from tests.invariants import Event, Tree, Witness

OPERATOR = "operator"


class Toy:
    def __init__(self, *zones: StatefulSet) -> None:
        self.zones = {zone.metadata.name: zone for zone in zones}
        self.template = {zone.metadata.name: zone.status.update_revision for zone in zones}
        self.pods: dict[str, Pod] = {}
        self.witness = Witness(lambda by: by == OPERATOR)
        self._count = 0
        for zone in zones:
            self._tell("statefulsets", "ADDED", zone)
        for zone in zones:
            for ordinal in range(zone.spec.replicas):
                self._put(a_pod(zone, ordinal, zone.status.current_revision), "test")

    def seen(self) -> Snapshot:
        return Snapshot(NAMESPACE, GROUP, tuple(self.zones.values()), tuple(self.pods.values()))

    def decide(self) -> Decision:
        """Decides and carries out."""
        decision = settled(self.seen(), NOW)
        for write in decision.verdict.writes if isinstance(decision.verdict, Move) else ():
            match write:
                case Delete(ref=ref):
                    pod = self.pods[ref.name]
                    assert pod.metadata.uid == ref.uid
                    self.witness.asked_to_delete(NAMESPACE, ref.name)
                    self._put(_with_meta(pod, deletion_timestamp=NOW), OPERATOR)
                case Replace(ref=ref, body=body, resource_version=version):
                    assert self.zones[ref.name].metadata.resource_version == version
                    self._put_zone(msgspec.json.decode(body, type=StatefulSet), OPERATOR)
        return decision

    def change_template(self, name: str, revision: str) -> None:
        zone = self.zones[name]
        self.template[name] = revision
        metadata = msgspec.structs.replace(zone.metadata, generation=zone.metadata.generation + 1)
        self._put_zone(msgspec.structs.replace(zone, metadata=metadata), "test")

    def report(self, name: str) -> None:
        """The StatefulSet controller writes what it sees into the status."""
        zone = self.zones[name]
        pods = [pod for pod in self.pods.values() if pod.metadata.controller_uid == zone.metadata.uid]
        status = msgspec.structs.replace(
            zone.status,
            observed_generation=zone.metadata.generation,
            replicas=len(pods),
            ready_replicas=sum(_is_running(pod) for pod in pods),
            update_revision=self.template[name],
        )
        if status != zone.status:
            self._put_zone(msgspec.structs.replace(zone, status=status), "statefulset-controller")

    def create(self, name: str) -> None:
        """The StatefulSet controller makes the pods that are missing, of the template's revision."""
        zone = self.zones[name]
        for ordinal in range(zone.spec.replicas):
            if f"{name}-{ordinal}" not in self.pods:
                pod = a_pod(zone, ordinal, self.template[name], state="notReady")
                self._count += 1
                self._put(_with_meta(pod, uid=f"uid-{self._count}"), "statefulset-controller")

    def remove(self, name: str) -> None:
        """The kubelet lets a terminating pod go."""
        pod = self.pods.get(name)
        if pod is not None and pod.metadata.deletion_timestamp is not None:
            del self.pods[name]
            self._tell("pods", "DELETED", pod, "kubelet")

    def start(self, name: str) -> None:
        """The kubelet makes a pod ready."""
        self._contain(name, RUNNING)

    def crash(self, name: str) -> None:
        self._contain(name, STARTING)

    def _contain(self, name: str, container: ContainerStatus) -> None:
        pod = self.pods.get(name)
        if pod is not None and pod.status.container_statuses != (container,):
            status = msgspec.structs.replace(pod.status, container_statuses=(container,))
            self._put(msgspec.structs.replace(pod, status=status), "kubelet")

    def tidy(self) -> None:
        """Controller and kubelet do all there is to do."""
        for name in list(self.pods):
            self.remove(name)
        for zone in self.zones:
            self.create(zone)
        for name in self.pods:
            self.start(name)
        for zone in self.zones:
            self.report(zone)

    def _put(self, pod: Pod, by: str) -> None:
        known = pod.metadata.name in self.pods
        self.pods[pod.metadata.name] = pod
        self._tell("pods", "MODIFIED" if known else "ADDED", pod, by)

    def _put_zone(self, zone: StatefulSet, by: str) -> None:
        self._count += 1
        metadata = msgspec.structs.replace(zone.metadata, resource_version=f"r{self._count}")
        zone = msgspec.structs.replace(zone, metadata=metadata)
        self.zones[zone.metadata.name] = zone
        self._tell("statefulsets", "MODIFIED", zone, by)

    def _tell(self, resource: str, kind: str, thing: Pod | StatefulSet, by: str = "test") -> None:
        self.witness.see(Event(resource, kind, tree_of(thing), by))


def tree_of(thing: Pod | StatefulSet) -> Tree:
    body = body_of(thing) if isinstance(thing, StatefulSet) else msgspec.json.encode(thing)
    return msgspec.json.decode(body, type=dict[str, object])


def _with_meta(pod: Pod, **changes: object) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **changes))


def _is_running(pod: Pod) -> bool:
    return pod.status.container_statuses == (RUNNING,) and pod.metadata.deletion_timestamp is None

"""The ideal deleter: the least that a correct zone operator must do, and nothing else.

    python -m bench.ideal --kubeconfig FILE -n NAMESPACE

One watch on pods, one on StatefulSets. On every event it looks at the group concerned and deletes as many outdated pods
of the first unfinished zone as the budget leaves room for. A pod that it deleted is out from that moment on, whatever
its watch still shows; that alone makes it safe. It writes no status, no events, no metrics and holds no lease, so what
it takes is the share of the machine and of the cluster, and what an operator takes beyond it is the operator's own.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from bench.following import main
from bench.narrow import Line, Pod, StatefulSet, pod_line, pods_in, statefulset_line, statefulsets_in
from bench.watching import answered, changes, present
from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE
from fairlead.core.ordinals import natural_key
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete


class Ideal:
    """What is seen, and the pods that are to go next."""

    def __init__(self) -> None:
        self.zones: dict[str, dict[str, StatefulSet]] = defaultdict(dict)
        """By group and name."""
        self.pods: dict[str, dict[str, Pod]] = defaultdict(dict)
        """By zone and name."""
        self.group_of: dict[str, str] = {}
        self.doomed: set[str] = set()
        """UIDs of pods that were deleted here and are not seen as terminating yet."""

    def see_zone(self, zone: StatefulSet) -> str:
        """Takes in a StatefulSet; answers with its group."""
        group = zone.metadata.labels.get(GROUP_LABEL, "")
        self.zones[group][zone.metadata.name] = zone
        self.group_of[zone.metadata.name] = group
        return group

    def see_pod(self, line: Line[Pod]) -> str:
        """Takes in a change of a pod; answers with its group."""
        pod = line.object
        if line.type == "DELETED":
            self.pods[pod.zone].pop(pod.metadata.name, None)
            self.doomed.discard(pod.metadata.uid)
        else:
            self.pods[pod.zone][pod.metadata.name] = pod
            if pod.is_terminating:
                self.doomed.discard(pod.metadata.uid)
        return self.group_of.get(pod.zone, "")

    def take(self, group: str) -> list[Pod]:
        """The pods of the group to delete now; they count as out from here on."""
        zones = [zone for _, zone in sorted(self.zones.get(group, {}).items())]
        if any(zone.status.observed_generation < zone.metadata.generation for zone in zones):
            return []
        disturbed = [zone for zone in zones if self.out(zone)]
        if len(disturbed) > 1:
            return []
        for zone in disturbed or zones:
            if outdated := self.outdated(zone):
                budget = int(zone.metadata.annotations.get(MAX_UNAVAILABLE, "1"))
                chosen = outdated[: max(0, budget - self.out(zone))]
                self.doomed.update(pod.metadata.uid for pod in chosen)
                return chosen
        return []

    def out(self, zone: StatefulSet) -> int:
        """How many pods are missing, not ready, terminating or deleted here."""
        pods = self.pods[zone.metadata.name].values()
        return zone.spec.replicas - sum(pod.is_ready and pod.metadata.uid not in self.doomed for pod in pods)

    def outdated(self, zone: StatefulSet) -> list[Pod]:
        """Pods of another revision that nobody deleted yet, lowest ordinal first."""
        pods = [
            pod
            for pod in self.pods[zone.metadata.name].values()
            if pod.revision != zone.status.update_revision
            and not pod.is_terminating
            and pod.metadata.uid not in self.doomed
        ]
        return sorted(pods, key=lambda pod: natural_key(pod.metadata.name))


async def follow(transport: HttpTransport, namespace: str) -> None:
    """Until cancelled."""
    ideal = Ideal()
    zones = statefulsets_in(await present(transport, STATEFULSETS, namespace))
    pods = pods_in(await present(transport, PODS, namespace))
    for zone in zones.items:
        ideal.see_zone(zone)
    for pod in pods.items:
        ideal.see_pod(Line("ADDED", pod))

    async with asyncio.TaskGroup() as tasks:

        def act(group: str) -> None:
            for pod in ideal.take(group):
                ref = Ref(PODS, namespace, pod.metadata.name, pod.metadata.uid)
                tasks.create_task(answered(transport, delete(ref)))

        async def watch_zones() -> None:
            version = zones.metadata.resource_version
            async for line in changes(transport, STATEFULSETS, namespace, version, statefulset_line):
                act(ideal.see_zone(line.object))

        async def watch_pods() -> None:
            async for line in changes(transport, PODS, namespace, pods.metadata.resource_version, pod_line):
                act(ideal.see_pod(line))

        tasks.create_task(watch_zones())
        tasks.create_task(watch_pods())
        print("ready", flush=True)
        for group in sorted(ideal.zones):
            act(group)


if __name__ == "__main__":
    main("bench.ideal", "Deletes outdated pods, zone by zone.", follow)

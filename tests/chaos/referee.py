"""Judges downscales and evictions: S9 to S14 and S16, from what was stored, asked of webhooks and heard by pods.

What it excuses is what the contract excuses, and nothing else:
- S9: the window of H-4, and the time that the API server has between a review and the storing of what it allowed.
- S10, S14: a Scale whose StatefulSet the webhook could not read is allowed with a warning (section 3.10 step 5,
  section 3.11 step 3).
- S11: an operator that was killed cannot undo; the one after it does when no request can be under way any more.
- S16: what happened while an eviction was reviewed, and the eviction of a pod that serves nobody (Z3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fairlead.contracts.zones.kinds import DELAY, DELAY_URL, GROUP_LABEL, NO_DOWNSCALE, PREPARE_DOWNSCALE
from kubeloop.durations import parse_go
from kubesim.admission.questions import REQUEST_SECONDS
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests import invariants
from tests.chaos import door
from tests.chaos.door import Door, Reviewed
from tests.chaos.endpoints import DELAYED, PREPARE, Heard, Pods
from tests.chaos.judge import Judge
from tests.chaos.seen import Key, Zone, wanted

REPEATED_WITHIN = 30.0
GOING = ("Succeeded", "Failed", "Pending")


class Group(Protocol):
    """What must be known of a group."""

    @property
    def least(self) -> str: ...
    @property
    def budget(self) -> str: ...
    @property
    def most(self) -> int: ...


class Referee:
    def __init__(
        self, judge: Judge, pods: Pods, reviews: Door, group: Callable[[str], Group], now: Callable[[], float]
    ) -> None:
        self.downscales: list[tuple[float, str, int, int]] = []
        """When which zone was scaled down, with both numbers."""
        self.evictions: list[str] = []
        """Pods that were evicted."""
        self._judge = judge
        self._pods = pods
        self._door = reviews
        self._group = group
        self._now = now
        self._last: dict[str, dict[str, float]] = {}
        """By group and zone: when it was last scaled down with preparation."""
        self._evicted: dict[Key, str] = {}
        """Pods that were evicted and have not been ready since, with their UID."""
        self._down: dict[str, dict[str, set[tuple[str, str]]]] = {}
        """By review of an eviction and zone: pods that were down when it began, with their UID."""
        reviews.begins = self._begins
        reviews.ends = self._ends

    def see(self, entry: Entry) -> None:
        """A write was carried out; the truth is still that before it."""
        self._settle()
        if entry.resource.plural == "statefulsets" and entry.type == "MODIFIED":
            self._see_zone(entry)
        elif entry.resource.plural == "pods":
            self._see_pod(entry)

    def conclude(self) -> None:
        """When all is over: S11, B-4, and S13 once more."""
        for review in self._door.reviews:
            if review.path == door.PREPARE_DOWNSCALE and review.allowed is False and not review.by.wire.is_dead:
                self._check_undone(review)
            elif review.path == door.PREPARE_DOWNSCALE and review.allowed and not review.is_dry_run:
                self._check_not_taken_back(review)
            self._check_dry_run(review)

    # Downscales.

    def _see_zone(self, entry: Entry) -> None:
        old, new = entry.old, entry.new
        if old is None:
            return
        had, has = old["spec"].get("replicas", 1), new["spec"].get("replicas", 1)
        if has >= had:
            return
        zone, labels = entry.name, old["metadata"].get("labels") or {}
        self.downscales.append((self._now(), zone, had, has))
        if labels.get(NO_DOWNSCALE) == "true" and not self._is_excused(entry, door.NO_DOWNSCALE, has):
            self._broken("S14", f"{zone} was scaled down by {entry.user} from {had} to {has} in spite of its label")
        if labels.get(PREPARE_DOWNSCALE) == "true" and not self._is_excused(entry, door.PREPARE_DOWNSCALE, has):
            self._check_prepared(entry, had, has)
            self._check_spacing(zone, labels.get(GROUP_LABEL, ""))
        if entry.user.startswith("operator-"):
            self._check_delay(entry, old, had, has)

    def _reviews_of(self, entry: Entry, path: str, replicas: int) -> list[Reviewed]:
        """Those that allowed this very change of this very version of a zone."""
        old = entry.event.old
        assert old is not None
        return [
            each
            for each in self._door.reviews
            if (each.path, each.name, each.allowed, each.is_dry_run) == (path, entry.name, True, False)
            and (each.old_version, each.replicas[1]) == (str(old.revision), replicas)
        ]

    def _is_excused(self, entry: Entry, path: str, replicas: int) -> bool:
        return any(
            each.warned and each.doing in each.by.wire.unread for each in self._reviews_of(entry, path, replicas)
        )

    def _check_prepared(self, entry: Entry, had: int, has: int) -> None:
        gone = {f"{entry.name}-{ordinal}" for ordinal in range(has, had)}
        found = self._reviews_of(entry, door.PREPARE_DOWNSCALE, has)
        if not any(gone <= self._prepared_in(each) for each in found):
            said = [sorted(self._prepared_in(each)) for each in found]
            self._broken("S10", f"{entry.name} lost {sorted(gone)}, but reviews prepared {said or 'nothing'}")

    def _prepared_in(self, review: Reviewed) -> set[str]:
        """Pods that answered with success before the review did."""
        end = review.ended
        return {
            heard.pod
            for heard in self._heard(review, "POST")
            if heard.status is not None and 200 <= heard.status < 300 and end is not None
            if heard.answered is not None and heard.answered <= end
        }

    def _heard(self, review: Reviewed, method: str) -> list[Heard]:
        return [
            heard
            for heard in self._pods.heard
            if (heard.doing, heard.method, heard.path) == (review.doing, method, PREPARE)
        ]

    def _check_spacing(self, zone: str, group: str) -> None:
        least = self._group(group).least
        if not group or not least:
            return
        last, minimum, now = self._last.setdefault(group, {}), parse_go(least), self._now()
        apart = minimum - min(REPEATED_WITHIN, minimum / 2) - REQUEST_SECONDS
        for other, at in last.items():
            if other != zone and now - at < apart:
                self._broken("S9", f"{zone} was scaled down {now - at:g} s after {other}, and {least} is the least")
        last[zone] = now

    def _check_delay(self, entry: Entry, old: Tree, had: int, has: int) -> None:
        annotations = old["metadata"].get("annotations") or {}
        if not annotations.get(DELAY) or not annotations.get(DELAY_URL):
            return
        scale = self._judge.scales[entry.user, (entry.namespace, entry.name)]
        calls = [heard for heard in self._pods.heard if (heard.doing, heard.path) == (scale.by, DELAYED)]
        for ordinal in range(has, had):
            pod = f"{entry.name}-{ordinal}"
            said = [heard.said for heard in calls if (heard.pod, heard.method, heard.status) == (pod, "POST", 200)]
            if not said or not said[-1] or scale.at - said[-1] < parse_go(annotations[DELAY]):
                self._broken("S12", f"{entry.name} went from {had} to {has}; in that pass {pod} said {said}")

    def _check_undone(self, review: Reviewed) -> None:
        if not self._heard(review, "POST"):
            return
        had, has = review.replicas
        told = {heard.pod for heard in self._heard(review, "DELETE")}
        if missing := {f"{review.name}-{ordinal}" for ordinal in range(has, had)} - told:
            self._broken("S11", f"the downscale of {review.name} was denied and {sorted(missing)} were not told")

    def _check_not_taken_back(self, review: Reviewed) -> None:
        """B-4: a denial that was answered before this review began undoes nothing of it."""
        over = {each.doing for each in self._door.reviews if each.ended is not None and each.ended <= review.begun}
        for post in self._heard(review, "POST"):
            for heard in self._pods.heard:
                if (heard.pod, heard.path, heard.method) != (post.pod, PREPARE, "DELETE") or heard.doing not in over:
                    continue
                if heard.answered is not None and post.answered is not None and heard.answered > post.answered:
                    self._broken("B-4", f"{post.pod} was prepared for {review.name}; an earlier denial took it back")

    def left_prepared(self) -> list[str]:
        """Pods that are wanted and yet ready to leave for good, though there was a note of it."""
        zones = self._judge.truth.statefulsets.values()
        names = [f"{zone.metadata.name}-{ordinal}" for zone in zones for ordinal in range(zone.spec.replicas)]
        return [name for name in names if self._pods.is_ready_to_leave(name) and name not in self._judge.unnoted]

    def _check_dry_run(self, review: Reviewed) -> None:
        if review.is_dry_run and (done := review.by.wire.effects_of.get(review.doing)):
            self._broken("S13", f"a dry run of {review.path} for {review.name} left {done}")

    # Evictions.

    def _begins(self, review: Reviewed) -> None:
        if review.path == door.EVICTION:
            self._down[review.doing] = self._down_now(review.request["namespace"])

    def _ends(self, review: Reviewed) -> None:
        self._check_dry_run(review)
        if review.path == door.EVICTION and review.allowed and not review.is_dry_run:
            self._check_allowed(review, self._down.pop(review.doing))

    def _down_now(self, namespace: str) -> dict[str, set[tuple[str, str]]]:
        """By zone: pods that are not ready or missing, with their UID."""
        return {zone.name: self._with_uid(zone) for zone in self._judge.truth.zones(namespace)}

    def _with_uid(self, zone: Zone) -> set[tuple[str, str]]:
        uids = {pod.metadata.name: pod.metadata.uid for pod in zone.pods}
        return {(name, uids.get(name, "")) for name in zone.down}

    def _check_allowed(self, review: Reviewed, before: dict[str, set[tuple[str, str]]]) -> None:
        """Whether it was down from the beginning of a review to its end counts, since all is read in between."""
        namespace, name = review.request["namespace"], review.name
        pod = self._judge.truth.pods.get((namespace, name))
        if pod is None or any(name == each for down in before.values() for each, _ in down):
            return  # it may have been one that serves nobody
        now = self._down_now(namespace)
        down = {zone: {each for each, _ in now[zone] & before.get(zone, set())} for zone in now}
        self._check_budget("was let go", namespace, name, down)

    def _check_budget(self, what: str, namespace: str, name: str, down: dict[str, set[str]]) -> None:
        """S16, given what is down by zone besides this pod."""
        own = name.rpartition("-")[0]
        group = self._group_of(namespace, own)
        if group is None:
            return
        plan = self._group(group)
        zones = self._judge.truth.group(namespace, group)
        others = {zone: set(down.get(zone, ())) for zone in zones if zone != own}
        if plan.budget == "partition":
            ordinal = name.rpartition("-")[2]
            peers = [each for names in others.values() for each in names if each.rpartition("-")[2] == ordinal]
            if len(peers) >= plan.most:
                self._broken("S16", f"{name} {what} while {peers} of its partition were down")
        elif plan.budget == "zone":
            if disturbed := {zone: sorted(names) for zone, names in others.items() if names}:
                self._broken("S16", f"{name} {what} while {disturbed} were down")
            mine = set(down.get(own, ())) | {name}
            if len(mine) > plan.most:
                self._broken("S16", f"{name} {what} while {sorted(mine)} of its zone were down")

    def _see_pod(self, entry: Entry) -> None:
        key, old = (entry.namespace, entry.name), self._judge.truth.pods.get((entry.namespace, entry.name))
        fresh = old is not None and old.metadata.deletion_timestamp is None
        if entry.subresource == "eviction" and fresh:
            assert old is not None
            self.evictions.append(entry.name)
            if old.status.phase not in GOING and invariants._is_ready(old):
                self._check_budget("was evicted", *key, self._own_down(entry.namespace))
                self._evicted[key] = old.metadata.uid
        elif fresh and entry.verb == "delete" and entry.user.startswith("operator-"):
            self._check_rolled(entry, self._own_down(entry.namespace, evicted=True))

    def _check_rolled(self, entry: Entry, down: dict[str, set[str]]) -> None:
        """Our own deletions mind what was evicted in other zones, as evictions mind them."""
        own = entry.name.rpartition("-")[0]
        down.pop(own, None)
        group = self._group_of(entry.namespace, own)
        if group is not None and self._group(group).budget == "zone":
            self._check_budget("was deleted", entry.namespace, entry.name, down)

    def _own_down(self, namespace: str, *, evicted: bool = False) -> dict[str, set[str]]:
        """By zone: pods that were evicted, or that operators deleted, and that have not been ready since."""
        down: dict[str, set[str]] = {}
        for zone in self._judge.truth.zones(namespace):
            gone = {name for where, name in self._evicted if (where, name.rpartition("-")[0]) == (namespace, zone.name)}
            down[zone.name] = gone if evicted else gone | set(self._judge.own_out(zone.name, namespace))
        return down

    def _settle(self) -> None:
        for key, uid in list(self._evicted.items()):
            pod = self._judge.truth.pods.get(key)
            zones = [zone for (where, _), zone in self._judge.truth.statefulsets.items() if where == key[0]]
            back = pod is not None and pod.metadata.uid != uid and invariants._is_ready(pod)
            if back or not any(key[1] in wanted(zone) for zone in zones):
                del self._evicted[key]

    def _group_of(self, namespace: str, zone: str) -> str | None:
        found = self._judge.truth.statefulsets.get((namespace, zone))
        return None if found is None else found.metadata.labels.get(GROUP_LABEL)

    def _broken(self, invariant: str, sentence: str) -> None:
        self._judge.broken(invariant, sentence)

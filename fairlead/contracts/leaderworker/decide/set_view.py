"""What a set says in the two maps that roll, read whoever wrote them and whatever is missing.

Without webhooks nothing has been defaulted, and revisions of earlier releases lack what came later (section 2.4).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.normal_form import maps_in
from fairlead.contracts.leaderworker.decide.trees import part, text, texts
from fairlead.contracts.leaderworker.kinds import (
    DEFAULT_RESTART,
    LEADER_WORKER,
    NO_RESTART,
    RECREATE_ON_RESTART,
    SHARED,
    Json,
    LeaderWorkerSet,
)


class SetView(Struct, frozen=True):
    """The template and the network configuration of a revision, or of a live spec."""

    template: Json
    network: Json | None = None

    @property
    def size(self) -> int:
        return max(1, _number(self.template.get("size")) or 1)

    @property
    def restart_policy(self) -> str:
        policy = text(self.template, "restartPolicy") or RECREATE_ON_RESTART
        return NO_RESTART if policy == DEFAULT_RESTART else policy

    @property
    def subdomain_policy(self) -> str:
        return text(self.network or {}, "subdomainPolicy") or SHARED

    @property
    def subgroup_size(self) -> int | None:
        """None without subgroups."""
        return _number(part(self.template, "subGroupPolicy").get("subGroupSize"))

    @property
    def subgroup_policy_type(self) -> str:
        return text(part(self.template, "subGroupPolicy"), "subGroupPolicyType") or LEADER_WORKER

    @property
    def worker_template(self) -> Json:
        return part(self.template, "workerTemplate")

    @property
    def leader_template(self) -> Json:
        """Leaders are made like workers unless they have a template of their own."""
        own = self.template.get("leaderTemplate")
        return own if isinstance(own, dict) else self.worker_template

    @property
    def claims(self) -> list[Json]:
        found = self.template.get("volumeClaimTemplates")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    @property
    def claim_retention(self) -> Json:
        return {
            key: value for key, value in texts(self.template, "persistentVolumeClaimRetentionPolicy").items() if value
        }


def of_spec(seen: LeaderWorkerSet) -> SetView:
    return SetView(seen.spec.leader_worker_template, seen.spec.network_config)


def of_revision(data: bytes) -> SetView:
    """Raises UnreadableData."""
    return SetView(*maps_in(data))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

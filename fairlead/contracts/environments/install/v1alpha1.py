"""What v1alpha1 has otherwise than the later versions."""

from __future__ import annotations

from fairlead.contracts.environments.kinds import NIL, MaterializeSpec, MaterializeStatus, Uuid


class OldSpec(MaterializeSpec, frozen=True, rename="camel", kw_only=True):
    environmentd_iam_role_arn: str | None = None
    request_rollout: Uuid = NIL
    force_promote: str = ""
    """It has a default here, so it is never null; hashes pass as well as UUIDs."""
    in_place_rollout: bool = False


class OldStatus(MaterializeStatus, frozen=True, rename="camel", kw_only=True):
    """The hashes are there for round trips only: without them a write through v1alpha1 would lose them."""

    last_completed_rollout_request: Uuid
    resources_hash: str

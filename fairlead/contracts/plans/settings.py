"""What an operator of plans is told, beside what the plans say themselves."""

from __future__ import annotations

from msgspec import Struct


class PlanSettings(Struct, frozen=True, kw_only=True):
    metrics_server: str = ""
    """The Prometheus that built-in metrics are read from; empty: nobody's."""
    mesh_provider: str = ""
    """Whose series the built-in metrics are: istio, linkerd, or empty for what pods tell themselves."""
    revision_limit: int = 50
    """How many revisions of a component stay."""
    application_revision_limit: int = 10
    """How many inactive ApplicationConfigurations stay."""
    system_namespace: str = "vela-system"
    """Where definitions are looked up that an application's namespace lacks."""
    operator_namespace: str = ""
    """Where the Lease and the Secrets of the operator are; empty: where it runs."""
    concurrent: int = 4
    """How many rollouts are worked on at once."""
    reconcile_timeout: float = 180.0
    """Seconds that a pass may take, unless its hooks may take longer."""
    slack_url: str = ""
    slack_user: str = "fairlead"
    slack_channel: str = "general"
    event_webhook: str = ""
    registers_kinds: bool = True
    """Whether the leader registers the kinds of this part (section 2.16)."""

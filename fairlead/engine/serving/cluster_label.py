"""Cluster validation: requests that were meant for another cluster are refused, or only counted and logged.

Requests say where they belong in one header. Probes and scrapes never do, nor do calls of the API server to webhooks,
nor what it passes on from people who ask about rollouts.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from fairlead.core.unchecked_paths import UNCHECKED_PATHS
from kubeloop.calls import Call, Reply

HEADER = "X-Cluster"
STATUS = 511
NEVER_CHECKED = ("metrics", "ready", "livez", "debug/pprof", "fairlead/explain")


class ClusterLabel(Struct, frozen=True):
    """What requests must say."""

    label: str
    soft: bool = False
    """Whether requests that say something else are served all the same."""
    unchecked_paths: tuple[str, ...] = UNCHECKED_PATHS
    unchecked_agents: tuple[str, ...] = ()
    """Regular expressions, found anywhere in the user agent."""

    def wrong(self, call: Call) -> str | None:
        """The label of a request that is to be refused, empty when it has none or several; None for any other."""
        given = call.header(HEADER)
        if given == [self.label] or self._is_exempt(call):
            return None
        return given[0] if len(given) == 1 else ""

    def _is_exempt(self, call: Call) -> bool:
        path = call.url.partition("?")[0]
        if any(f"/{word.lstrip('/')}" in path for word in (*NEVER_CHECKED, *self.unchecked_paths)):
            return True
        agent = " ".join(call.header("User-Agent"))
        return any(re.search(pattern, agent) for pattern in self.unchecked_agents)

    def refusal(self, label: str, route: str) -> Reply:
        said = f'wrong cluster validation label "{label}"' if label else "no cluster validation label, or several"
        text = f'rejected request with {said}: it should be "{self.label}", in one header {HEADER}'
        body = msgspec.json.encode({"cluster_validation_error_message": text, "route": route})
        return Reply(STATUS, body, (("Content-Type", "application/json"),))

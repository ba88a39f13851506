"""The environment contract: generations of an environment, promoted one after the other when the hash changes."""

from __future__ import annotations

from fairlead.contracts.environments.decide.balancers import decide_balancer
from fairlead.contracts.environments.decide.consoles import decide_console
from fairlead.contracts.environments.decide.reconcile import decide

__all__ = ["decide", "decide_balancer", "decide_console"]

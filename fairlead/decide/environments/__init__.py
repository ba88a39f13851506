"""The environment contract: generations of an environment, promoted one after the other when the hash changes."""

from __future__ import annotations

from fairlead.decide.environments.balancers import decide_balancer
from fairlead.decide.environments.consoles import decide_console
from fairlead.decide.environments.reconcile import decide

__all__ = ["decide", "decide_balancer", "decide_console"]

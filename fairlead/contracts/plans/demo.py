"""How `fairlead up` serves plans."""

from __future__ import annotations

from fairlead.contracts.plans.install.access import webhooks
from fairlead.contracts.plans.install.values import WEBHOOK_SERVICE, Values
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.engine.demo import Hosted

HOSTED = Hosted(
    settings=PlanSettings(),
    webhooks=lambda namespace: webhooks(Values(namespace=namespace)),
    host=lambda namespace: f"{WEBHOOK_SERVICE}.{namespace}.svc",
)

"""The webhooks of plans on a site, registered as an installation registers them."""

from __future__ import annotations

import structlog

from fairlead.contracts.plans.install.values import CHART
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.webhooks import endpoints
from fairlead.engine.charts import data_of
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop.errors import ApiError
from kubeloop.objects.meta import Resource
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.webhooks import MUTATING, VALIDATING, install, rule, serve
from tests.e2e.zones import change


async def admit(site: Site) -> None:
    """Returns when they are in effect."""
    log = structlog.get_logger()
    context = AdmissionContext(Afterwards(log), log, lambda _telling, _note: None)
    handler = Webhooks(endpoints(PlanSettings()), AskContext(site.client), lambda: site.client, context).handler
    for each in data_of(CHART, "webhooks.yaml"):
        resource = MUTATING if each["kind"] == MUTATING.kind else VALIDATING
        hooks = [
            {
                "name": entry["name"],
                "clientConfig": await serve(site, handler, f"{entry['name']}.test.svc", entry["path"]),
                "rules": [rule("CREATE UPDATE", entry["resource"], entry["apiGroup"], entry["apiVersion"])],
                "failurePolicy": "Fail",
                "timeoutSeconds": 5,
            }
            for entry in each["entries"]
        ]
        await install(site, resource, f"plans-{resource.plural}", *hooks)


async def refused(site: Site, resource: Resource, tree: Tree) -> ApiError:
    """Why the API server does not take a new object."""
    try:
        await site.create(resource, tree)
    except ApiError as error:
        return error
    raise AssertionError("it was taken")


async def refused_change(site: Site, resource: Resource, name: str, tree: Tree) -> ApiError:
    """Why the API server does not take a change of one that is there."""
    try:
        await change(site, resource, name, tree)
    except ApiError as error:
        return error
    raise AssertionError("it was taken")

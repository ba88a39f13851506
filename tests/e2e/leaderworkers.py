"""LeaderWorkerSets on a cluster: their kind, and the webhooks of the contract as an installation registers them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import structlog
from msgspec import structs

from fairlead.contracts.leaderworker.contract import CONTRACT
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.kinds import GROUP, NAME
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.webhooks import (
    DEFAULT_POD,
    DEFAULT_SET,
    EVICTION,
    VALIDATE_POD,
    VALIDATE_SET,
    endpoints,
)
from fairlead.engine.assembly import assemble
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.client import Client
from kubeloop.request import Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.webhooks import MUTATING, VALIDATING, install, rule, serve
from tests.engine.world import Log

with_sets = partial(everywhere, definitions=definitions)
"""For scenarios that begin with `define_sets`."""


class Operator:
    """Of LeaderWorkerSets in the namespace of the site; its webhooks are those of `admit`."""

    def __init__(
        self, site: Site, settings: Settings | None = None, identity: str = "lws-1", lease: str = CONTRACT.lease
    ) -> None:
        """Another `lease` is that of one who does not know of the others."""
        self.metrics = Metrics()
        self.log = Log()
        self.manager: Manager | None = None
        self._site, self._settings, self._identity, self._lease = site, settings or Settings(), identity, lease

    async def __call__(self, transport: Transport) -> None:
        options = OperatorOptions(
            process="lws-manager",
            identity=self._identity,
            namespaces=(self._site.namespace,),
            parts=(PartOptions(structs.replace(CONTRACT, lease=self._lease), self._settings),),
            lease=self._lease,
        )
        try:
            site, log = self._site, self.log.logger()
            self.manager = await assemble(options, site.namespace, transport, self.metrics, log)
            await self.manager.run()
        finally:
            if (close := getattr(transport, "close", None)) is not None:
                await close()


OF_THE_SET: Tree = {"objectSelector": {"matchExpressions": [{"key": NAME, "operator": "Exists"}]}}


async def define_sets(site: Site) -> None:
    await define(site, *definitions())


async def admit(
    site: Site, gang_scheduler: str = "", through: Callable[[Handler], Handler] = lambda handler: handler
) -> None:
    """Registers the four webhooks, answered `through` what may disturb them; returns when they are in effect."""
    handler = through(webhooks(site.client, gang_scheduler))
    sets, pods = ("leaderworkersets", GROUP, "v1"), ("pods", "", "v1")
    hooks: dict[Any, list[Tree]] = {MUTATING: [], VALIDATING: []}
    for name, kind, path, operations, about in (
        ("mleaderworkerset.kb.io", MUTATING, DEFAULT_SET, "CREATE UPDATE", sets),
        ("mpod.kb.io", MUTATING, DEFAULT_POD, "CREATE", pods),
        ("vleaderworkerset.kb.io", VALIDATING, VALIDATE_SET, "CREATE UPDATE", sets),
        ("vpod.kb.io", VALIDATING, VALIDATE_POD, "CREATE UPDATE", pods),
    ):
        hooks[kind].append(
            {
                "name": name,
                "clientConfig": await serve(site, handler, f"{name}.test.svc", path),
                "rules": [rule(operations, *about)],
                "failurePolicy": "Fail",
                "timeoutSeconds": 10,
                **(OF_THE_SET if about is pods else {}),
            }
        )
    for kind, entries in hooks.items():
        await install(site, kind, f"lws-{kind.plural}", *entries)


async def review_evictions(site: Site, *replicas: Operator) -> None:
    """Registers the webhook of evictions, which these answer in turn; returns when it is in effect."""
    turns = cycle(replicas)

    async def answer(call: Call) -> Reply:
        manager = next(turns).manager
        if manager is None:
            raise NoReply("the replica does not run")
        return await manager.webhooks.handler(call)

    hook = {
        "name": "veviction.fairlead.dev",
        "clientConfig": await serve(site, answer, "evictions.test.svc", EVICTION),
        "rules": [rule("CREATE", "pods/eviction", "", "v1")],
        "failurePolicy": "Fail",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 10,
    }
    await install(site, VALIDATING, "lws-evictions", hook)


def webhooks(client: Client, gang_scheduler: str = "") -> Handler:
    """Those of the contract, as every replica serves them."""
    log = structlog.get_logger()
    context = AdmissionContext(Afterwards(log), log, lambda _telling, _note: None)
    served = Webhooks(endpoints(gang_scheduler), AskContext(client), lambda: client, context)
    return served.handler

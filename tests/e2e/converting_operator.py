"""An operator of API versions beside a scenario, in this process: its rules come from ConfigMaps, and the API server
reaches its webhook as it reaches any on that cluster."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fairlead.contracts import contract
from fairlead.contracts.apiversions.kinds import RULES_LABEL
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.assembly import assemble
from fairlead.engine.decide.registration import Tree
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.serving.review_groups import handlers_of
from fairlead.engine.serving.routes import dispatching
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Transport, delete, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.webhooks import serve
from tests.engine.world import Log

MERGE = "application/merge-patch+json"


class ConvertingOperator:
    """One replica; call it with a transport to run it."""

    def __init__(self, site: Site, settings: ApiVersionsSettings | None = None) -> None:
        self.site = site
        self.log = Log()
        self.metrics = Metrics()
        self.manager: Manager | None = None
        self._settings = settings or ApiVersionsSettings(service_name="fairlead", service_namespace=site.namespace)

    async def __call__(self, transport: Transport) -> None:
        parts = (PartOptions(contract("apiversions"), self._settings),)
        options = OperatorOptions(process="fairlead", parts=parts, identity="operator")
        try:
            self.manager = await assemble(options, self.site.namespace, transport, self.metrics, self.log.logger())
            await self.manager.run()
        finally:
            self.manager = None
            close = getattr(transport, "close", None)
            if close is not None:
                await close()

    async def webhooks(self, call: Call) -> Reply:
        """A Handler."""
        if self.manager is None:
            raise NoReply("the operator does not run")
        return await dispatching(handlers_of(self.manager.shared_routes))(call)

    async def ask(self, *objects: Any, desired: str, uid: str = "u-1", version: str = "v1") -> Tree:
        """A review as an API server would send it, again where it is told to; the response."""
        request = {"uid": uid, "desiredAPIVersion": desired, "objects": objects}
        kind = {"apiVersion": f"apiextensions.k8s.io/{version}", "kind": "ConversionReview"}
        body = msgspec.json.encode({**kind, "request": request, "response": {}})
        headers = (("Content-Type", "application/json"),)
        sent = Call(method="POST", url="/convert?timeout=30s", headers=headers, body=body)
        while (reply := await self.webhooks(sent)).status == 503:
            assert ("Retry-After", "1") in reply.headers
            await asyncio.sleep(0.1)
        assert reply.status == 200, reply
        answer: Tree = msgspec.json.decode(reply.body)
        assert {key: answer[key] for key in kind} == kind
        assert "request" not in answer
        response: Tree = answer["response"]
        return response

    def state(self, crd: str) -> str:
        """What is in force, as metrics say it; empty: nobody speaks of it."""
        states = ("loaded", "last-good", "rejected", "missing")
        found = (each for each in states if self.sample("fairlead_conversion_rules", crd=crd, state=each))
        return next(found, "")

    def sample(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    async def stands(self, crd: str, state: str) -> None:
        await self.site.until(lambda: self.state(crd) == state, every=0.02)

    async def attach(self, crd: str) -> None:
        """The definition names the webhook, as a hand would write it."""
        client = await serve(self.site, self.webhooks, f"fairlead.{self.site.namespace}.svc", "/convert")
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        body = msgspec.json.encode({"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
        path = path_of(CUSTOM_RESOURCES, name=crd)
        await self.site.client.call(Request("PATCH", path, body=body, content_type=MERGE))


async def rules_in_a_map(site: Site, rules: Tree, name: str = "rules") -> None:
    """Makes the ConfigMap, or changes it."""
    metadata = {"name": name, "labels": {RULES_LABEL: "true"}}
    data = {"rules.yaml": msgspec.json.encode(rules).decode()}
    if await site.get(CONFIGMAPS, name) is None:
        await site.create(CONFIGMAPS, {"metadata": metadata, "data": data})
        return
    path = path_of(CONFIGMAPS, site.namespace, name)
    await site.client.call(Request("PATCH", path, body=msgspec.json.encode({"data": data}), content_type=MERGE))


async def without_map(site: Site, name: str = "rules") -> None:
    await site.client.call(delete(Ref(CONFIGMAPS, site.namespace, name)))

"""The webhooks of a process: a handler per path, each component with its own client and its own share of the limit.

They answer on every replica, whether it leads or not and whether or not its rounds make progress.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from fairlead.engine.driver.questions import AskContext
from fairlead.engine.serving.routes import Routes, dispatching
from fairlead.engine.webhooks.admission import Admission, AdmissionContext, WebhookEndpoint
from fairlead.engine.webhooks.afterwards import Afterwards
from kubeloop.calls import Handler
from kubeloop.client import Client

TIMEOUT = 10.0
"""Seconds for a request where there is no webhook."""


class Webhooks:
    """All webhooks of a process; `handler` takes a call to any of them.

    `client` makes a client for a component; neither it nor `outside` may need leadership.
    """

    def __init__(
        self,
        endpoints: tuple[WebhookEndpoint[Any], ...],
        outside: AskContext,
        client: Callable[[], Client],
        context: AdmissionContext,
    ) -> None:
        self.afterwards: Afterwards = context.afterwards
        self.timeout = max((endpoint.timeout for endpoint in endpoints), default=TIMEOUT)
        """Seconds that the server gives to a request; each webhook keeps its own."""
        clients = {name: client() for name in dict.fromkeys(endpoint.name for endpoint in endpoints)}
        self.routes: Routes = {
            path: Admission(
                endpoint,
                structs.replace(outside, client=clients[endpoint.name], write_timeout=endpoint.timeout),
                context,
            )
            for endpoint in endpoints
            for path in endpoint.paths
        }
        self.handler: Handler = dispatching(self.routes)

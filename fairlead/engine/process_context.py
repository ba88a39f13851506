"""What the servers of a process are made from."""

from __future__ import annotations

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.assembly import agent_of, headers_of
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop.client import Client
from kubeloop.request import Transport


class ProcessContext(Struct, frozen=True):
    """What a process stands on."""

    options: OperatorOptions
    home: str
    """The namespace for what belongs to the operator when all namespaces are served."""
    transport: Transport
    metrics: Metrics
    log: FilteringBoundLogger

    @property
    def client(self) -> Client:
        """For every replica: without leadership and without a share of the limit."""
        headers = headers_of(self.options, self.home)
        return Client(
            self.transport, user_agent=agent_of(self.options), headers=headers, observe=self.metrics.observe_call
        )

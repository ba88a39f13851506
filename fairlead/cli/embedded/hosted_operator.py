"""The operator of `fairlead up`, in the process of its cluster, with everything an installation would bring.

The cluster reaches its webhooks under the names of their Services, which are known within the process alone.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TextIO

from fairlead.cli.embedded.apply_files import FileObject, apply_all
from fairlead.contracts import contracts
from fairlead.engine.assembly import assemble
from fairlead.engine.charts import Object
from fairlead.engine.contract import Contract
from fairlead.engine.demo import Hosted
from fairlead.engine.logs import configure
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.program import identity
from fairlead.engine.serving.review_groups import handlers_of
from fairlead.engine.serving.routes import dispatching
from kubeloop.client import Client
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.network import Network

HOME = "default"
"""The namespace that the operator belongs to."""

_POLICY = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "no-debugging"}}
NO_DEBUGGING: tuple[Object, ...] = (
    _POLICY
    | {
        "kind": "ValidatingAdmissionPolicy",
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["UPDATE"],
                        "resources": ["pods/ephemeralcontainers"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "false",
                    "message": "no program runs in the pods of this cluster, so there is nothing to debug in them:"
                    " see kubectl describe and kubectl logs",
                }
            ],
        },
    },
    _POLICY
    | {
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": "no-debugging", "validationActions": ["Deny"]},
    },
)
"""An ephemeral container would be taken and never started, and `kubectl debug -it` would wait for ever."""


Known = list[tuple[Contract, Hosted]]


def hosted() -> Known:
    """How each contract that can be is served."""
    return [(contract, contract.hosted.get()) for contract in contracts() if contract.hosted is not None]


async def neighbours(client: Client, network: Network, *, is_copy: bool) -> list[Coroutine[Any, Any, None]]:
    """What else runs in the cluster, for the contracts; their kinds are served from now on."""
    work = []
    for _, each in hosted():
        for neighbour in await each.neighbours(client, is_copy) if each.neighbours is not None else ():
            for host, handler in neighbour.answers.items():
                network.serve(host, handler)
            work.append(neighbour.run())
    return work


async def installed(client: Client, cluster: Cluster, network: Network, log: TextIO) -> Manager:
    """The operator with all contracts, their kinds, and its webhooks, which the cluster asks from now on."""
    known = hosted()
    await bring_kinds(client, known)
    parts = tuple(PartOptions(contract, each.settings) for contract, each in known)
    wire = cluster.transport(master("fairlead"))
    manager = await assemble(options_of(parts), HOME, wire, Metrics(), configure("info", "logfmt", log), network.call)
    for server in manager.servers:
        if server.handler is not None:
            network.serve(server.dns_name, server.handler)
    handler = dispatching({**manager.webhooks.routes, **handlers_of(manager.shared_routes)})
    for _, each in known:
        if host := each.host(HOME):
            network.serve(host, handler)
        await apply_ours(client, configurations(each))
    return manager


def options_of(parts: tuple[PartOptions, ...]) -> OperatorOptions:
    return OperatorOptions(process="fairlead", identity=identity(), parts=parts)


async def bring_kinds(client: Client, known: Known) -> None:
    """What an installation would bring before the operator."""
    brought = [kind for each, _ in known if each.kinds and not each.registers for kind in each.kinds.get()()]
    await apply_ours(client, (*brought, *NO_DEBUGGING))


def configurations(each: Hosted) -> tuple[Object, ...]:
    """Of its webhooks, for all namespaces, as the operator is; a chart registers them for one."""
    return tuple(map(_everywhere, each.webhooks(HOME)))


async def apply_ours(client: Client, objects: tuple[Object, ...]) -> None:
    """Those of a cluster that was saved are brought up to date."""
    await apply_all(client, [FileObject("what `fairlead up` brings", each) for each in objects])


def _everywhere(configuration: Object) -> Object:
    hooks = [{key: hook[key] for key in hook if key != "namespaceSelector"} for hook in configuration["webhooks"]]
    return configuration | {"webhooks": hooks}

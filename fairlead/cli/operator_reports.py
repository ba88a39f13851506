"""The operator's own word about rollouts, asked for through the API server.

Operators are found by the name label of their pods and asked with `pods/proxy`. A user who may not do that, a cluster
without an operator, one that cannot be reached or that does not know the question: each is a sentence that says why
the operator's word is not there, and no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from math import inf

import msgspec
from msgspec import Struct, structs

from fairlead.contracts import contracts
from fairlead.core.explain import Explain, OperatorReport, Source, Undecided
from fairlead.engine.look import Heard
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, KubeError, NotFound, TransportError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta
from kubeloop.request import Request, list_page, path_of

NAME_LABEL = "app.kubernetes.io/name"
OWN_NAME = "fairlead"
PORTS = ("http-metrics", "metrics", "http")
"""What they call the port, where none is asked without TLS whether it is ready; the first of these that a pod has."""
ASKED = "proxy/fairlead/explain"
MOST_ASKED = 8
REPORT_TIMEOUT_SECONDS = 3.0
"""Seconds for an answer; a command does not hang on an operator that does."""
FOUND_SERVES = 10.0
"""Seconds for which it serves who was found."""


class _Port(Struct, frozen=True, rename="camel"):
    container_port: int
    name: str = ""


class _HttpGet(Struct, frozen=True):
    port: int | str
    scheme: str = "HTTP"


class _Probe(Struct, frozen=True, rename="camel"):
    http_get: _HttpGet | None = None


class _Container(Struct, frozen=True, rename="camel"):
    ports: tuple[_Port, ...] = ()
    readiness_probe: _Probe = _Probe()

    @property
    def probed(self) -> int | None:
        """The port that probes are answered at, without TLS: whoever answers them tells of rollouts, too."""
        asked = self.readiness_probe.http_get
        if asked is None or asked.scheme != "HTTP":
            return None
        named = {each.name: each.container_port for each in self.ports if each.name}
        return asked.port if isinstance(asked.port, int) else named.get(asked.port)


class _Spec(Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Status(Struct, frozen=True):
    phase: str = ""


class _Pod(Struct, frozen=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def port(self) -> int | None:
        if probed := next(filter(None, (each.probed for each in self.spec.containers)), None):
            return probed
        ports = [port for container in self.spec.containers for port in container.ports if port.name in PORTS]
        return min(ports, key=lambda port: PORTS.index(port.name)).container_port if ports else None


class _Listed(Struct):
    items: list[_Pod] | None = None


class Reports:
    """Asks again and again; an empty name among the namespaces stands for all."""

    def __init__(self, client: Client, namespaces: Sequence[str]) -> None:
        self._client = client
        self._namespaces = tuple(namespaces)
        self._found: list[_Pod] = []
        self._why = ""
        self._until = -inf
        """Loop time from which operators are looked for again."""

    async def hear(self) -> Heard:
        """What the operators say now; raises nothing of the cluster's."""
        await self.find()
        if self._why:
            return Heard(why=self._why)
        answers = await asyncio.gather(*(self._ask(pod) for pod in self._found[:MOST_ASKED]))
        return _heard(list(zip(self._found, answers, strict=False)))

    async def find(self) -> None:
        """Looks for operators, unless it is known who they are."""
        if clock.monotonic() < self._until:
            return
        await self._find()
        self._until = clock.monotonic() + FOUND_SERVES

    async def _find(self) -> None:
        try:
            self._found = await self._listed("")
        except Forbidden:
            await self._find_nearby()
            return
        except KubeError as error:
            self._why = f"operators cannot be looked for: {error}"
            return
        self._why = "" if self._found else "no operator was found in the cluster"

    async def _find_nearby(self) -> None:
        """Of a user who may not look everywhere."""
        places = [namespace for namespace in self._namespaces if namespace]
        try:
            self._found = [pod for namespace in places for pod in await self._listed(namespace)]
        except KubeError as error:
            self._why = f"operators cannot be looked for: {error}"
            return
        where = f"in namespace {', '.join(places)}, and others may not be looked at" if places else "where you may look"
        self._why = "" if self._found else f"no operator was found {where}"

    async def _listed(self, namespace: str) -> list[_Pod]:
        selector = f"{NAME_LABEL} in ({','.join(_names())})"
        page = list_page(PODS, namespace, selector, resource_version="0")
        answer = await self._client.call(
            structs.replace(page, timeout=REPORT_TIMEOUT_SECONDS, retry_when_throttled=False)
        )
        try:
            pods = msgspec.json.decode(answer.body, type=_Listed).items or []
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TransportError(f"{page.doing}: the answer cannot be read: {error}") from error
        return [pod for pod in pods if _is_operator(pod)]

    async def _ask(self, pod: _Pod) -> OperatorReport | str:
        """Its report, or why there is none."""
        name, namespace = pod.metadata.name, pod.metadata.namespace
        path = f"{path_of(PODS, namespace)}/http:{name}:{pod.port}/{ASKED}"
        query = tuple(("namespace", each) for each in self._namespaces if "" not in self._namespaces)
        try:
            answer = await self._client.call(
                Request("GET", path, query, timeout=REPORT_TIMEOUT_SECONDS, retry_when_throttled=False)
            )
            return msgspec.json.decode(answer.body, type=OperatorReport)
        except Forbidden:
            return f"you may not ask pod {name} (get pods/proxy in namespace {namespace})"
        except NotFound:
            return f"pod {name} runs an operator that does not tell"
        except ApiError as error:
            return f"pod {name} cannot be asked ({error.status}, {error.message or error.reason})"
        except TransportError:
            return f"pod {name} does not answer within {REPORT_TIMEOUT_SECONDS:g}s"
        except KubeError as error:
            return f"pod {name} cannot be asked ({error})"
        except (msgspec.DecodeError, UnicodeDecodeError):
            return f"the answer of pod {name} cannot be read; it may be of another release"


def _names() -> tuple[str, ...]:
    """What the charts call their pods, those of other makers too."""
    return *(contract.chart for contract in contracts() if contract.chart), OWN_NAME


def _is_operator(pod: _Pod) -> bool:
    named = pod.metadata.labels.get(NAME_LABEL) in _names()
    return named and pod.status.phase == "Running" and pod.port is not None


def _heard(answers: Sequence[tuple[_Pod, OperatorReport | str]]) -> Heard:
    """Of two who lead and speak of the same rollout, the one that has decided last is believed."""
    failures = [each for _, each in answers if isinstance(each, str)]
    leaders = [
        (f"pod {pod.metadata.name}", each) for pod, each in answers if isinstance(each, OperatorReport) and each.leads
    ]
    if not leaders:
        return Heard(why=failures[0] if failures else _leaderless(answers))
    said = [(name, one) for name, report in leaders for one in report.items]
    documents = {
        (one.part, one.noun, one.namespace, one.rollout): structs.replace(one, source=_named(one, name))
        for name, one in sorted(said, key=lambda each: _decided(each[1]))
    }
    undecided = {
        (each.part, each.noun, each.namespace, each.rollout): f"{name} has not decided about it yet{_because(each)}"
        for name, report in leaders
        for each in report.undecided
    }
    return Heard(documents, undecided, next(iter(failures), ""), leaders[0][0])


def _leaderless(answers: Sequence[tuple[_Pod, OperatorReport | str]]) -> str:
    left = (
        f"pod {pod.metadata.name} leaves the lead alone ({each.leaves})"
        for pod, each in answers
        if isinstance(each, OperatorReport) and each.leaves
    )
    return ", ".join(("no operator leads at the moment", *islice(left, 1)))


def _named(one: Explain, name: str) -> Source:
    return structs.replace(one.source, name=name) if one.source else Source("operator", name=name)


def _decided(one: Explain) -> datetime:
    decided = one.source.decided_at if one.source else None
    return decided or datetime.min.replace(tzinfo=UTC)


def _because(each: Undecided) -> str:
    return f": its last pass failed ({each.failure})" if each.failure else ""

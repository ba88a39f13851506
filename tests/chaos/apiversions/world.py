"""A world with gauges: operators that convert them behind one Service, commands, and people who write every version."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec import structs

from fairlead.contracts import contract
from fairlead.contracts.apiversions.rule_tests import RuleTests
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.engine.assembly import assemble
from fairlead.engine.decide.guard import VersionPolicy
from fairlead.engine.manager import RESYNC, Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop import request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.errors import TransportError
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response
from kubesim.auth.rbac import master
from kubesim.draws import Draws
from kubesim.errors import StatusError
from kubesim.kubelet import Kubelet
from kubesim.pki import Authority
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.apiversions import facts
from tests.chaos.apiversions.backups import Backup
from tests.chaos.apiversions.commands import CommandRun
from tests.chaos.apiversions.kinds import DEFINITIONS, VERSIONS, a_definition, rules
from tests.chaos.apiversions.model import shows
from tests.chaos.apiversions.outputs import apart
from tests.chaos.apiversions.people import People
from tests.chaos.apiversions.referee import ATTACH_MAP, PEOPLE, SERVICE, Referee
from tests.chaos.doing import in_passes
from tests.chaos.loop import running
from tests.chaos.wire import Wire
from tests.chaos.world import Process, World
from tests.chaos.zone_plans import Setting

HOME = "default"
LEASE = "fairlead-operator"
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
OLD, NEW = "1.2.0", "1.3.0"
"""Versions of the operator."""
PROBED = 0.5
"""Seconds between two looks at who is ready."""
LED_AGAIN = 25.0
"""Seconds after which another one leads (I16)."""
QUICK = ("--settle", "0s", "--qps", "0", "--progress", "none", "--page-size", "2", "--journal", HOME)
"""Options of commands that walk."""
OTHER_AUTHORITY = Authority()
WATCHED = ("customresourcedefinitions", "configmaps", "secrets", "pods")


class ApiSetting(Setting, frozen=True):
    storage: str = "v2"
    versions: tuple[str, ...] = VERSIONS
    owned: bool = False
    """Whether the operator migrates the kind itself."""
    count: int = 3
    overlap: float = 20.0


class NoKubelet:
    """Pods of this world are names and annotations."""

    async def run(self) -> None:
        await asyncio.Event().wait()


_tried: dict[bytes, tuple[str, ...]] = {}


@contextmanager
def tried_once() -> Iterator[None]:
    """While it lasts, the same rules with the same schemas are tried once in this process: that takes long."""
    real = RuleTests._problems

    async def problems(self: RuleTests, data: bytes) -> tuple[str, ...]:
        if data not in _tried:
            _tried[data] = await real(self, data)
        return _tried[data]

    with patch.object(RuleTests, "_problems", problems):
        yield


class Serving:
    """What one process serves webhooks with."""

    def __init__(self, process: Process, manager: Manager, address: str) -> None:
        self.process, self.manager, self.address = process, manager, address

    @property
    def is_alive(self) -> bool:
        return not self.process.wire.is_dead and not running().is_stopped(self.process.name)

    @property
    def is_ready(self) -> bool:
        return self.is_alive and not self.manager.obstacle

    @property
    def leaf(self) -> bytes:
        certificates: Any = self.manager.certificates
        return b"" if certificates.shown is None else str(certificates.shown.pem).encode()

    async def answer(self, call: Call) -> Reply:
        for shared in self.manager.shared_routes:
            return await shared.handlers["/convert"](call)
        raise NoReply("nothing is served")


class ApiWorld(World):
    setting: ApiSetting
    judge: Referee

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, ApiSetting)
        self.setting = setting
        loop = running()
        self.judge = Referee(loop.time, lambda: loop.steps, LEASE)
        self.transport = self.cluster.transport(master(PEOPLE))
        self.people = People(self)
        self.version = OLD
        """Of processes that start from now on."""
        self.serving: dict[str, Serving] = {}
        """By process."""
        self.endpoints: tuple[str, ...] = ()
        """Processes that the Service calls."""
        self.runs: list[CommandRun] = []
        self.folder = ""
        self.backup: Backup | None = None
        """The last one."""
        self._draws = Draws(setting.seed, "service")
        self._told: tuple[str, ...] | None = None
        self.cluster.network.serve(SERVICE, self._called)

    # The run.

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        with apart(), tried_once(), TemporaryDirectory() as self.folder:
            async with super().running():
                probing = asyncio.create_task(self._probe())
                try:
                    yield self
                finally:
                    probing.cancel()
                    for run in self.runs:
                        run.kill()
                    await asyncio.gather(probing, *(run.task for run in self.runs), return_exceptions=True)
                    for run in self.runs:
                        await run.wire.close()

    def kubelet(self) -> Kubelet:
        made: Any = NoKubelet()
        return made  # type: ignore[no-any-return]

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)

    async def begin(self) -> None:
        """The definition is attached, and there are some objects."""
        await self.define()
        await self.put_rules(rules(*self.setting.versions))
        self.start()
        assert await self.until(self.is_attached, 120.0), "the definition was not attached"
        await asyncio.sleep(3)
        for number in range(self.setting.count):
            await self.people.create(f"g-{number}", self.setting.versions[number % len(self.setting.versions)], number)

    async def define(self) -> None:
        owner = {f"{facts.DOMAIN}/crd-owner": HOME} if self.setting.owned else {}
        tree = a_definition(self.setting.storage, self.setting.versions, **owner)
        answer = await self.send(request.create(DEFINITIONS, "", msgspec.json.encode(tree)))
        assert answer is not None
        assert answer.status == 201, answer
        await asyncio.sleep(2)  # until it is served

    async def put_rules(self, tree: Tree | None, *, anyway: bool = False) -> None:
        """The ConfigMap of the rules; None: there is none. `anyway`: a person has looked at all objects."""
        ref = Ref(CONFIGMAPS, HOME, ATTACH_MAP)
        if tree is None:
            await self.send(request.delete(ref))
            return
        made = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": ATTACH_MAP,
                "labels": {f"{facts.DOMAIN}/conversion-rules": "true"},
                "annotations": {f"{facts.DOMAIN}/attach-anyway": "true"} if anyway else {},
            },
            "data": {"rules.yaml": msgspec.json.encode({**tree, "attach": True}).decode()},
        }
        await self.send(request.apply(ref, msgspec.json.encode(made), "somebody", force=True))

    def is_attached(self) -> bool:
        definition = self.judge.definition
        return definition is not None and facts.service_of(definition) == SERVICE

    async def send(self, sent: Request) -> Response | None:
        try:
            return await self.transport.send(sent)
        except TransportError:
            return None

    # Operators.

    def wire(self, name: str) -> Wire:
        return Wire(name, self.cluster.transport(master(name)), self.cluster.network.call, self.judge, self._note)

    def new_process(self) -> Process:
        process = super().new_process()
        self.judge.operators[process.name] = self.version
        return process

    async def operate(self, process: Process) -> None:
        pod, address = f"fairlead-{process.name}", f"10.1.0.{len(self.processes)}"
        self._make_pod(pod)
        settings = ApiVersionsSettings(
            service_name="fairlead",
            service_namespace=HOME,
            pod_name=pod,
            certificates=CertificateSettings(overlap=self.setting.overlap),
        )
        options = OperatorOptions(
            process="fairlead",
            identity=process.name,
            parts=(PartOptions(contract("apiversions"), settings),),
            lease=LEASE,
            resync=RESYNC,
            versions=VersionPolicy(own=self.judge.operators[process.name], minimum="1.0.0"),
        )
        wire = process.wire
        manager = await assemble(options, HOME, wire, Metrics(), self._logger(), wire.call)
        for lane in manager._lanes:
            rounds: Any = lane.rounds
            rounds._outside = structs.replace(rounds._outside, shake=self._shaken)
            lane.rounds.run = in_passes(process.name, lane.rounds.run)  # type: ignore[method-assign, assignment]
        certificates: Any = manager.certificates
        async with asyncio.TaskGroup() as tasks, AsyncExitStack() as opened:
            leading = tasks.create_task(manager.run())
            credentials = await certificates.start()
            beside = [tasks.create_task(certificates.run())]
            for shared in manager.shared_routes:
                await opened.enter_async_context(shared.opened(credentials))
            process.manager = manager
            self.serving[process.name] = Serving(process, manager, address)
            await leading
            for each in beside:
                each.cancel()

    def _make_pod(self, name: str) -> None:
        spec = {"containers": [{"name": "operator", "image": "operator"}]}
        with suppress(StatusError):
            self.cluster.verbs.create(PODS, HOME, {"metadata": {"name": name}, "spec": spec}, user="kubelet")

    async def _shaken(self, host: str, port: int, name: str) -> bytes:
        """What a replica shows at its address."""
        assert (port, name) == (9443, SERVICE)
        for each in self.serving.values():
            if each.address == host and each.is_alive and each.leaf:
                return each.leaf
        raise NoReply(f"{host}:{port}: cannot be reached")

    async def _probe(self) -> None:
        """Whoever is ready is an endpoint of the Service, as kubelets and their controller have it."""
        while True:
            self._check_trust()
            self.endpoints = tuple(name for name, each in self.serving.items() if each.is_ready)
            if self.endpoints != self._told:
                self._told = self.endpoints
                await self._tell_endpoints()
            await asyncio.sleep(PROBED)

    def _check_trust(self) -> None:
        """I9: whoever could be called a moment ago shows what is trusted."""
        definition = self.judge.definition
        if definition is None or facts.service_of(definition) != SERVICE:
            return
        for name in self.endpoints:
            serving = self.serving[name]
            if serving.is_alive and not facts.trusts(facts.bundle_of(definition), serving.leaf):
                self.judge.untrusted(name)

    async def _tell_endpoints(self) -> None:
        tree = {
            "apiVersion": ENDPOINT_SLICES.api_version,
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {"name": "fairlead", "labels": {"kubernetes.io/service-name": "fairlead"}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": 9443, "protocol": "TCP"}],
            "endpoints": [
                {
                    "addresses": [self.serving[name].address],
                    "conditions": {"ready": True},
                    "targetRef": {"kind": "Pod", "namespace": HOME, "name": f"fairlead-{name}"},
                }
                for name in self.endpoints
            ],
        }
        ref = Ref(ENDPOINT_SLICES, HOME, "fairlead")
        await self.send(request.apply(ref, msgspec.json.encode(tree), "kubelet", force=True))

    async def _called(self, call: Call) -> Reply:
        """A conversion review, by one of the endpoints."""
        if not self.judge.is_webhook_up or not self.endpoints:
            raise NoReply("no endpoints available for service")
        name = self.endpoints[self._draws.below(len(self.endpoints))]
        serving = self.serving[name]
        if not serving.is_alive:
            raise NoReply("connection refused")
        definition = self.judge.definition
        if definition is not None and not facts.trusts(facts.bundle_of(definition), serving.leaf):
            self.judge.untrusted(name)
            raise NoReply("certificate signed by unknown authority")
        reply = await serving.answer(call)
        self.judge.reviewed(name, call, reply, await serving.answer(call))
        return reply

    def is_calm(self) -> bool:
        """Whether a review must be answered: somebody is there, and everybody who is called is."""
        able = [self.serving[name] for name in self.endpoints]
        return (
            self.judge.is_webhook_up
            and bool(able)
            and all(each.is_ready and not each.process.wire.is_cut for each in able)
            and not self.judge.is_tampered
            and self.judge.is_converted()
            and running().time() - self.judge.changed_at > 2.0
        )

    # Commands.

    def run_command(self, *words: str, user: str = "") -> CommandRun:
        """As that user, else as one of its own."""
        name = f"command-{len(self.runs) + 1}"
        self.judge.commands[name] = words
        if user:
            self.judge.commands[user] = words
        transport = self.cluster.transport(master(user or name))
        run = CommandRun(name, words, Wire(name, transport, self.cluster.network.call, self.judge, self._note))
        self.runs.append(run)
        return run

    async def commanded(self, *words: str, seconds: float = 600.0) -> CommandRun:
        """The run when it has ended."""
        run = self.run_command(*words)
        if not await self.until(lambda: run.is_over, seconds):
            self.judge.broken("I15", f"{' '.join(words)} does not end: {run.text}")
        self.check_runs()
        return run

    def check_runs(self) -> None:
        for run in self.runs:
            if run.mistake is not None:
                raise run.mistake
        self.check()

    def next_entries(self) -> list[str]:
        """What a rotation keeps beside the pair in use while it is under way."""
        data = self.judge.secret.get("data") or {}
        phase = b64decode(data.get("phase", "")).decode()
        return [each for each in data if each.startswith("next-")] + ([phase] if phase not in ("", "steady") else [])

    @property
    def other_bundle(self) -> str:
        """Of an authority that nobody here has."""
        return b64encode(OTHER_AUTHORITY.certificate).decode()

    def forget(self, version: str) -> None:
        """Where a version is gone, so are the leaves that no other version shows."""
        definition = self.judge.definition
        if definition is None or version in facts.versions_of(definition):
            return
        left = [each for each in facts.versions_of(definition) if each in VERSIONS]
        for kept in self.judge.kept.values():
            for leaf in [leaf for leaf in kept.leaves if not any(shows(each, leaf) for each in left)]:
                kept.updated({leaf: None}, version, "")

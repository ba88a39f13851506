"""A world with an environment: operators with a lease, the conversion webhook, environmentd, and people who edit."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import structs

from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, LOGS_IN, MATERIALIZES, NIL
from fairlead.contracts.environments.settings import ConversionOptions, Settings
from fairlead.contracts.environments.stand_in.environmentd import Environments
from fairlead.contracts.environments.stand_in.rules import FAIL, PASSWORD
from fairlead.contracts.environments.stand_in.rules import PREFIX as ENVIRONMENTD
from fairlead.engine.assembly import assemble
from fairlead.engine.kinds.registration import RegistrationFailed
from fairlead.engine.manager import RESYNC
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop import request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.errors import TransportError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, Response
from kubesim.auth.rbac import master
from kubesim.draws import Draws
from kubesim.errors import StatusError
from kubesim.kubelet import Kubelet
from kubesim.kubelet.programs import Exit, Hosted, Program, Programs
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing, in_passes
from tests.chaos.environments.facts import IMAGES, MANUALLY, Fact, generated
from tests.chaos.environments.referee import Referee
from tests.chaos.loop import running
from tests.chaos.wire import Wire
from tests.chaos.world import MISBEHAVIOUR, NAMESPACE, OTHERS, Process, World
from tests.chaos.zone_plans import Setting
from tests.licenses import a_license_key
from tests.operator_parts import converting, environments

OPS = "default"
ACCOUNT = "somebody"
"""The operator's namespace, and that of a second environment."""
LEASE = "orchestratord"
HOST = f"fn.{OPS}.svc"
ENVIRONMENT_ID = "12345678-1234-1234-1234-123456789012"
SECRET_WORD = "swordfish"
PASSWORD_VARIABLE = "MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM"
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
DEFINITION = "materializes.materialize.cloud"
OLD = Resource(MATERIALIZES.group, "v1alpha1", MATERIALIZES.plural, MATERIALIZES.kind)
VERSIONS = {"v1alpha1": OLD, "v1alpha2": MATERIALIZES}
HEALED_WITHIN = 2400.0
"""Virtual seconds: a crash that is waited out (300 s), the longest wait after errors, a resync, and a rollout."""
AT_REST = 1800.0
WATCHED = ("materializes", "statefulsets", "services", "configmaps", "balancers", "deployments", "roles")


class EnvironmentSetting(Setting, frozen=True):
    companions: bool = False
    """Whether balancers and consoles are made."""
    catch_up: float = 0.5
    promote_takes: float = 0.5
    spec: dict[str, Any] = {}
    """More of the environment's first spec."""


def guarded(pod: Hosted) -> Hosted:
    """The pod, with a password that environmentd asks for."""
    return structs.replace(pod, annotations={**pod.annotations, PASSWORD: SECRET_WORD})


class Guarded:
    """environmentd that keeps its password, whatever becomes of the annotations of its pod."""

    def __init__(self, inner: Program) -> None:
        self.answer = inner.answer
        self.stop = inner.stop
        self._inner = inner

    def changed(self, pod: Hosted) -> None:
        self._inner.changed(guarded(pod))


class EnvironmentWorld(World):
    setting: EnvironmentSetting
    judge: Referee

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, EnvironmentSetting)
        self.setting = setting
        loop = running()
        self.judge = Referee(loop.time, lambda: loop.steps, LEASE)
        self.flags = Settings(
            operator_namespace=OPS, create_balancers=setting.companions, create_console=setting.companions
        )
        self.environmentd = Environments(catch_up=setting.catch_up, promote_takes=setting.promote_takes)
        self.programs = Programs(self._make)
        self.people = self.cluster.transport(master(OTHERS))
        self.is_webhook_up = True
        self.manifest: Tree = {}
        """What people last asked for."""
        self._draws = Draws(setting.seed, "webhook")
        self.cluster.network.ask(self.programs.find)
        self.cluster.network.serve(HOST, self._convert)

    def kubelet(self) -> Kubelet:
        return Kubelet(
            self.cluster.inside("kubelet"),
            ready_after=self.setting.ready_after,
            gone_after=self.setting.gone_after,
            programs=self.programs,
        )

    def _make(self, pod: Hosted, exit_: Exit) -> Program | None:
        """environmentd, which wants a password if its listeners say so and it was given one."""
        which = generated(pod.name.removesuffix("-0"))
        if which is None:
            return None
        listeners = self.judge.objects.get(("configmaps", pod.namespace, f"mz{which[0]}-listeners-{which[1]}"), {})
        statefulset = self.judge.objects.get(("statefulsets", pod.namespace, pod.name.removesuffix("-0")), {})
        file = msgspec.json.decode(listeners.get("data", {}).get("listeners.json", "{}"))
        kind = file.get("http", {}).get("external", {}).get("authenticator_kind")
        if kind not in LOGS_IN or PASSWORD_VARIABLE not in str(statefulset.get("spec")):
            return self.environmentd.make(pod, exit_)
        made = self.environmentd.make(guarded(pod), exit_)
        return None if made is None else Guarded(made)

    # Operators.

    def wire(self, name: str) -> Wire:
        """Calls to environmentd are told to the referee, and so are answers that somebody is there to hear."""

        async def dial(call: Call) -> Reply:
            which = generated(call.url.partition("://")[2].partition(".")[0])
            assert which is not None, call.url
            self.judge.calls(name, which, call)
            reply = await self.cluster.network.call(call)
            if not wire.is_dead:
                self.judge.hears(which, call, reply)
            return reply

        wire = Wire(name, self.cluster.transport(master(name)), dial, self.judge, self._note)
        return wire

    async def operate(self, process: Process) -> None:
        options = OperatorOptions(
            process="orchestratord",
            identity=process.name,
            parts=(environments(self.flags, ConversionOptions(service_name="fn", service_namespace=OPS)),),
            lease=LEASE,
            resync=RESYNC,
        )
        wire = process.wire
        process.manager = manager = await assemble(options, OPS, wire, Metrics(), self._logger(), wire.call)
        for lane in manager._lanes:
            run = self._judged(process, lane.rounds.run)
            lane.rounds.run = in_passes(process.name, run)  # type: ignore[method-assign, assignment]
        await manager.run()

    def _judged(
        self, process: Process, run: Callable[[Any], Coroutine[Any, Any, float | None]]
    ) -> Callable[[Any], Coroutine[Any, Any, float | None]]:
        async def judged(key: Any) -> float | None:
            self.judge.round_begins(process.name, doing())
            return await run(key)

        return judged

    def heard_the_end_of(self, process: Process) -> None:
        """Who cannot register the definitions in time ends, and is started again."""
        if not isinstance(process.ended, RegistrationFailed):
            super().heard_the_end_of(process)

    async def _convert(self, call: Call) -> Reply:
        """The webhook of one of the operators that are there, as behind a Service."""
        there = [replica.process for replica in self.replicas if replica.process is not None]
        able = [each.manager for each in there if each.manager is not None and not each.wire.is_dead]
        if not able or not self.is_webhook_up:
            raise NoReply("no endpoints available for service")
        return await converting(able[self._draws.below(len(able))])(call)

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)

    # People.

    async def begin_with_an_environment(self) -> None:
        """The definitions are served, the Secret is there, and generation 1 serves."""
        self.start()
        self.make_secret()
        self.make_account()
        assert await self.until(self.is_defined, 60.0), "the definitions were not registered"
        while await self.create_environment(self.setting.spec) != 201:  # noqa: ASYNC110  it may not be served yet
            await asyncio.sleep(1)
        assert await self.until(lambda: self.fact.active == 1 and self.fact.is_settled, 300.0), self.fact

    def is_defined(self) -> bool:
        with suppress(StatusError):
            return bool(self.cluster.get(DEFINITIONS, "", DEFINITION).get("status", {}).get("acceptedNames"))
        return False

    @property
    def secret(self) -> Tree:
        data = {
            "metadata_backend_url": "x",
            "persist_backend_url": "y",
            "license_key": a_license_key(aud=NIL),
            "external_login_password_mz_system": SECRET_WORD,
        }
        encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
        return {"metadata": {"name": "backend"}, "data": encoded}

    def make_secret(self) -> None:
        for namespace in (NAMESPACE, OPS):
            self.cluster.verbs.create(SECRETS, namespace, self.secret, user=OTHERS)

    def make_account(self) -> None:
        """Without it no pod could be made whose environment names it."""
        self.cluster.verbs.create(SERVICE_ACCOUNTS, NAMESPACE, {"metadata": {"name": ACCOUNT}}, user=OTHERS)

    async def create_environment(self, more: Tree, namespace: str = NAMESPACE, name: str = "m") -> int:
        self.manifest = {
            "environmentdImageRef": f"materialize/environmentd:{IMAGES[0]}",
            "backendSecretName": "backend",
            "environmentId": ENVIRONMENT_ID,
            **more,
        }
        spec = {key: value for key, value in self.manifest.items() if value is not None}
        return await self._posted(namespace, name, spec)

    async def create_twin(self, name: str = "twin", namespace: str = OPS) -> int:
        """Another environment with the same id, in another namespace."""
        spec = {
            "environmentdImageRef": f"materialize/environmentd:{IMAGES[0]}",
            "backendSecretName": "backend",
            "environmentId": ENVIRONMENT_ID.replace("-", ""),
        }
        return await self._posted(namespace, name, spec)

    async def _posted(self, namespace: str, name: str, spec: Tree) -> int:
        tree = {
            "apiVersion": MATERIALIZES.api_version,
            "kind": MATERIALIZES.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        return await self._status(request.create(MATERIALIZES, namespace, msgspec.json.encode(tree)))

    async def edit(self, changes: Tree, version: str = "v1alpha2", *, annotation: Tree | None = None) -> int:
        """A merge patch of the spec, or of the annotations, at one of the versions; the status of the answer."""
        body: Tree = {"spec": changes} if changes else {}
        if annotation is not None:
            body["metadata"] = {"annotations": annotation}
        ref = Ref(VERSIONS[version], NAMESPACE, "m")
        status = await self._status(request.patch(ref, MERGE_PATCH, msgspec.json.encode(body)))
        if status == 200:
            self.manifest |= changes
        return status

    async def reapply(self, version: str) -> int:
        """The whole manifest once more, as one would apply it from a repository."""
        resource = VERSIONS[version]
        spec = {key: _without_nulls(value) for key, value in self.manifest.items() if value is not None}
        tree = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "m"},
            "spec": spec,
        }
        ref = Ref(resource, NAMESPACE, "m")
        return await self._status(request.apply(ref, msgspec.json.encode(tree), "repository", force=True))

    async def remove_environment(self, namespace: str = NAMESPACE, name: str = "m") -> None:
        await self._status(request.delete(Ref(MATERIALIZES, namespace, name)))

    async def overwrite_definition(self) -> None:
        """Another tool puts the definition back without its conversion."""
        body = msgspec.json.encode({"spec": {"conversion": {"strategy": "None", "webhook": None}}})
        await self._status(request.patch(Ref(DEFINITIONS, "", DEFINITION), MERGE_PATCH, body))

    async def send(self, sent: Request) -> Response | None:
        try:
            return await self.people.send(sent)
        except TransportError:
            return None

    async def _status(self, sent: Request) -> int:
        answer = await self.send(sent)
        return 0 if answer is None else answer.status

    def delete_child(self, generation: int, what: str, propagation: str = "Background") -> None:
        """Somebody deletes an object by hand: of a generation, or the public Service."""
        id_ = self.fact.id
        kinds = {
            "statefulset": (STATEFULSETS, f"mz{id_}-environmentd-{generation}"),
            "service": (SERVICES, f"mz{id_}-environmentd-{generation}"),
            "pubsub": (SERVICES, f"mz{id_}-persist-pubsub-{generation}"),
            "listeners": (CONFIGMAPS, f"mz{id_}-listeners-{generation}"),
            "public": (SERVICES, f"mz{id_}-environmentd"),
            "balancer": (BALANCERS, "m"),
        }
        resource, name = kinds[what]
        with suppress(StatusError):
            self.cluster.verbs.delete(resource, NAMESPACE, name, propagation=propagation, user=OTHERS)

    def pod_of(self, generation: int) -> str:
        return f"mz{self.fact.id}-environmentd-{generation}-0"

    def bend(self, generation: int, annotations: Tree) -> None:
        """The pod of a generation behaves in another way, until it is made again."""
        with suppress(StatusError):
            body = msgspec.json.encode({"metadata": {"annotations": annotations}})
            self.cluster.verbs.patch(PODS, NAMESPACE, self.pod_of(generation), MERGE_PATCH, body, user=OTHERS)

    # The end.

    @property
    def fact(self) -> Fact:
        """The environment as it is."""
        return self.find("m") or Fact("", "", "", 0, 0, "", "", "", "", "")

    def managed(self) -> list[Tree]:
        """Who owns which fields of it."""
        fields: list[Tree] = self.cluster.get(MATERIALIZES, NAMESPACE, "m")["metadata"]["managedFields"]
        return fields

    def find(self, name: str) -> Fact | None:
        return next((each[-1] for each in self.judge.facts.values() if each[-1].name == name), None)

    def heal(self) -> None:
        """Nothing is in the way any more; what is wanted stays."""
        self.is_webhook_up = True
        for replica in self.replicas:
            replica.go_on()
            replica.mend()
            if replica.process is not None:
                wire = replica.process.wire
                wire.plan.clear()
                wire.at_effect = wire.after_effect = None
                for plural in WATCHED:
                    wire.faulty.thaw(plural)
        self.heal_pods()

    def heal_pods(self) -> None:
        for _, name in sorted(self.judge._pods):
            annotations: Tree = dict.fromkeys((*MISBEHAVIOUR, "fairlead.dev/sim-flap", FAIL))
            annotations |= dict.fromkeys((f"{ENVIRONMENTD}catch-up", f"{ENVIRONMENTD}boot"))
            annotations[f"{ENVIRONMENTD}promote-takes"] = None
            with suppress(StatusError):
                body = msgspec.json.encode({"metadata": {"annotations": annotations}})
                self.cluster.verbs.patch(PODS, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    def left(self) -> list[str]:
        """What keeps the environment from where its spec wants it (L1 to L4)."""
        fact, problems = self.fact, []
        behind = [name for generation, name in self.judge.left_of(fact.id) if generation == fact.active + 1]
        if fact.requested != fact.hash:
            problems.append("R is not H")
        if fact.completed == fact.hash:
            problems += [] if fact.reason == "Applied" else [f"the reason is {fact.reason}"]
            problems += [f"{name} is left" for name in behind]
            problems += self._missing(fact)
        elif fact.is_refused:
            problems += [] if fact.message.startswith("Refusing") else [f"it is not refused: {fact.message}"]
        elif fact.reason == "RolloutTimeout":
            problems += [f"{name} is left" for name in behind]
        elif fact.strategy != MANUALLY or fact.is_forced or fact.reason != "ReadyToPromote":
            problems.append(f"the reason is {fact.reason}, and {fact.completed} serves instead of {fact.hash}")
        return problems + self._left_beside(fact)

    def _missing(self, fact: Fact) -> list[str]:
        has = [name for generation, name in self.judge.left_of(fact.id) if generation == fact.active]
        problems = [] if len(has) == 4 else [f"of generation {fact.active} there are only {sorted(has)}"]
        service = self.judge.objects.get(("services", NAMESPACE, f"mz{fact.id}-environmentd"))
        wanted = f"mz{fact.id}-environmentd-{fact.active}"
        if service is None or service["spec"]["selector"] != {"materialize.cloud/name": wanted}:
            problems.append("the public Service does not select what serves")
        return problems

    def _left_beside(self, fact: Fact) -> list[str]:
        """Companions and definition."""
        problems = []
        conversion = self.cluster.get(DEFINITIONS, "", DEFINITION)["spec"]["conversion"]
        if conversion["strategy"] != "Webhook":
            problems.append("the definition has no conversion")
        if self.setting.companions and fact.active:
            for resource, field in ((BALANCERS, "balancerdImageRef"), (CONSOLES, "consoleImageRef")):
                try:
                    tree = self.cluster.get(resource, NAMESPACE, "m")
                except StatusError:
                    problems.append(f"there is no {resource.kind}")
                    continue
                tag = fact.running_image.rpartition(":")[2]
                if resource == BALANCERS and not tree["spec"][field].endswith(tag):
                    problems.append(f"the balancer runs {tree['spec'][field]}, and environmentd {tag}")
                if tree["spec"].get("replicas") != fact.spec.get(f"{field[:-8]}Replicas"):
                    problems.append(f"the {resource.kind} has {tree['spec'].get('replicas')} replicas")
        return problems

    async def until_let_go(self) -> None:
        """Whatever was deleted is gone in time."""
        every = self.judge.facts
        if not await self.until(lambda: not any(each[-1].is_leaving for each in every.values()), HEALED_WITHIN):
            self.judge.broken("L", f"what was deleted is not let go: {[each[-1] for each in every.values()]}")
            self.check()

    async def finish(self, seconds: float = HEALED_WITHIN) -> None:
        if not await self.until(lambda: not self.left(), seconds, every=1.0):
            self.judge.broken("L", f"after {seconds:g} s {self.left()}: {self.fact}")
            self.check()

    async def rest(self, seconds: float = AT_REST) -> None:
        """L7: what is as it should be is not written to."""
        await asyncio.sleep(120)  # what was begun before is ended
        writes, puts = len(self.judge.own_writes), self.judge.status_puts
        await asyncio.sleep(seconds)
        self.check()
        if done := self.judge.own_writes[writes:]:
            self.judge.broken("L7", f"at rest there were writes: {done[:5]} and {len(done)} in all")
        if self.judge.status_puts != puts:
            self.judge.broken("L7", f"at rest the status was sent {self.judge.status_puts - puts} times")
        self.check()


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if each is not None}
    return value

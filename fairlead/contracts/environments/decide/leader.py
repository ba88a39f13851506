"""Section 2.9: how environmentd of one generation is asked who leads, and told to.

Before the point of no return the spec says how to speak to it. After that its own objects do: what they were made from
is no longer what the spec says.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.objects.environment import uses_internal_tls
from fairlead.contracts.environments.decide.objects.environmentd import SYSTEM_PASSWORD
from fairlead.contracts.environments.decide.objects.names import environmentd_name
from fairlead.contracts.environments.decide.objects.owner import ENVIRONMENTD
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.kinds import LISTENERS_FILE, LOGS_IN
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, SignIn
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.unreadable import UNREADABLE

TIMEOUT = 10.0
USER = "mz_system"
PASSWORD_VARIABLE = "MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM"  # noqa: S105 - a variable's name

INITIALIZING = "Initializing"
IS_LEADER = "IsLeader"
STATES = (INITIALIZING, "ReadyToPromote", "Promoting", IS_LEADER)


class Leader(Struct, frozen=True):
    """environmentd of one generation, as it is spoken to."""

    url: str
    subject: str
    """UID of its StatefulSet: what another incarnation answered is not its answer."""
    secret: Ref | None = None
    """Where the password is; None where nobody signs in."""

    @property
    def status(self) -> Ask:
        return self._call("GET", "/api/leader/status")

    @property
    def skip_catchup(self) -> Ask:
        return self._call("POST", "/api/leader/skip-catchup")

    @property
    def promote(self) -> Ask:
        return self._call("POST", "/api/leader/promote")

    def _call(self, method: str, path: str) -> Ask:
        sign_in = None
        if self.secret is not None:
            sign_in = SignIn(f"{self.url}/api/login", USER, self.secret, SYSTEM_PASSWORD)
        call = Http(
            method=method,
            url=self.url + path,
            subject=self.subject,
            sign_in=sign_in,
            verified=not self.url.startswith("https:"),
        )
        # Until it leads it may be starting, restarting or catching up.
        return Ask(call, effect=method == "POST", timeout=TIMEOUT, is_expected_to_fail=True)


class _Status(Struct, frozen=True):
    status: str


def state_of(answer: Answer) -> str:
    """What environmentd says of itself; empty when it said nothing that can be understood."""
    if isinstance(answer, Bad):
        return ""
    try:
        state = msgspec.json.decode(answer.value, type=_Status).status
    except UNREADABLE:
        return ""
    return state if state in STATES else ""


def unheard(answer: Answer) -> str:
    """Why no state could be learnt, in a few words."""
    if isinstance(answer, Good):
        return "its answer cannot be read"
    if answer.kind == "not-sent":
        return "a command does not ask it"
    return answer.text or answer.kind


def leader_by_spec(stand: Standing, subject: str) -> Leader:
    """For a generation that was made from the spec as it is."""
    signs_in = stand.spec.authenticator_kind in LOGS_IN
    ports = stand.settings.ports
    return _leader(
        stand,
        stand.target,
        subject,
        tls=signs_in and uses_internal_tls(stand.environment, stand.settings),
        port=ports.http if signs_in else ports.internal_http,
        secret=stand.spec.backend_secret_name if signs_in else "",
    )


class _Listener(Struct, frozen=True):
    addr: str
    authenticator_kind: str = "None"
    enable_tls: bool = False

    @property
    def port(self) -> int:
        return int(self.addr.rpartition(":")[2])


class _Http(Struct, frozen=True):
    external: _Listener
    internal: _Listener | None = None


class _Listeners(Struct, frozen=True):
    http: _Http


class _ConfigMap(Struct, frozen=True):
    data: dict[str, str] = {}


class _KeyRef(Struct, frozen=True):
    name: str = ""


class _Source(Struct, frozen=True, rename="camel"):
    secret_key_ref: _KeyRef | None = None


class _Variable(Struct, frozen=True, rename="camel"):
    name: str
    value_from: _Source | None = None


class _Container(Struct, frozen=True):
    name: str
    image: str = ""
    env: tuple[_Variable, ...] | None = ()


class _PodSpec(Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Template(Struct, frozen=True):
    spec: _PodSpec = _PodSpec()


class _Spec(Struct, frozen=True):
    template: _Template = _Template()


class _Meta(Struct, frozen=True):
    uid: str = ""


class _StatefulSet(Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class UnreadableGeneration(Exception):
    """The objects of a generation do not say how it is spoken to."""


class Made(Struct, frozen=True):
    """What the objects of a generation say about it."""

    leader: Leader
    image: str
    """Of its container."""


def leader_by_objects(stand: Standing, generation: int, statefulset: bytes, listeners: bytes) -> Made:
    """From the bodies of its StatefulSet and of its ConfigMap; raises UnreadableGeneration."""
    try:
        made = msgspec.json.decode(statefulset, type=_StatefulSet)
        file = msgspec.json.decode(listeners, type=_ConfigMap).data.get(LISTENERS_FILE, "")
        http = msgspec.json.decode(file, type=_Listeners).http
        external, internal = http.external, http.internal
        signs_in = external.authenticator_kind in LOGS_IN
        port = external.port if signs_in else stand.settings.ports.internal_http if internal is None else internal.port
    except (*UNREADABLE, ValueError) as error:
        raise UnreadableGeneration(str(error)) from error
    container = _container(made)
    leader = _leader(
        stand,
        generation,
        made.metadata.uid,
        tls=signs_in and external.enable_tls,
        port=port,
        secret=_password_secret(container) if signs_in else "",
    )
    return Made(leader, container.image)


def _container(made: _StatefulSet) -> _Container:
    containers = made.spec.template.spec.containers
    named = (each for each in containers if each.name == ENVIRONMENTD)
    found = next(named, None) or next(iter(containers), None)
    if found is None:
        raise UnreadableGeneration("its pod template has no container")
    return found


def _password_secret(container: _Container) -> str:
    """Name of the Secret with the password; empty where the container is given none."""
    for variable in container.env or ():
        source = variable.value_from
        if variable.name == PASSWORD_VARIABLE and source is not None and source.secret_key_ref is not None:
            return source.secret_key_ref.name
    return ""


def _leader(stand: Standing, generation: int, subject: str, *, tls: bool, port: int, secret: str) -> Leader:
    values = {
        "scheme": "https" if tls else "http",
        "service": environmentd_name(stand.environment.resource_id, generation),
        "namespace": stand.environment.namespace,
        "port": str(port),
        "generation": str(generation),
    }
    url = stand.settings.url_template
    for name, value in values.items():
        url = url.replace(f"{{{name}}}", value)
    ref = Ref(SECRETS, stand.environment.namespace, secret) if secret else None
    return Leader(url.rstrip("/"), subject, ref)

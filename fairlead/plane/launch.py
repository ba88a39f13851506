"""Starts the real control plane on loopback and ends it: etcd, kube-apiserver, kube-controller-manager, unmodified.

Everything is as on a production cluster: TLS with an own authority, client certificates and bearer tokens, RBAC, the
default admission plugins, webhooks. What is missing is a scheduler, nodes and a kubelet; controllers that act on
missing nodes are left off.
A plane never outlives the process that started it, not even one that was killed (see `held`). All its files are in one
folder, in memory where the machine allows that.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from fairlead.plane import programs
from fairlead.plane.build import Say, Unavailable, find
from fairlead.plane.held import GuardEnded, Held
from kubeloop.kubeconfig import ClusterConfig, load
from kubesim.pki import Authority, Pair, signing_pair

START_TIMEOUT_SECONDS = 60.0
"""Seconds a program may take to answer; a busy machine needs ten times the usual."""
ATTEMPTS = 5
"""Another process may take a free port before our program does, then others are tried."""
_LOOK_EVERY = 0.02
API_SERVER = "kube-apiserver"
ADMINISTRATOR, CONTROLLER_MANAGER, MASTERS = "admin", "kube-controller-manager", "system:masters"


class PortTaken(Unavailable):
    """Somebody else listens where this program of ours was told to."""

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message)
        self.program = program


class Plane:
    """One control plane. `with`, `async with`, or `start` and `stop`.

    Without `controllers` nothing but the API server acts: no StatefulSet gets pods, no namespace a service account.
    With `accounts` pods need one nevertheless, which is then made by hand.
    The administrator, the controllers and `token_users` are known by a bearer token, all others by a client
    certificate, whose signatures the API server checks anew with each request.
    Writes of `audited_users`, and all requests of members of `audited_groups`, are kept in `audit_log`.
    `gates` are features that are on though they are off by default, `apis` versions of groups that are served though
    they are not, and `more_controllers` act beside those that always do. `apiserver` is the program of another release.
    It listens on `port`, or on any free one for 0. With `egress` it asks whoever listens at `egress_socket` for
    connections to Services, pods and nodes; without, it looks for them on this machine's own network.
    """

    def __init__(
        self,
        *,
        controllers: bool = True,
        accounts: bool = False,
        token_users: Sequence[str] = ("bearer",),
        audited_users: Sequence[str] = (),
        audited_groups: Sequence[str] = (),
        gates: Sequence[str] = (),
        apis: Sequence[str] = (),
        more_controllers: Sequence[str] = (),
        apiserver: Path | None = None,
        port: int = 0,
        egress: bool = False,
        build: bool = False,
        say: Say = lambda _line: None,
    ) -> None:
        self._controllers = controllers
        self._accounts = controllers or accounts
        self._tokens = {user: secrets.token_hex(16) for user in token_users}
        self._masters = {user: secrets.token_hex(16) for user in (ADMINISTRATOR, CONTROLLER_MANAGER)}
        self._audited = tuple(audited_users), tuple(audited_groups)
        self._gates, self._apis, self._more = tuple(gates), tuple(apis), tuple(more_controllers)
        self._apiserver = apiserver
        self._port, self._egress = port, egress
        self._is_wanted = True
        self._build = build
        self._say = say
        self._authority = Authority()
        self._held: Held | None = None
        self.url = ""

    @property
    def ca(self) -> bytes:
        """PEM of the authority that signed the API server's certificate."""
        return self._authority.certificate

    @property
    def folder(self) -> Path:
        return self._running().folder

    @property
    def pids(self) -> dict[str, int]:
        """Processes by program, and the guard's."""
        return dict(self._running().pids)

    @property
    def kubeconfig(self) -> Path:
        """For an administrator, a member of system:masters."""
        return self.folder / f"{ADMINISTRATOR}.kubeconfig"

    @property
    def audit_log(self) -> Path:
        """One line of JSON for each request that is audited, whatever came of it."""
        return self.folder / programs.AUDIT_LOG

    @property
    def egress_socket(self) -> Path:
        """Where the API server asks for connections, if it was told to."""
        return self.folder / programs.EGRESS_SOCKET

    def lost(self) -> str:
        """A sentence about the first program that has ended by itself; empty: all of them run."""
        held = self._running()
        try:
            ended = held.ended()
        except GuardEnded:
            return "somebody ended the guard of the control plane: start anew"
        return "".join(f"{name} ended with code {code}: start anew" for name, code in ended[:1])

    def config(self) -> ClusterConfig:
        """How to reach the API server as an administrator."""
        return load([self.kubeconfig])

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """For a user who may do only what RBAC grants to it or to its groups."""
        path = self.folder / f"user-{secrets.token_hex(4)}.kubeconfig"
        token = self._tokens.get(user)
        if token is None:
            return _write(path, self._kubeconfig(user, _certified(self._authority.client(user, groups))))
        if groups:
            raise ValueError(f"{user} is known by a token, and the token says nothing of groups")
        return _write(path, self._kubeconfig(user, {"token": token}))

    def config_as(self, user: str, groups: Sequence[str] = ()) -> ClusterConfig:
        """How to reach the API server as that user."""
        return load([self.kubeconfig_for(user, groups)])

    def start(self) -> None:
        """Returns when all programs answer; raises Unavailable with the culprit's last words."""
        if self._held is not None:
            raise RuntimeError("this plane runs already")
        found = find(self._say, build=self._build)
        for left in reversed(range(ATTEMPTS)):
            try:
                self._attempt(found)
            except PortTaken as taken:
                self.stop()
                if not left or self._is_given(taken):
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Ends all programs and removes the folder; does nothing when it does not run."""
        held, self._held = self._held, None
        if held is not None:
            held.close()

    async def __aenter__(self) -> Self:
        self._is_wanted = True
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._is_wanted = False
            with suppress(Unavailable):
                await starting
            await asyncio.to_thread(self.stop)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_given(self, taken: PortTaken) -> bool:
        """Whether it is the port that it must listen on, which no other replaces."""
        return bool(self._port) and taken.program == API_SERVER

    def _running(self) -> Held:
        if self._held is None:
            raise RuntimeError("this plane does not run")
        return self._held

    def _attempt(self, found: Path) -> None:
        self._held = held = Held()
        port = self._port or free_port()
        self.url = f"https://127.0.0.1:{port}"
        self._write_files(held.folder)
        probe = _Probe(held.folder)
        try:
            held.run("etcd", programs.etcd(found, held.folder))
            self._until(held, "etcd", (held.folder / programs.ETCD_SOCKET).exists)
            audit = programs.audit(held.folder) if any(self._audited) else []
            egress = programs.egress(held.folder) if self._egress else []
            flags = [*audit, *egress, *programs.gates(self._gates), *programs.apis(self._apis)]
            program = self._apiserver or found / API_SERVER
            held.run(API_SERVER, [*programs.apiserver(program, held.folder, port, self._accounts), *flags])
            self._until(held, API_SERVER, lambda: probe.ok(port, "/readyz"))
            if self._controllers:
                own = free_port()
                arguments = programs.controller_manager(found, held.folder, own, self._more)
                held.run(CONTROLLER_MANAGER, [*arguments, *programs.gates(self._gates)])
                self._until(held, CONTROLLER_MANAGER, lambda: probe.ok(own, "/healthz"))
            # Both are made by loops that readiness does not wait for, and the second shows that controllers act.
            default = "/api/v1/namespaces/default"
            self._until(held, API_SERVER, lambda: probe.ok(port, default))
            if self._controllers:
                account = f"{default}/serviceaccounts/default"
                self._until(held, CONTROLLER_MANAGER, lambda: probe.ok(port, account))
        except GuardEnded as error:
            raise Unavailable("the guard of the control plane was ended by somebody while it started.") from error

    def _until(self, held: Held, name: str, holds: Callable[[], bool]) -> None:
        """Returns when it holds; raises as soon as any program has ended, or when `name` has used up its time."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            for culprit, code in held.ended():
                words = held.last_words(culprit)
                message = f"{culprit} ended with code {code}; the end of its log:\n{words}"
                raise PortTaken(culprit, message) if "address already in use" in words else Unavailable(message)
            if holds():
                return
            if not self._is_wanted:
                raise Unavailable("the start of the control plane was given up.")
            if time.monotonic() > deadline:
                words = held.last_words(name)
                raise Unavailable(
                    f"{name} did not answer within {START_TIMEOUT_SECONDS:.0f} s; the end of its log:\n{words}"
                )
            time.sleep(_LOOK_EVERY)

    def _write_files(self, folder: Path) -> None:
        private, public = signing_pair()
        _write(folder / "ca.crt", self.ca)
        _write(folder / "accounts.key", private)
        _write(folder / "accounts.pub", public)
        _write_pair(folder, "server", self._authority.server(("127.0.0.1", "localhost", programs.SERVICE_ADDRESS)))
        rows = [f"{token},{user},{user}\n" for user, token in self._tokens.items()]
        rows.extend(f"{token},{user},,{MASTERS}\n" for user, token in self._masters.items())
        _write(folder / "tokens.csv", "".join(rows).encode())
        _write(folder / programs.AUDIT_POLICY, json.dumps(programs.audit_policy(*self._audited)).encode())
        _write(folder / programs.EGRESS, json.dumps(programs.egress_selection(folder)).encode())
        for user, token in self._masters.items():
            _write(folder / f"{user}.kubeconfig", self._kubeconfig(user, {"token": token}))
        _write_pair(folder, ADMINISTRATOR, self._authority.client(ADMINISTRATOR, (MASTERS,)))

    def _kubeconfig(self, user: str, proof: dict[str, str]) -> bytes:
        cluster = {"server": self.url, "certificate-authority-data": b64encode(self.ca).decode()}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "plane", "cluster": cluster}],
            "users": [{"name": user, "user": proof}],
            "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": user}}],
            "current-context": "plane",
        }
        return json.dumps(document, indent=2).encode()


class _Probe:
    """Asks the programs, as an administrator, whether they serve."""

    def __init__(self, folder: Path) -> None:
        self._trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._trust.load_cert_chain(folder / f"{ADMINISTRATOR}.crt", folder / f"{ADMINISTRATOR}.key")

    def ok(self, port: int, path: str) -> bool:
        connection = HTTPSConnection("127.0.0.1", port, timeout=2, context=self._trust)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


def free_port() -> int:
    """A port of the loopback address that nobody used a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _certified(pair: Pair) -> dict[str, str]:
    return {
        "client-certificate-data": b64encode(pair.certificate).decode(),
        "client-key-data": b64encode(pair.key).decode(),
    }


def _write_pair(folder: Path, name: str, pair: Pair) -> None:
    _write(folder / f"{name}.crt", pair.certificate)
    _write(folder / f"{name}.key", pair.key)


def _write(path: Path, content: bytes) -> Path:
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path

"""Credentials: fixed ones, ones in files that change, ones that a program prints.

Asked before every request; after a 401 asked whether another one can be had. Files are read again once a minute, so
that rotated service account tokens and client certificates are picked up.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from kubeloop.clock import monotonic, now
from kubeloop.errors import ConfigError
from kubeloop.kubeconfig import ClusterConfig, ExecPlugin
from kubeloop.sealed import Unshown
from kubeloop.unreadable import UNREADABLE

FILES_LAST = 60.0
"""Seconds for which what was read from files is taken as current."""
LONGEST_MARGIN = timedelta(seconds=30)
"""A printed credential is replaced this long before it expires, sooner for one that lives less than five minutes."""
PATIENCE_SECONDS = 1.0
"""For which its successor is waited for while it still serves."""
AGAIN = timedelta(seconds=5)
"""Between a program that failed and its next run, while what it printed before still serves."""
LONGEST_RUN_SECONDS = 300.0
"""A program that asks nobody and runs longer hangs; whoever logs in by a browser may take minutes."""


class Credential(Unshown, frozen=True):
    """What proves who we are: an Authorization header, a client certificate with its key, both or nothing."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""


class Auth(Protocol):
    async def credential(self) -> Credential: ...

    async def renewed(self, refused: Credential) -> bool:
        """Whether, after the server refused one credential, `credential` now gives another."""
        ...

    async def close(self) -> None: ...


def auth_of(config: ClusterConfig) -> Auth:
    """The source of credentials of a cluster's user; an exec plugin is not asked where other credentials are given."""
    given = (config.token, config.token_file, config.username, config.certificate, config.certificate_file)
    if config.exec is not None and not any(given):
        return Plugin(config.exec, config)
    authorization = ""
    if config.token:
        authorization = bearer(config.token, f"the token of user {config.user!r}")
    elif config.username or config.password:
        authorization = basic(config.username, config.password)
    fixed = Credential(authorization, config.certificate, config.key)
    if config.token_file or config.certificate_file or config.key_file:
        return Files(fixed, config.token_file, config.certificate_file, config.key_file)
    return Fixed(fixed)


def bearer(token: str, what: str) -> str:
    """The Authorization header of a token; raises ConfigError for what no header can hold."""
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"{what} is no token: it must be one line of plain characters")
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The Authorization header of a name and a password."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


class Fixed:
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def credential(self) -> Credential:
        return self._credential

    async def renewed(self, refused: Credential) -> bool:
        return refused != self._credential

    async def close(self) -> None:
        pass


class Files:
    """A credential of which the token, the certificate or the key is in a file.

    The last good content stays in use when a file cannot be read any more.
    """

    def __init__(self, fixed: Credential, token: str = "", certificate: str = "", key: str = "") -> None:
        self._fixed = fixed
        self._token = token
        self._certificate = certificate
        self._key = key
        self._last: Credential | None = None
        self._read_at = 0.0

    async def credential(self) -> Credential:
        if self._last is None or monotonic() - self._read_at >= FILES_LAST:
            await self._refresh()
        return self._last or self._fixed

    async def renewed(self, refused: Credential) -> bool:
        if self._last == refused:
            await self._refresh()
        return self._last != refused

    async def close(self) -> None:
        pass

    async def _refresh(self) -> None:
        try:
            self._last = await asyncio.to_thread(self._read)
        except OSError as error:
            if self._last is None:
                raise ConfigError(f"{error.filename} cannot be read: {error.strerror}") from error
        except ConfigError:
            if self._last is None:
                raise
        self._read_at = monotonic()

    def _read(self) -> Credential:
        return Credential(
            self._authorization(),
            self._fixed.certificate or (Path(self._certificate).read_bytes() if self._certificate else b""),
            self._fixed.key or (Path(self._key).read_bytes() if self._key else b""),
        )

    def _authorization(self) -> str:
        try:
            token = Path(self._token).read_bytes().decode(errors="replace").strip() if self._token else ""
            return bearer(token, self._token) if token else self._fixed.authorization
        except (OSError, ConfigError):
            if not self._fixed.authorization:
                raise
            return self._fixed.authorization


class _Status(Unshown, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class _Printed(Unshown, frozen=True, rename="camel"):
    api_version: str
    status: _Status | None = None


class Plugin:
    """Credentials that a program prints, kept until shortly before they expire.

    The program runs once for all who wait and is not stopped when one of them gives up: it may be a person's login.
    While what it printed last still serves, nobody fails or waits long because it does.
    """

    def __init__(self, plugin: ExecPlugin, config: ClusterConfig) -> None:
        self._plugin = plugin
        self._config = config
        self._last: Credential | None = None
        self._until: datetime | None = None
        """When another one is asked for."""
        self._expires: datetime | None = None
        self._running: asyncio.Task[None] | None = None
        self._began = 0.0
        """When that began."""

    async def credential(self) -> Credential:
        if self._last is None or (self._expires is not None and now() >= self._expires):
            await self._refresh()
        elif self._until is not None and now() >= self._until:
            with suppress(ConfigError, TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._refresh()
        return self._last or Credential()

    async def renewed(self, refused: Credential) -> bool:
        if self._last == refused:
            await self._refresh()
        return self._last != refused

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, ConfigError):
                await self._running

    @property
    def _patience(self) -> float:
        """Seconds; none for a run that others have waited for."""
        is_running = self._running is not None and not self._running.done()
        return max(self._began + PATIENCE_SECONDS - monotonic(), 0.0) if is_running else PATIENCE_SECONDS

    async def _refresh(self) -> None:
        if self._running is None or self._running.done():
            self._running, self._began = asyncio.create_task(self._tried(), name="exec plugin"), monotonic()
            self._running.add_done_callback(_heard)
        await asyncio.shield(self._running)

    async def _tried(self) -> None:
        try:
            await self._run()
        except ConfigError:
            self._until = now() + AGAIN
            raise

    async def _run(self) -> None:
        interactive = self._interactive()
        environment = await asyncio.to_thread(self._environment, interactive)
        code, output, complaint = await self._output(environment, interactive)
        if code != 0:
            last = next((line.strip() for line in reversed(complaint.splitlines()) if line.strip()), "no message")
            raise ConfigError(f"{self._named} ended with code {code}: {last}")
        status = self._parsed(output)
        authorization = bearer(status.token, f"what {self._named} printed") if status.token else ""
        certificate, key = status.client_certificate_data.encode(), status.client_key_data.encode()
        self._last = Credential(authorization, certificate, key)
        self._until, self._expires = None, status.expiration_timestamp
        if status.expiration_timestamp is not None:
            life = status.expiration_timestamp - now()
            # A token for 15 minutes is replaced after 14.5, one for 1 minute after 54 seconds.
            self._until = status.expiration_timestamp - min(LONGEST_MARGIN, life / 10)

    async def _output(self, environment: dict[str, str], interactive: bool) -> tuple[int, bytes, str]:
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                env=environment,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                # A person who logs in must see what the program asks.
                stderr=None if interactive else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = self._plugin.install_hint or "install it or put it on the PATH"
            raise ConfigError(f"{self._named} cannot be started ({error.strerror}): {hint}") from error
        except ValueError as error:
            raise ConfigError(f"{self._named} cannot be started: {error}; check its env and args") from error
        try:
            async with asyncio.timeout(None if interactive else LONGEST_RUN_SECONDS):
                output, complaint = await process.communicate()
        except (asyncio.CancelledError, TimeoutError) as error:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            if isinstance(error, TimeoutError):
                told = f"{self._named} did not end within {LONGEST_RUN_SECONDS:g} seconds: see what it waits for"
                raise ConfigError(told) from None
            raise
        return process.returncode or 0, output, (complaint or b"").decode(errors="replace")

    def _parsed(self, output: bytes) -> _Status:
        try:
            printed = msgspec.json.decode(output, type=_Printed)
        except UNREADABLE as error:
            why = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise ConfigError(f"{self._named} did not print an ExecCredential: {why}") from error
        if printed.api_version != self._plugin.api_version:
            raise ConfigError(
                f"{self._named} printed apiVersion {printed.api_version!r} where the kubeconfig says"
                f" {self._plugin.api_version!r}: make them the same"
            )
        status = printed.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise ConfigError(f"{self._named} printed only one of clientCertificateData and clientKeyData")
        if not status.token and not status.client_certificate_data:
            raise ConfigError(f"{self._named} printed neither a token nor a client certificate")
        return status

    @property
    def _named(self) -> str:
        return f"the credentials program {self._plugin.command!r} of user {self._config.user!r}"

    def _interactive(self) -> bool:
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if self._plugin.interactive_mode == "Always" and not terminal:
            raise ConfigError(f"{self._named} wants to ask a person, but the standard input is not a terminal")
        return terminal and self._plugin.interactive_mode != "Never"

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, object] = {"interactive": interactive}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = cluster_info(self._config, self._plugin.config)
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        given: Sequence[tuple[str, str]] = self._plugin.env
        return {**os.environ, **dict(given), "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _heard(running: asyncio.Task[None]) -> None:
    """That it failed is told to whoever waits; it may be nobody."""
    if not running.cancelled():
        running.exception()


def cluster_info(config: ClusterConfig, for_plugin: object) -> dict[str, object]:
    """The cluster as a plugin is told of it; reads the authority's file."""
    authority = config.ca or (Path(config.ca_file).read_bytes() if config.ca_file else b"")
    told: dict[str, object] = {
        "server": config.server,
        "tls-server-name": config.tls_server_name,
        "insecure-skip-tls-verify": config.insecure,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": config.proxy,
        "disable-compression": not config.compression,
        "config": for_plugin,
    }
    return {key: value for key, value in told.items() if value}

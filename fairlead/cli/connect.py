"""A command's conversation with a cluster: finds it, connects, and turns every failure into a sentence and a code."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairlead import __version__
from fairlead.cli import exits, termination
from fairlead.cli.expiry import expired
from fairlead.cli.failures import first_of, sentence
from fairlead.cli.flags.common import wrong_namespaces
from fairlead.core.printable import printable
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.kubeconfig import ClusterConfig, find

SELDOM = 50_000
"""Objects made between two looks for garbage, which is hardly ever there: what a command makes is mostly modules."""


@dataclass(frozen=True)
class Cluster:
    client: Client
    namespaces: tuple[str, ...]
    """To look at; an empty name stands for all."""
    user: str = ""
    """As the kubeconfig calls whoever asks."""

    @property
    def everywhere(self) -> bool:
        return self.namespaces == ("",)


def talk(arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    """The exit code of the work, done with the cluster that the arguments name."""
    if wrong := wrong_namespaces(arguments):
        return fail(wrong, exits.USAGE)
    try:
        config = config_of(arguments)
    except KubeError as error:
        return fail(sentence(error))
    try:
        with _seldom_collected():
            return termination.run(_with_client(config, namespaces_of(arguments, config), work))
    except (KubeError, ExceptionGroup) as error:
        cause = first_of(error) if isinstance(error, ExceptionGroup) else error
        return fail(expired(cause, config.server) or sentence(cause, config.server, config.context))


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """A tenth of the CPU of a command that asks once would go into looking through its modules again and again."""
    before = gc.get_threshold()
    gc.set_threshold(SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def config_of(arguments: argparse.Namespace) -> ClusterConfig:
    """The cluster that `--kubeconfig`, `--context` and `--as` name; raises ConfigError."""
    paths = [Path(arguments.kubeconfig)] if arguments.kubeconfig else None
    return find(paths, arguments.context, impersonate=arguments.impersonate)


def namespaces_of(arguments: argparse.Namespace, config: ClusterConfig) -> tuple[str, ...]:
    """Those of `-n`, else all with `-A`, else that of the context."""
    if arguments.all_namespaces:
        return ("",)
    return tuple(dict.fromkeys(arguments.namespace)) or (config.namespace,)


def fail(text: str, code: int = exits.ERROR) -> int:
    print(f"fairlead: {printable(text)}", file=sys.stderr)
    return code


async def _with_client(
    config: ClusterConfig, namespaces: tuple[str, ...], work: Callable[[Cluster], Awaitable[int]]
) -> int:
    from kubeloop.http_transport import HttpTransport

    client = Client(HttpTransport(config), user_agent=f"fairlead/{__version__}")
    try:
        return await work(Cluster(client, namespaces, config.user))
    finally:
        await client.close()

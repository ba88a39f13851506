"""Commands that a contract brings of its own, in groups: `fairlead GROUP COMMAND`.

The command line finds them in the registry, adds the options about the cluster, connects, and turns errors into
sentences; what a command does is the contract's. Each is loaded when it is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from fairlead.engine.contract import Room
from fairlead.engine.hashes import Hashes
from kubeloop.client import Client


class Precondition(Exception):
    """Something must be done first; the text is one sentence that says what. Nothing was written."""


class Usage(Exception):
    """The command line is wrong; the message is one sentence that says what would be right."""


class Invocation(Struct, frozen=True, kw_only=True):
    """A command as somebody called it."""

    arguments: argparse.Namespace
    connected: Client | None = None
    """None where the command needs no cluster."""
    namespaces: tuple[str, ...] = ()
    """Those of `-n`; empty: none was named, which is all of them."""
    user: str = ""
    """As the kubeconfig calls whoever asks."""
    server: str = ""
    hashes: tuple[Room[Hashes], ...] = ()
    """By which contracts know whether a workload is to be rolled."""

    @property
    def client(self) -> Client:
        if self.connected is None:
            raise TypeError("a command that says that it needs no cluster asks for one")
        return self.connected


class Subcommand(Struct, frozen=True, kw_only=True):
    add_arguments: Callable[[argparse.ArgumentParser], None]
    """Its own; those about the cluster are added for it."""
    run: Callable[[Invocation], Awaitable[int]]
    """The exit code; raises Usage, Precondition and errors of the cluster. Cancelled by Ctrl-C: what it returns then is
    the code, and 130 where it does not catch that."""
    needs_cluster: Callable[[argparse.Namespace], bool] = lambda _: True


class ListedCommand(Struct, frozen=True):
    summary: str
    """For the overview: a few words that begin with a verb."""
    command: Room[Subcommand]


class CommandGroup(Struct, frozen=True, kw_only=True):
    commands: Mapping[str, ListedCommand]
    """By name, of one word or of two: `migrate`, `certs rotate`."""
    codes: tuple[tuple[int, str], ...]
    """Exit codes and what they mean, where they are not those of other commands."""
    precondition: int
    """The code of a Precondition."""

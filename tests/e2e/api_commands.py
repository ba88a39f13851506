"""Commands of `fairlead api` in the process of a scenario: parsed as somebody typed them, run with its client."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.cli.command_group import group_of, parser_of
from fairlead.engine.command import Invocation, Precondition
from kubeloop.client import Client


class Ran(Struct, frozen=True):
    code: int
    out: str
    err: str

    @property
    def tree(self) -> Any:
        """Of `-o json`."""
        return msgspec.json.decode(self.out)


async def api(client: Client, *words: str) -> Ran:
    """What came of `fairlead api WORDS`; errors of the cluster are raised, as they reach the command line."""
    name, rest = _named(words)
    parser, command = parser_of("api", name)
    arguments = parser.parse_args(list(rest))
    called = Invocation(
        arguments=arguments,
        connected=client,
        namespaces=tuple(dict.fromkeys(arguments.namespace)),
        user="somebody",
        server="https://cluster.test",
    )
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = await command.run(called)
        except Precondition as error:
            print(f"fairlead: {error}", file=err)
            code = group_of("api").precondition
    return Ran(code, out.getvalue(), err.getvalue())


def _named(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    two = " ".join(words[:2])
    return (two, words[2:]) if two in group_of("api").commands else (words[0], words[1:])

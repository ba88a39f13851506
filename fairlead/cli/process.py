"""Programs under the names of contracts: `rollout_operator` of this module is `rollout-operator`, and so on.

Each takes the flags of its contract in the dialect of its contract, runs the operator until it is told to stop, and
returns the exit code. `python -m fairlead.cli.process NAME` starts one by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.first_process import heed_termination
from fairlead.cli.flags import clap, go
from fairlead.cli.flags.leave import Leave
from fairlead.contracts import contracts
from fairlead.core.flags import FlagError

if TYPE_CHECKING:
    from fairlead.engine.program import Program

DIALECTS = {"go": go, "clap": clap}


def __getattr__(name: str) -> Callable[..., int]:
    process = name.replace("_", "-")
    if process not in names():
        raise AttributeError(f"no contract has a program {process}")
    return partial(run, process)


def names() -> tuple[str, ...]:
    """All names under which an operator can be started."""
    return tuple(name for contract in contracts() for name in contract.programs)


def program_of(name: str) -> Program:
    found: Program = next(contract.programs[name].get() for contract in contracts() if name in contract.programs)
    return found


def run(name: str, arguments: Sequence[str] | None = None, variables: Mapping[str, str] = os.environ) -> int:
    """Runs the operator until it is told to stop; the exit code."""
    heed_termination()
    program = program_of(name)
    dialect = DIALECTS[program.dialect]
    try:
        given = dialect.given(program, sys.argv[1:] if arguments is None else arguments, variables)
        if asked := program.asked(given):
            return _left(Leave(exits.OK, asked, is_asked_for=True))
        options = program.options(given, variables)
    except Leave as leave:
        return _left(leave)
    except FlagError as error:
        return _left(dialect.refused(program, error))
    from fairlead.cli.commands.operator import operate

    if unused := tuple(program.warnings(given)):
        from fairlead.engine.logs import configure

        log = configure(options.log_level, options.log_format)
        for text in unused:
            log.warning("argument not used", reason=text)
    return operate(options, program.elsewhere)


def _left(leave: Leave) -> int:
    with suppress(BrokenPipeError):  # a reader that has seen enough of the usage does not change the code
        print(leave.text, file=sys.stdout if leave.is_asked_for else sys.stderr)
        sys.stdout.flush()
    return leave.code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))

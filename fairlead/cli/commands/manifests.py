"""`fairlead manifests`: prints the objects that install a part, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairlead.cli import exits
from fairlead.cli.commands.crds import add_part

if TYPE_CHECKING:
    from fairlead.core.flags import Flag
    from fairlead.engine.install import Install


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairlead.cli.flags.options import add

    known = installs()
    add_part(parser, lambda each: each.install)
    looked_after = " and ".join(name for name, install in known.items() if install.one_namespace)
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        default="default",
        help=f"namespace of the operator, and of {looked_after} to look after (default %(default)s)",
    )
    about = "print what this release says of itself instead, for `fairlead api preflight --release`"
    parser.add_argument("--release", action="store_true", help=about)
    parser.add_argument("--image", metavar="IMAGE", default=None, help="image with the programs of this release")
    for name, install in known.items():
        add(parser.add_argument_group(name), install.flags)


def installs() -> dict[str, Install[Any]]:
    """By contract: how it is installed."""
    from fairlead.contracts import contracts

    return {contract.name: contract.install.get() for contract in contracts() if contract.install is not None}


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.flags.options import given
    from fairlead.cli.main import UsageError
    from fairlead.core.flags import FlagError
    from fairlead.core.names import is_label
    from fairlead.engine.charts import written
    from fairlead.engine.install import InstallPlace

    if arguments.release:
        print(_release(), end="")
        return exits.OK
    namespace = arguments.namespace
    if arguments.image == "":
        raise UsageError("--image is empty: name an image, or leave it out for the default")
    if not is_label(namespace):
        raise UsageError(f'-n is "{namespace}": a namespace has up to 63 of a to z, 0 to 9 and - inside')
    known = installs()
    install = known[arguments.part]
    _check_place(arguments, known)
    try:
        place = InstallPlace(namespace, **({} if arguments.image is None else {"image": arguments.image}))
        values = install.values(place, given(arguments, install.flags))
    except FlagError as error:
        raise UsageError(str(error)) from error
    if install.passed_on is not None:
        _check_words(install, values)
    print(written(install.objects(values)), end="")
    return exits.OK


def _release() -> str:
    from fairlead.contracts import contracts
    from fairlead.core.release import written
    from fairlead.engine.releases import this_release

    return written(this_release(contracts()))


def _check_place(arguments: argparse.Namespace, known: dict[str, Install[Any]]) -> None:
    """Raises UsageError for an option that is one of other parts alone."""
    from fairlead.cli.flags.options import says_something
    from fairlead.cli.main import UsageError

    own = {flag.name for flag in known[arguments.part].flags}
    for other, install in known.items():
        misplaced: Flag[Any] | None = next(
            (flag for flag in install.flags if flag.name not in own and says_something(arguments, flag)), None
        )
        if misplaced is not None:
            raise UsageError(f"--{misplaced.name} is an option of {other}: leave it out, or use --part {other}")


def _check_words(install: Install[Any], values: object) -> None:
    """Raises UsageError for flags that the program would refuse."""
    from fairlead.cli.main import UsageError
    from fairlead.cli.process import DIALECTS, program_of
    from fairlead.core.flags import FlagError

    passed = install.passed_on
    if passed is None:
        return
    program = program_of(passed.program)
    try:
        passed.check(DIALECTS[program.dialect].parsed(program, passed.words(values)))
    except FlagError as error:
        raise UsageError(f"--{passed.flag.name}: {error}") from error

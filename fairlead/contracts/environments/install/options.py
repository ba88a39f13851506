"""What `fairlead manifests` is told about an installation of environments."""

from __future__ import annotations

from fairlead.contracts.environments.install.arguments import arguments
from fairlead.contracts.environments.install.objects import objects
from fairlead.contracts.environments.install.values import Values
from fairlead.contracts.environments.options import PROCESS, check, level_of
from fairlead.core.flag_kinds import NAME_ADVICE
from fairlead.core.flags import Flag, FlagError, FlagKind, Given
from fairlead.core.names import is_name
from fairlead.core.option_kinds import SWITCH, option
from fairlead.engine.install import Install, InstallPlace, PassedOn

WORDS: FlagKind[tuple[str, ...]] = FlagKind("--FLAG=VALUE", tuple, ", ".join, repeats=True)

SECRET = Flag("certificate-secret", option("NAME"), "", "Secret with ca.crt, tls.crt and tls.key; else cert-manager")
ARGUMENT = Flag("arg", WORDS, (), f"a flag of {PROCESS}, as in --arg=--region=us-east-1; repeatable")
MONITORING = Flag("monitoring", SWITCH, False, "monitor, alerts and a Grafana dashboard")


def _values(place: InstallPlace, given: Given) -> Values:
    secret = given[SECRET]
    if secret and not is_name(secret):
        raise FlagError(f'{given.place(SECRET)} is "{secret}": {NAME_ADVICE}')
    return Values(
        namespace=place.namespace,
        image=place.image,
        secret=secret,
        arguments=given[ARGUMENT],
        monitoring=given[MONITORING],
    )


def _check(given: Given) -> None:
    level_of(given)
    check(given)


INSTALL = Install(
    flags=(SECRET, ARGUMENT, MONITORING),
    values=_values,
    objects=objects,
    passed_on=PassedOn(flag=ARGUMENT, program=PROCESS, words=arguments, check=_check),
)

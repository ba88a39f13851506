"""Section 3.11: the objects of an environment that stay whichever generation serves.

`environment_trouble` says what cannot be built; building what it has passed does not fail.
"""

from __future__ import annotations

from fairlead.contracts.environments.decide.objects.accounts import accounts
from fairlead.contracts.environments.decide.objects.certificates import (
    Certificate,
    certificate_trouble,
    environmentd_certificate,
)
from fairlead.contracts.environments.decide.objects.owner import owner_of_environment
from fairlead.contracts.environments.decide.objects.policies import environment_policies
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted
from fairlead.contracts.environments.settings import Settings

LONGEST_LABEL = 63


def environment_objects(environment: Environment, settings: Settings) -> tuple[Wanted, ...]:
    """Network policies, accounts and the internal certificate, in the order in which they are applied."""
    owner = owner_of_environment(environment)
    return (
        *environment_policies(owner, settings),
        *accounts(environment, owner, settings),
        *internal_certificate(environment, settings).wanted(owner),
    )


def environment_trouble(environment: Environment, settings: Settings) -> str:
    """Why the objects of this environment cannot be built, in one sentence; empty when they can."""
    if len(environment.name) > LONGEST_LABEL:
        return (
            f"The name {environment.name} is longer than {LONGEST_LABEL} characters, so its objects cannot be "
            "labelled with it: create the environment again under a shorter name."
        )
    return certificate_trouble(internal_certificate(environment, settings))


def internal_certificate(environment: Environment, settings: Settings) -> Certificate:
    """Of environmentd's Services, for balancerd and the operator."""
    own, default = environment.spec.internal_certificate_spec, settings.default_certificates.internal
    return environmentd_certificate(owner_of_environment(environment), own, default)


def uses_internal_tls(environment: Environment, settings: Settings) -> bool:
    """Whether environmentd is spoken to over TLS."""
    return internal_certificate(environment, settings).is_wanted

"""What a decision about an environment, a balancer or a console may read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar

from msgspec import Struct

from fairlead.contracts.environments.kinds import Balancer, Child, Console, GenerationSet, Materialize
from fairlead.contracts.environments.settings import Settings
from fairlead.core.ask import Answers
from kubeloop.objects.apps import Deployment
from kubeloop.objects.meta import Ref, Resource

Applied = Mapping[Ref, str]
"""By object (without UID): the digest of the body that was applied last, as long as the cache shows it unchanged since.

The status of the object itself is among them. It lives in memory: after a restart everything that is applied on every
pass is applied once more, which changes nothing where nothing differs.
"""

C = TypeVar("C", Balancer, Console)

Children = Mapping[tuple[Resource, str], Child]
"""By kind and name: the objects in the environment's namespace that carry its resource id."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """Of one environment."""

    environment: Materialize
    twins: tuple[Materialize, ...] = ()
    """Other Materialize objects, in any namespace, with the same environment id."""
    statefulsets: tuple[GenerationSet, ...] = ()
    """Those in its namespace that carry its resource id."""
    children: Children = {}
    balancer: Balancer | None = None
    """The one of the same name."""
    console: Console | None = None
    has_certificates: bool = True
    """Whether cert-manager's Certificate is served, and may be listed."""
    may_list_certificates: bool = True
    """False where that is what lacks."""
    applied: Applied | None = {}
    """None: take it that all is as it was applied, for those who only look."""
    settings: Settings = Settings()
    answers: Answers = Answers()
    since: Mapping[str, datetime] = {}
    """By wait: when it was first seen by this process, for explanations."""
    may_be_old: bool = False
    """Whether the object may be stored as v1alpha1, which has no hashes: they are worked out with every read then."""


class CompanionSnapshot(Struct, Generic[C], frozen=True, kw_only=True):
    """Of one Balancer or Console."""

    own: C
    deployment: Deployment | None = None
    """The one of its name that it owns or may adopt."""
    children: Children = {}
    has_certificates: bool = True
    may_list_certificates: bool = True
    applied: Applied | None = {}
    settings: Settings = Settings()
    answers: Answers = Answers()

"""Parts as they are built: each has words for everything that its decisions write, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import fairlead
from fairlead.contracts.apiversions import part as apiversions
from fairlead.contracts.apiversions.conversion_listener import shared_conversion
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.contracts.environments.controllers import environments
from fairlead.contracts.environments.conversion import Converting
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.settings import ConversionOptions
from fairlead.contracts.environments.settings import Settings as EnvironmentSettings
from fairlead.contracts.environments.shared_listener import SharedConverting
from fairlead.contracts.leaderworker import part as leaderworker
from fairlead.contracts.leaderworker.settings import Settings as LeaderWorkerSettings
from fairlead.contracts.plans import part as plans
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.contracts.zones.part import zones
from fairlead.contracts.zones.phased_controller import with_phased
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.core.decision import Decide
from fairlead.engine.controller import Controller
from fairlead.engine.metrics import Metrics
from fairlead.engine.part import PartContext
from fairlead.engine.watch_troubles import WatchTroubles
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.engine.world import Log

REVIEWED = {Does.INJECT_CA, Does.STAMP_DOWNSCALE, Does.TRACK_DOWNSCALE}
"""Written in the middle of reviews and by the injector, which tell of a write in words of their own."""

COMMANDED = {
    Does.CONVERT_OBJECT,
    Does.FORGET_VERSIONS,
    Does.FREEZE,
    Does.MIGRATE_BUILT_IN,
    Does.MOVE_REFERENCES,
    Does.POINT_DEPENDENT,
    Does.RESTORE_OBJECT,
    Does.REWRITE_OBJECT,
    Does.REWRITE_OWNERS,
    Does.TELL_OUTCOME,
    Does.UNFREEZE,
}
"""Written by jobs of commands and by jobs that the operator carries as commands do; their results tell of them."""
GUARDED = {Does.STAMP_VERSION}
"""Put before what the rounds of a part write, with words of its own."""


def every_part() -> list[Controller[Any]]:
    return _everything()[0]


def every_job() -> Mapping[str, Decide[Any]]:
    return _everything()[1]


def _everything() -> tuple[list[Controller[Any]], Mapping[str, Decide[Any]]]:
    async def built() -> tuple[list[Controller[Any]], Mapping[str, Decide[Any]]]:
        log, metrics = Log().logger(), Metrics()
        client = Client(Cluster(seed=1).transport())
        caches = Caches(client, lambda selection, _: WatchTroubles(selection.resource, "", log))
        settings = Settings(phased_deployments=True)
        first = with_phased(zones(caches, (), settings, metrics.of(ZoneMetrics), log), caches, (), settings)
        others = environments(caches, EnvironmentSettings(), metrics.of(EnvironmentMetrics), log, lambda: False)
        options = ConversionOptions(service_name="hook", service_namespace="operator")
        context = PartContext(caches, client, (), None, metrics, log)
        converting = Converting(options, context, metrics.of(EnvironmentMetrics))
        serving = ApiVersionsSettings(service_name="hook", service_namespace="operator")
        listener = shared_conversion(serving, "operator")
        assert listener is not None
        shared = SharedConverting(options, listener, context, metrics.of(EnvironmentMetrics))
        groups = leaderworker.part(context, LeaderWorkerSettings())
        batches = plans.part(context, PlanSettings())
        versions = apiversions.part(context, serving)
        given = CertificateSettings(source="secret", secret="pair")
        others_pair = apiversions.part(
            context, ApiVersionsSettings(service_name="hook", service_namespace="operator", certificates=given)
        )
        parts = (groups, batches, versions, others_pair)
        controllers = [
            *first.controllers,
            *others,
            converting.registration.controller,
            shared.registration.controller,
            *(one for each in parts for one in each.controllers),
        ]
        jobs = {name: decide for each in parts for name, decide in each.jobs.items()}
        return controllers, {**jobs, **converting.stored.migrations.jobs}

    return run(built())


def named() -> Iterator[Does]:
    """Whatever decisions name as a write, those of contracts and of the engine."""
    for path in Path(fairlead.__file__).parent.rglob("decide/**/*.py"):
        yield from (Does[name] for name in re.findall(r"Does\.([A-Z_]+)", path.read_text()))


def test_every_part_can_be_built_and_has_words_for_all_that_it_writes() -> None:
    parts = every_part()

    assert {part.name for part in parts} >= {
        "zones",
        "phased-deployments",
        "ready-time",
        "environments",
        "leaderworker",
        "plans",
    }
    assert all(part.writes <= part.done.keys() for part in parts)


def test_whatever_decisions_name_is_declared_by_a_part() -> None:
    declared = {does for part in every_part() for does in part.writes}

    assert {*named()} == declared | REVIEWED | COMMANDED | GUARDED


def test_a_missing_word_fails_when_the_part_is_built() -> None:
    part = next(part for part in every_part() if part.name == "zones")
    words = {does: saying for does, saying in part.done.items() if does is not Does.SCALE}

    with pytest.raises(ValueError, match="controller zones has no words for what it writes: scale"):
        structs.replace(part, done=words)

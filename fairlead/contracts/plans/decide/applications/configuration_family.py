"""The ApplicationConfigurations of one Application, `<app>-v<N>`: the newest counts, those before it are history."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import INACTIVE_COMPLETED, ConfigurationStatus
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.decide.applications.writes import Reported, patched, reported
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import APPLICATION, CONFIGURATIONS, INACTIVE
from fairlead.core.act import AnyWrite, Does
from fairlead.core.integers import parse_integer


class Configuration(Struct, frozen=True):
    tree: Tree

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def number(self) -> int:
        return number_of(self.name)

    @property
    def is_inactive(self) -> bool:
        return self.tree.annotations.get(INACTIVE) == "true"

    @property
    def status(self) -> ConfigurationStatus:
        return read(ConfigurationStatus, self.tree.tree.get("status"), "status")[0]


def configuration_name(application: str, number: int) -> str:
    return f"{application}-v{number}"


def number_of(name: str) -> int:
    """0 for a name that has none."""
    _, found, digits = name.rpartition("-v")
    try:
        return parse_integer(digits) if found else 0
    except ValueError:
        return 0


def configurations_of(namespace: str, application: str) -> Flow[tuple[Configuration, ...]]:
    """All of them, the newest first."""
    found = yield from list_all(CONFIGURATIONS, namespace, f"{APPLICATION}={application}")
    return tuple(sorted(map(Configuration, found), key=lambda each: each.number, reverse=True))


def inactivated(configuration: Configuration, *, scope: str) -> Iterable[AnyWrite]:
    """Its status first: once the annotation is there, nobody looks at it any more."""
    status = replace(configuration.status, rolling_status=INACTIVE_COMPLETED)
    report = reported(reportable(configuration.tree), status, INACTIVE_COMPLETED, scope=scope)
    if report is not None:
        yield report
        return
    if not configuration.is_inactive:
        yield annotated(configuration.tree, INACTIVE, "true", scope=scope)


def reportable(tree: Tree) -> Reported:
    return Reported(tree.ref, tree.version, tree.tree.get("status"), tree.generation)


def annotated(tree: Tree, key: str, value: str | None, *, scope: str) -> AnyWrite:
    body = {"metadata": {"annotations": {key: value}}}
    return patched(tree, body, Does.HAND_OVER, ("", f"{key} {value or 'removed'}"), scope=scope)

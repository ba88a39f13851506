"""Defaults of a LeaderWorkerSet that its schema does not give (section 2.4).

What is null counts as absent, and what is of another kind than the schema asks for is left to the API server, which
refuses it by name. Templates are never touched. The tree that is given is not changed.
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import (
    DEFAULT_RESTART,
    NO_RESTART,
    RECREATE_ON_RESTART,
    ROLLING_UPDATE,
    SHARED,
    Json,
)

_ROLLING_UPDATE: Json = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}


def defaulted(given: Json) -> Json:
    """The same LeaderWorkerSet with its defaults; the very same object where it lacks none."""
    spec = given.get("spec")
    if not isinstance(spec, dict | None):
        return given
    return _with(given, "spec", _spec(spec or {}))


def _spec(spec: Json) -> Json:
    made = _with(spec, "leaderWorkerTemplate", _template(spec.get("leaderWorkerTemplate")))
    made = _with(made, "rolloutStrategy", _strategy(spec.get("rolloutStrategy")))
    return _with(made, "networkConfig", _network(spec.get("networkConfig")))


def _template(given: object) -> object:
    if not isinstance(given, dict | None):
        return given
    template = given or {}
    match template.get("restartPolicy"):
        case None | "":
            return _with(template, "restartPolicy", RECREATE_ON_RESTART)
        case policy if policy == DEFAULT_RESTART:
            return _with(template, "restartPolicy", NO_RESTART)
    return template


def _strategy(given: object) -> object:
    if not isinstance(given, dict | None):
        return given
    strategy = given or {}
    if strategy.get("type") in (None, ""):
        strategy = _with(strategy, "type", ROLLING_UPDATE)
    if strategy["type"] == ROLLING_UPDATE and strategy.get("rollingUpdateConfiguration") is None:
        strategy = _with(strategy, "rollingUpdateConfiguration", _ROLLING_UPDATE)
    return strategy


def _network(given: object) -> object:
    if not isinstance(given, dict | None):
        return given
    network = given or {}
    return _with(network, "subdomainPolicy", SHARED) if network.get("subdomainPolicy") is None else network


def _with(tree: Json, name: str, value: object) -> Json:
    return tree if name in tree and tree[name] is value else {**tree, name: value}

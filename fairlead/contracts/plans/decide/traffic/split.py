"""How a route shares requests between two Services: read, and written so that everything else stays as it is.

In each entry that sends requests to one of the two, the target has a weight of a hundred and the source the rest: with
a weight of 20 that is 80 and 20. One that an entry lacks is cloned from the other. The same entry may stand once more
before itself for requests with a header, all of which the target gets; such copies are known by digests that an
annotation of the route holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.traffic.routes import ALL, Dialect, RouteFault, Services, namespace_of, text
from fairlead.contracts.plans.decide.workloads.live import at, with_value
from fairlead.contracts.plans.kinds import TRAFFIC_COPIES, Json, TrafficMatch

_DIGITS = 16


class Share(Struct, frozen=True):
    """What the target gets of a route."""

    weight: int
    matches: tuple[TrafficMatch, ...] = ()
    """Requests that go to it whatever the weight."""
    is_final: bool = False
    """Whether a backend that gets nothing goes."""


def split_of(dialect: Dialect, tree: Json, services: Services) -> int | RouteFault:
    """The weight of the target, where all entries agree."""
    weights = weights_of(dialect, tree, services)
    if isinstance(weights, RouteFault):
        return weights
    if len(set(weights)) > 1:
        return RouteFault(f"its entries give {services.target} {' and '.join(map(str, weights))} of {ALL}")
    return weights[0]


def weights_of(dialect: Dialect, tree: Json, services: Services) -> tuple[int, ...] | RouteFault:
    """The weight of the target in each entry that sends requests to one of the two; copies of ours are none."""
    found = []
    bare = without_copies(dialect, tree, services)
    for name, place, entry in dialect.entries(bare):
        pair = _pair(dialect, entry, services, namespace_of(tree), _path(dialect, name, place))
        if isinstance(pair, RouteFault):
            return pair
        if pair is None:
            continue
        total = sum(pair.weights)
        if total <= 0:
            return RouteFault(f"{_path(dialect, name, place)} gives both Services no weight: give one of them some")
        found.append(pair.weights[1] * ALL // total)
    if not found:
        return RouteFault(
            f"nothing of it sends requests to {services.source} or {services.target}: add an entry that does"
        )
    return tuple(found)


def with_split(dialect: Dialect, tree: Json, services: Services, share: Share) -> Json | RouteFault:
    """The route as it should be; the same one where nothing differs."""
    read = weights_of(dialect, tree, services)
    if isinstance(read, RouteFault):
        return read
    bare = without_copies(dialect, tree, services)
    copies: list[str] = []
    spec = bare["spec"] if dialect.lists else _weighted(dialect, bare["spec"], services, namespace_of(tree), share)
    for name in dialect.lists:
        if isinstance(spec.get(name), list):
            spec = {**spec, name: [*_entries(dialect, bare, services, share, name, copies)]}
    return _noted({**bare, "spec": spec}, (*_recorded(bare), *copies))


def new_route(dialect: Dialect, name: str, services: Services, weight: int) -> Json:
    """What is made where there is none, as a body without a version."""
    backends = [
        {"service": services.source, "weight": ALL - weight},
        {"service": services.target, "weight": weight},
    ]
    return {"kind": dialect.kind, "metadata": {"name": name}, "spec": {"service": name, "backends": backends}}


class _Pair(Struct, frozen=True):
    """Where the two stand in an entry; None: it is not there."""

    source: int | None
    target: int | None
    weights: tuple[int, int]


def _pair(dialect: Dialect, entry: Json, services: Services, namespace: str, path: str) -> _Pair | RouteFault | None:
    """None for an entry of somebody else's."""
    backends = dialect.backends_of(entry)
    places: dict[str, list[int]] = {services.source: [], services.target: []}
    for place, each in enumerate(backends):
        if (service := _service(dialect, each, services, namespace)) is not None:
            places[service].append(place)
    if not any(places.values()):
        return None
    if len(backends) != len(entry[dialect.backends]):
        return RouteFault(f"{path} has a backend that is no object: take it out")
    for service, found in places.items():
        if len(found) > 1:
            return RouteFault(f"{path} names the Service {service} {len(found)} times: name it once")
    weights = [max(0, dialect.weight(each, len(backends) == 1)) for each in backends]
    ours = {place for found in places.values() for place in found}
    if any(weight for place, weight in enumerate(weights) if place not in ours):
        named = f"{services.source} and {services.target}"
        return RouteFault(f"{path} sends requests to others than {named}: give those an entry of their own")
    source, target = (next(iter(places[each]), None) for each in (services.source, services.target))
    return _Pair(source, target, (_at(weights, source), _at(weights, target)))


def _at(weights: list[int], place: int | None) -> int:
    return 0 if place is None else weights[place]


def _service(dialect: Dialect, backend: Json, services: Services, namespace: str) -> str | None:
    """Which of the two it is."""
    found = dialect.read(backend, namespace)
    if found is None or found.namespace != services.namespace:
        return None
    if services.port is not None and found.port not in (None, services.port):
        return None
    return found.service if found.service in (services.source, services.target) else None


def _entries(
    dialect: Dialect, tree: Json, services: Services, share: Share, name: str, copies: list[str]
) -> Iterator[object]:
    """Those of one list, each after its copies, whose digests are added."""
    for entry in tree["spec"][name]:
        if not isinstance(entry, dict):
            yield entry
            continue
        after = _weighted(dialect, entry, services, namespace_of(tree), share)
        if name == dialect.copied_in:
            for copy in _copies(dialect, entry, services, namespace_of(tree), share):
                copies.append(_digest(dialect, copy))
                yield copy
        yield after


def _weighted(dialect: Dialect, entry: Json, services: Services, namespace: str, share: Share) -> Json:
    """A Service that gets nothing is not added, and goes in the end."""
    pair = _pair(dialect, entry, services, namespace, "")
    if not isinstance(pair, _Pair):
        return entry
    if pair.weights == _given(pair.source, pair.target, share.weight) and not (share.is_final and _is_idle(pair)):
        return entry
    alone = (pair.target is None and share.weight == 0) or (pair.source is None and share.weight == ALL)
    if alone and any(pair.weights):
        return entry
    backends = list(entry[dialect.backends])
    wanted = ((pair.source, services.source, ALL - share.weight), (pair.target, services.target, share.weight))
    known = next(backends[place] for place, _, _ in wanted if place is not None)
    for place, service, weight in wanted:
        if place is not None:
            backends[place] = {**backends[place], "weight": weight}
        elif weight:
            backends.append({**dialect.renamed(known, service), "weight": weight})
    if share.is_final:
        gone = {place for place, _, weight in wanted if place is not None and not weight}
        backends = [each for place, each in enumerate(backends) if place not in gone]
    return {**entry, dialect.backends: backends}


def _given(source: int | None, target: int | None, weight: int) -> tuple[int, int] | None:
    """The weights that both have when nothing is left to write; None where one of them is missing."""
    return None if source is None or target is None else (ALL - weight, weight)


def _is_idle(pair: _Pair) -> bool:
    return 0 in pair.weights


def _copies(dialect: Dialect, entry: Json, services: Services, namespace: str, share: Share) -> Iterator[Json]:
    """X-4: of an entry of the pair, one for each match, with the target as its only backend."""
    pair = _pair(dialect, entry, services, namespace, "")
    if not isinstance(pair, _Pair):
        return
    backends = dialect.backends_of(entry)
    known = backends[pair.target if pair.target is not None else pair.source or 0]
    backend = known if pair.target is not None else dialect.renamed(known, services.target)
    for match in share.matches:
        if (copy := dialect.copied(entry, match)) is not None:
            yield {**copy, dialect.backends: [{**backend, "weight": ALL}]}


def without_copies(dialect: Dialect, tree: Json, services: Services) -> Json:
    """The route as it is without what was added for this pair; what was added for others stays.

    Of entries with one digest the last are ours: a copy stands right before what it was made of. A digest without an
    entry is forgotten: somebody took the entry away.
    """
    recorded = _recorded(tree)
    entries = at(tree, f"spec.{dialect.copied_in}") if dialect.copied_in else None
    if not recorded or not isinstance(entries, list):
        return tree
    kept: list[object] = []
    noted: list[str] = []
    left = Counter(recorded)
    for entry in reversed(entries):
        digest = _digest(dialect, entry) if isinstance(entry, dict) else ""
        is_copy = left[digest] > 0
        left[digest] -= is_copy
        if is_copy and _is_pairs(dialect, entry, services, namespace_of(tree)):
            continue
        kept.insert(0, entry)
        noted += [digest] if is_copy else []
    bare = tree if len(kept) == len(entries) else {**tree, "spec": {**tree["spec"], dialect.copied_in: kept}}
    return _noted(bare, tuple(noted))


def _is_pairs(dialect: Dialect, entry: Json, services: Services, namespace: str) -> bool:
    """Whether it serves none but the pair."""
    backends = dialect.backends_of(entry)
    return bool(backends) and all(_service(dialect, each, services, namespace) is not None for each in backends)


def _digest(dialect: Dialect, entry: Json) -> str:
    """Of what it matches and whom it is for: the rest of an entry may be completed by the server."""
    named = [_host(dialect, each) for each in dialect.backends_of(entry)]
    body = msgspec.json.encode([entry.get(dialect.matches), named], order="sorted")
    return sha256(body).hexdigest()[:_DIGITS]


def _host(dialect: Dialect, backend: Json) -> str:
    found = dialect.read(backend, "")
    return "" if found is None else f"{found.namespace}/{found.service}"


def _recorded(tree: Json) -> tuple[str, ...]:
    annotations = at(tree, "metadata.annotations")
    found = annotations.get(TRAFFIC_COPIES) if isinstance(annotations, dict) else None
    return tuple(text(found).split())


def _noted(tree: Json, digests: tuple[str, ...]) -> Json:
    """With these digests in its annotation; without one, and without an empty object in its place, where there are
    none."""
    if sorted(digests) == sorted(_recorded(tree)):
        return tree
    value = " ".join(sorted(digests)) or None
    after = with_value(tree, ("metadata", "annotations", TRAFFIC_COPIES), value)
    return with_value(after, ("metadata", "annotations"), None) if not after["metadata"]["annotations"] else after


def _path(dialect: Dialect, name: str, place: int) -> str:
    return f"spec.{name}[{place}]" if name else f"spec.{dialect.backends}"

"""Routes of all kinds for tests: small ones by hand, and whatever the kinds allow by chance."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fairlead.contracts.plans.decide.traffic.dialects import GATEWAY_API, ISTIO, SMI
from fairlead.contracts.plans.decide.traffic.routes import Dialect, Services
from fairlead.contracts.plans.kinds import TRAFFIC_COPIES, Json, TrafficMatch

PAIR = Services("ns", "shop-v1", "shop-v2")
DIALECTS = (GATEWAY_API, ISTIO, SMI)


def http_route(*rules: Json, namespace: str = "ns") -> Json:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop", "namespace": namespace, "uid": "uid-shop", "resourceVersion": "7"},
        "spec": {"parentRefs": [{"name": "edge"}], "rules": list(rules)},
    }


def http_rule(*backends: Json, **fields: Any) -> Json:
    matches = [{"path": {"type": "PathPrefix", "value": "/"}}]
    return {"matches": matches, "backendRefs": list(backends), **fields}


def http_ref(name: str, weight: int | None = None, **fields: Any) -> Json:
    weighted = {} if weight is None else {"weight": weight}
    return {"group": "", "kind": "Service", "name": name, "port": 80, **weighted, **fields}


def virtual_service(*http: Json, namespace: str = "ns", **spec: Any) -> Json:
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": "shop", "namespace": namespace, "uid": "uid-shop", "resourceVersion": "7"},
        "spec": {"hosts": ["shop"], "http": list(http), **spec},
    }


def destination(host: str, weight: int | None = None, **fields: Any) -> Json:
    return {"destination": {"host": host, **fields}, **({} if weight is None else {"weight": weight})}


def traffic_split(*backends: Json) -> Json:
    return {
        "apiVersion": "split.smi-spec.io/v1alpha2",
        "kind": "TrafficSplit",
        "metadata": {"name": "shop", "namespace": "ns", "uid": "uid-shop", "resourceVersion": "7"},
        "spec": {"service": "shop", "backends": list(backends)},
    }


def backend(dialect: Dialect, name: str, weight: int | None = None) -> Json:
    """For one of the kinds."""
    if dialect is GATEWAY_API:
        return http_ref(name, weight)
    if dialect is ISTIO:
        return destination(name, weight)
    return {"service": name, "weight": 0 if weight is None else weight}


def one_entry(dialect: Dialect, *backends: Json) -> Json:
    if dialect is GATEWAY_API:
        return http_route(http_rule(*backends))
    return virtual_service({"route": list(backends)}) if dialect is ISTIO else traffic_split(*backends)


_NAMES = st.sampled_from(["cart", "pay", "search"])
_FREE = st.dictionaries(st.sampled_from(["filters", "timeouts", "retries"]), st.integers() | st.text(), max_size=2)
_PAIRS = st.sampled_from(
    [(("shop-v1", None),), (("shop-v2", None),), (("shop-v1", 70), ("shop-v2", 30)), (("shop-v2", 5), ("shop-v1", 5))]
)
_HEADERS = st.lists(st.sampled_from(["x-canary", "x-user"]), unique=True, max_size=2)


@st.composite
def _matches(draw: st.DrawFn, dialect: Dialect) -> list[Json]:
    found: list[Json] = []
    for path in draw(st.lists(st.sampled_from(["/", "/cart", "/pay"]), min_size=1, max_size=3)):
        headers = draw(_HEADERS)
        if dialect is GATEWAY_API:
            named: Any = [{"type": "Exact", "name": each, "value": "1"} for each in headers]
            found.append({"path": {"type": "PathPrefix", "value": path}, **({"headers": named} if named else {})})
        else:
            named = {each: {"exact": "1"} for each in headers}
            found.append({"uri": {"prefix": path}, **({"headers": named} if named else {})})
    return found


@st.composite
def _entry(draw: st.DrawFn, dialect: Dialect, pair: tuple[tuple[str, int | None], ...]) -> Json:
    name = draw(st.none() | st.sampled_from(["front", "back"]))
    named = {} if name is None else {"name": name}
    backends = [backend(dialect, service, weight) for service, weight in pair]
    return {
        **draw(_FREE),
        **named,
        dialect.matches: draw(_matches(dialect)),
        dialect.backends: backends,
    }


@st.composite
def routes(draw: st.DrawFn, dialect: Dialect) -> Json:
    """One that sends requests to the pair in some entry, and to others in others."""
    ours = draw(st.lists(_PAIRS, min_size=1, max_size=2))
    if dialect is SMI:
        return {**traffic_split(*(backend(dialect, name, weight or 100) for name, weight in ours[0]))}
    theirs = draw(st.lists(st.lists(_NAMES, unique=True, min_size=1, max_size=2), max_size=2))
    pairs = [*ours, *(tuple((name, 50) for name in each) for each in theirs)]
    entries = [draw(_entry(dialect, each)) for each in draw(st.permutations(pairs))]
    made = http_route(*entries) if dialect is GATEWAY_API else virtual_service(*entries)
    notes = draw(st.none() | st.dictionaries(st.sampled_from(["owner", "team"]), st.text(), min_size=1))
    return made if notes is None else {**made, "metadata": {**made["metadata"], "annotations": notes}}


_WORDS = [
    "name",
    "namespace",
    "kind",
    "group",
    "port",
    "number",
    "weight",
    "destination",
    "host",
    "service",
    "matches",
    "match",
    "headers",
    "backendRefs",
    "route",
    "backends",
]
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.sampled_from(["", "shop-v1", "shop-v2", "Service", "x-canary"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(_WORDS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def anything(dialect: Dialect) -> st.SearchStrategy[Json]:
    """Trees that no server would store, with words of the kind in wrong places."""
    sound = st.sampled_from([backend(dialect, "shop-v1", 3), backend(dialect, "shop-v2", None)])
    entries = st.fixed_dictionaries({dialect.backends: st.lists(sound | _JSON, max_size=3) | _JSON}) | _JSON
    headed = st.builds(
        lambda entry, found: {**entry, dialect.matches: found} if isinstance(entry, dict) else entry, entries, _JSON
    )
    specs = st.fixed_dictionaries({name: st.lists(entries | headed, max_size=3) | _JSON for name in dialect.lists})
    noted = st.sampled_from([{}, {"annotations": {TRAFFIC_COPIES: "a b"}}, {"annotations": 3}])
    notes = st.builds(lambda each: {"namespace": "ns", **each}, noted) | _JSON
    spec = specs if dialect.lists else entries
    return st.builds(lambda found, metadata: {"spec": found, "metadata": metadata}, spec | _JSON, notes)


MATCHES = st.lists(
    st.builds(TrafficMatch, header=st.sampled_from(["x-canary", "X-User", "x-beta"]), exact=st.just("1")),
    max_size=2,
    unique_by=lambda each: each.header,
)

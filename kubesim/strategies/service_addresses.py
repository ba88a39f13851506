"""Addresses and node ports of Services: taken from ranges, never twice, free again when the Service is gone.

What is taken is read from the Services that are there, so nothing can be lost or kept by mistake.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from kubesim.defaults.network import OUTWARD, is_outward
from kubesim.errors import StatusError, internal_error, invalid, wrong
from kubesim.kinds.registry import SERVICES
from kubesim.rules.services import HEADLESS, addresses, family_of, is_headless, needs_health_check
from kubesim.store.store import Store
from kubesim.store.versions import Key, Tree, Version

RANGE = ipaddress.ip_network("10.96.0.0/16")
PORTS = range(30000, 32768)
_FIRST = 2
"""Within the range; before it are the network itself and the address of the API server."""
_POLICY = "spec.ipFamilyPolicy"


class Pool:
    """What the Services of one cluster have taken."""

    def __init__(self, store: Store) -> None:
        self._live = store.table(SERVICES).live
        self._draws = store.draws("service")
        self._seen: dict[Key, Version] = {}
        self._held: dict[Key, tuple[list[str], list[int]]] = {}
        self.addresses: dict[str, Key] = {}
        self.ports: dict[int, Key] = {}

    def refresh(self) -> None:
        """Looks at the Services that changed since the last time."""
        for key in [key for key, version in self._seen.items() if self._live.get(key) is not version]:
            del self._seen[key]
            addresses_held, ports_held = self._held.pop(key)
            for address in addresses_held:
                self.addresses.pop(address, None)
            for port in ports_held:
                self.ports.pop(port, None)
        for key, version in self._live.items():
            if key not in self._seen:
                spec = version.tree()["spec"]
                held = [each for each in spec.get("clusterIPs") or [] if each != HEADLESS], list(_ports(spec))
                self._seen[key], self._held[key] = version, held
                self.addresses.update(dict.fromkeys(held[0], key))
                self.ports.update(dict.fromkeys(held[1], key))

    def next_address(self) -> str:
        size = RANGE.num_addresses - _FIRST - 1
        start = self._draws.below(size)
        for step in range(size):
            address = str(RANGE[_FIRST + (start + step) % size])
            if address not in self.addresses:
                return address
        raise internal_error("failed to allocate a serviceIP: range is full")

    def next_port(self, besides: list[int]) -> int:
        start = self._draws.below(len(PORTS))
        for step in range(len(PORTS)):
            port = PORTS[(start + step) % len(PORTS)]
            if port not in self.ports and port not in besides:
                return port
        raise internal_error("failed to allocate a nodePort: range is full")


_pools: WeakKeyDictionary[Store, Pool] = WeakKeyDictionary()


def _pool(store: Store) -> Pool:
    found = _pools.get(store)
    if found is None:
        found = _pools[store] = Pool(store)
    found.refresh()
    return found


def _ports(spec: Tree) -> Iterator[int]:
    for entry in spec.get("ports") or []:
        if entry.get("nodePort"):
            yield entry["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def allocate(tree: Tree, store: Store, *, dry_run: bool = False) -> None:
    """Gives a new Service its addresses and ports; raises when those it asks for cannot be had.

    Where nothing is to be stored the server does not look whether somebody else has an address.
    """
    spec = tree["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] == "ExternalName":
        return
    _families(tree, {})
    pool = _pool(store)
    if not is_headless(spec):
        _addresses(tree, pool, dry_run=dry_run)
    _node_ports(tree, pool, None)


def reallocate(before: Tree, after: Tree, store: Store) -> None:
    """Keeps what a changed Service has, gives it what it needs besides, and takes what its type has no use for."""
    old, new = before["spec"], after["spec"]
    _kept(old, new)
    if new["type"] == "ExternalName":
        _dropped(old, new)
        return
    if new.get("clusterIP") != old.get("clusterIP") and new.get("clusterIPs") == old.get("clusterIPs"):
        new["clusterIPs"] = [new["clusterIP"]]
    _dropped(old, new)
    _families(after, old)
    pool = _pool(store)
    if old["type"] == "ExternalName" and not is_headless(new):
        _addresses(after, pool)
    _node_ports(after, pool, list(_ports(old)))


def _kept(old: Tree, new: Tree) -> None:
    """What a client left out is what it was."""
    if "ExternalName" not in (old["type"], new["type"]):
        for key in ("clusterIP", "clusterIPs"):
            if old.get(key) and not new.get(key):
                new[key] = old[key]
    if old["type"] in OUTWARD and new["type"] in OUTWARD:
        used = [entry.get("nodePort") for entry in new.get("ports") or []]
        known = {entry.get("name") or "": entry.get("nodePort") for entry in old.get("ports") or []}
        for entry in new.get("ports") or []:
            port = known.get(entry.get("name") or "")
            if port and not entry.get("nodePort") and port not in used:
                entry["nodePort"] = port
    if needs_health_check(old) and needs_health_check(new) and old.get("healthCheckNodePort"):
        new.setdefault("healthCheckNodePort", old["healthCheckNodePort"])


def _dropped(old: Tree, new: Tree) -> None:
    """Takes away what the new type has no use for, unless somebody changed it at the same time."""
    if new["type"] == "ExternalName" and old["type"] != "ExternalName":
        _drop(old, new, "clusterIP", "clusterIPs")
        _drop(old, new, "ipFamilies")
        _drop(old, new, "ipFamilyPolicy")
        new.pop("internalTrafficPolicy", None)
    if old["type"] in OUTWARD and new["type"] not in OUTWARD:
        before, after = ([entry.get("nodePort") or 0 for entry in spec.get("ports") or []] for spec in (old, new))
        for entry in (new.get("ports") or []) if before == after else []:
            entry.pop("nodePort", None)
    if needs_health_check(old) and not needs_health_check(new):
        _drop(old, new, "healthCheckNodePort")
    if old["type"] == "LoadBalancer" and new["type"] != "LoadBalancer":
        _drop(old, new, "allocateLoadBalancerNodePorts")
        _drop(old, new, "loadBalancerClass")
    if is_outward(old) and not is_outward(new):
        _drop(old, new, "externalTrafficPolicy")


def _drop(old: Tree, new: Tree, *keys: str) -> None:
    """Takes fields away that belong together and are as they were."""
    if all(old.get(key) == new.get(key) for key in keys):
        for key in keys:
            new.pop(key, None)


def _families(tree: Tree, old: Tree) -> None:
    """Settles the families of a Service in a cluster that has one."""
    spec = tree["spec"]
    headless_alone = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = old.get("ipFamilyPolicy") or ("RequireDualStack" if headless_alone else "SingleStack")
    if causes := list(addresses(spec)):
        raise invalid(SERVICES, tree["metadata"].get("name") or "", causes)
    families: list[str] = spec.get("ipFamilies") or []
    for index, address in enumerate(spec.get("clusterIPs") or []):
        if address != HEADLESS and index >= len(families):
            if family_of(address) != "IPv4":
                text = f"{family_of(address)} is not configured on this cluster"
                raise _refused(tree, f"spec.clusterIPs[{index}]", spec["clusterIPs"], text)
            families.append("IPv4")
    if headless_alone:
        families = families or ["IPv4"]
        if len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append("IPv6" if families == ["IPv4"] else "IPv4")
        spec["ipFamilies"] = families
        return
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        raise _refused(tree, _POLICY, spec["ipFamilyPolicy"], text)
    if "IPv6" in families:
        at = f"spec.ipFamilies[{families.index('IPv6')}]"
        raise _refused(tree, at, "IPv6", "not configured on this cluster")
    spec["ipFamilies"] = families or ["IPv4"]


def _addresses(tree: Tree, pool: Pool, *, dry_run: bool = False) -> None:
    spec = tree["spec"]
    if not spec.get("clusterIPs"):
        spec["clusterIP"] = pool.next_address()
        spec["clusterIPs"] = [spec["clusterIP"]]
        return
    wanted, problem = spec["clusterIPs"][0], ""
    address = ipaddress.ip_address(wanted)
    if address not in RANGE or address in (RANGE.network_address, RANGE.broadcast_address):
        problem = "the provided network does not match the current range"
        if dry_run:
            problem = f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {RANGE}"
    elif wanted in pool.addresses and not dry_run:
        problem = "provided IP is already allocated"
    if problem:
        raise _refused(tree, "spec.clusterIPs", spec["clusterIPs"], f"failed to allocate IP {wanted}: {problem}")


def _node_ports(tree: Tree, pool: Pool, had: list[int] | None) -> None:
    """Ports on the nodes, besides those it had already; one of UDP and one of TCP of the same number share one."""
    spec = tree["spec"]
    own, taken = had or [], list[int]()
    if spec["type"] in OUTWARD:
        shared: dict[int, int] = {}
        gives = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts")
        for index, entry in enumerate(spec.get("ports") or []):
            wanted = entry.get("nodePort") or 0
            if wanted and wanted not in own and (had is None or wanted not in taken):
                again = wanted in taken and shared.get(entry.get("port") or 0) != wanted
                _check_port(tree, pool, wanted, f"spec.ports[{index}].nodePort", again=again)
            elif not wanted and gives:
                wanted = shared.get(entry.get("port") or 0) or pool.next_port([*taken, *own])
                entry["nodePort"] = wanted
            if wanted:
                taken.append(wanted)
                shared.setdefault(entry.get("port") or 0, wanted)
    if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = pool.next_port([*taken, *own])


def _check_port(tree: Tree, pool: Pool, port: int, at: str, *, again: bool) -> None:
    if port not in PORTS:
        text = f"The range of valid ports is {PORTS.start}-{PORTS.stop - 1}"
        raise _refused(tree, at, port, f"provided port is not in the valid range. {text}")
    if again or port in pool.ports:
        raise _refused(tree, at, port, "provided port is already allocated")


def _refused(tree: Tree, at: str, value: object, why: str) -> StatusError:
    return invalid(SERVICES, tree["metadata"].get("name") or "", [wrong(at, value, why)])

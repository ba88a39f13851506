"""What becomes of attached definitions when the operator is removed (section 3.14).

Each that can do without is detached, by the rule of section 3.13; one that cannot keeps the installation where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.contracts.apiversions import attach_map
from fairlead.contracts.apiversions.decide.detaching import (
    blockers,
    cleared,
    detach_patch,
    served_versions,
    storage_version,
    united,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import MANAGER
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.owned_definitions import is_webhook, wrote_conversion
from fairlead.engine.decide.registration import DEFINITIONS, at
from fairlead.engine.driver.perform import request_for
from fairlead.engine.letting_go import HeldDefinition, LeavingInstallation, LettingGo
from kubeloop.client import Client
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import get

MOST_TRIES = 10


async def find(client: Client, leaving: LeavingInstallation) -> tuple[HeldDefinition, ...]:
    """All definitions that name one of its Services, or any that its operator wrote, and what is in the way."""
    listed: Any = await client.list(DEFINITIONS, dict[str, Any])
    named = [each for each in listed.items if _names(each, leaving)]
    return tuple([await _held(client, leaving, each) for each in sorted(named, key=_name)])


async def release(client: Client, leaving: LeavingInstallation, held: Sequence[HeldDefinition]) -> None:
    """Those without obstacles are converted by nobody afterwards; raises errors of the cluster."""
    for each in held:
        if not each.obstacles:
            await attach_map.remove(client, leaving.namespace, each.name, dry_run=False)
            await _detach(client, each.name, leaving)


def _names(definition: Tree, leaving: LeavingInstallation) -> bool:
    if not is_webhook(definition):
        return False
    service = at(definition, "spec", "conversion", "webhook", "clientConfig", "service")
    if service.get("namespace") != leaving.namespace:
        return False
    if leaving.services is not None and service.get("name") in leaving.services:
        return True
    if leaving.services is not None and service.get("name") in leaving.stay:
        return False
    return _name(definition) in leaving.own or (leaving.attached and wrote_conversion(definition, MANAGER))


async def _held(client: Client, leaving: LeavingInstallation, definition: Tree) -> HeldDefinition:
    name, storage = _name(definition), storage_version(definition)
    needs_union = leaving.union and bool(blockers(definition))
    wanted, notes = united(definition) if needs_union else (definition, ())
    found = [cleared(each, is_own=name in leaving.own) for each in blockers(wanted)]
    others = await attach_map.others(client, leaving.namespace, name)
    found += [f"ConfigMap {each} has it attached: delete it" for each in others.attach]
    rest = [each for each in served_versions(definition) if each != storage]
    fails = f"requests in {', '.join(rest)}, and" if rest else ""
    failing = f"{fails} requests for objects that are not stored in {storage}".strip()
    return HeldDefinition(name, tuple(found), failing, notes)


async def _detach(client: Client, name: str, leaving: LeavingInstallation) -> None:
    """Unless it names somebody else by now, such as another installation that has taken it over."""
    for _ in range(MOST_TRIES):
        try:
            asked = get(Ref(DEFINITIONS, "", name))
            definition = definition_in((await client.call(asked)).body, asked.doing)
            needs_union = leaving.union and bool(blockers(definition))
            if not _names(definition, leaving) or blockers(united(definition)[0] if needs_union else definition):
                return
            await client.call(request_for(detach_patch(definition, union=needs_union)[0]))
        except NotFound:
            return
        except Conflict:
            continue
        return


def _name(definition: Tree) -> str:
    return str(definition["metadata"]["name"])


LETTING_GO = LettingGo(find, release)

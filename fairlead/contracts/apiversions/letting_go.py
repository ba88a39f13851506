"""What becomes of attached definitions when the operator is removed (section 3.14).

Each that can do without is detached, by the rule of section 3.13; one that cannot keeps the installation where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.contracts.apiversions import attach_map
from fairlead.contracts.apiversions.decide.detaching import blockers, detach_patch, served_versions, storage_version
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import MANAGER
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.owned_definitions import is_webhook, wrote_conversion
from fairlead.engine.decide.registration import DEFINITIONS, at
from fairlead.engine.driver.perform import request_for
from fairlead.engine.letting_go import Held, LettingGo
from kubeloop.client import Client
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import get

MOST_TRIES = 10


async def find(client: Client, namespace: str, services: Sequence[str] | None) -> tuple[Held, ...]:
    """All definitions that name one of the Services, or any that the operator wrote, and what is in the way."""
    listed: Any = await client.list(DEFINITIONS, dict[str, Any])
    named = [each for each in listed.items if _names(each, namespace, services)]
    return tuple([await _held(client, namespace, each) for each in sorted(named, key=_name)])


async def release(client: Client, namespace: str, held: Sequence[Held]) -> None:
    """Those without obstacles are converted by nobody afterwards; raises errors of the cluster."""
    for each in held:
        if not each.obstacles:
            await attach_map.remove(client, namespace, each.name, dry_run=False)
            await _detach(client, each.name)


def _names(definition: Tree, namespace: str, services: Sequence[str] | None) -> bool:
    if not is_webhook(definition):
        return False
    service = at(definition, "spec", "conversion", "webhook", "clientConfig", "service")
    ours = wrote_conversion(definition, MANAGER) if services is None else service.get("name") in services
    return bool(ours) and service.get("namespace") == namespace


async def _held(client: Client, namespace: str, definition: Tree) -> Held:
    name, storage = _name(definition), storage_version(definition)
    found = [f"{each.text} (clear it with: {' or: '.join(each.commands)})" for each in blockers(definition)]
    others = await attach_map.others(client, namespace, name)
    found += [f"ConfigMap {each} has it attached: delete it" for each in others.attach]
    rest = [each for each in served_versions(definition) if each != storage]
    fails = f"requests in {', '.join(rest)}, and" if rest else ""
    return Held(name, tuple(found), f"{fails} requests for objects that are not stored in {storage}".strip())


async def _detach(client: Client, name: str) -> None:
    for _ in range(MOST_TRIES):
        try:
            asked = get(Ref(DEFINITIONS, "", name))
            definition = definition_in((await client.call(asked)).body, asked.doing)
            if not is_webhook(definition) or blockers(definition):
                return
            await client.call(request_for(detach_patch(definition, union=False)[0]))
        except NotFound:
            return
        except Conflict:
            continue
        return


def _name(definition: Tree) -> str:
    return str(definition["metadata"]["name"])


LETTING_GO = LettingGo(find, release)

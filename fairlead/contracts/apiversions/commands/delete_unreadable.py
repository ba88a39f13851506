"""`fairlead api delete-unreadable`: objects that the API server cannot read are deleted, each by a person's word (B11).

One such object has every list of its kind fail. It is deleted without being read, so that nothing of it is checked or
cleaned up: whoever does that is told so, object by object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable

from msgspec import Struct

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.carried import audited
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.crd_versions import resource_of, storage_version
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.unreadable import (
    GATE,
    OPTION,
    SKIPPED,
    VERB,
    UnreadableObject,
    UnreadableObjects,
    ambiguous,
    chosen,
    found_in,
    is_unreadable,
)
from fairlead.contracts.apiversions.dependents import search, unasked
from fairlead.contracts.apiversions.live_objects import objects
from fairlead.core.amounts import counted
from fairlead.core.audit import AuditLine
from fairlead.engine.command import Invocation, Precondition, Subcommand, Usage
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, NotFound, TransportError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, Request, get, list_page, path_to

DOES = "delete-unreadable"


class DeletedObject(Struct, frozen=True, rename="camel", omit_defaults=True):
    object: str
    outcome: str
    """`deleted`, `would be deleted`, `kept`, `readable`, `gone` or `failed`."""
    why: str = ""
    dependents: tuple[str, ...] = ()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, such as widgets.example.com")
    about = "only these of them, as NAME or NAMESPACE/NAME; default all, each of which is asked about"
    parser.add_argument("names", metavar="NAME", nargs="*", default=[], help=about)
    options.add_dry_run(parser)
    options.add_yes(parser, "ask nothing about the objects that are named")
    options.add_output(parser)
    options.add_audit(parser)
    options.add_dependents(parser)
    options.add_page_size(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if given.yes and not given.names:
        raise Usage(
            "--yes is for objects that are named: say which, as `fairlead api delete-unreadable CRD` lists them"
        )
    try:
        live = await definition_of(called.client, given.crd)
    except NoDefinition as error:
        return complain(str(error))
    resource = resource_of(live, storage_version(live))
    found = await _found(called, resource)
    wanted, unknown = chosen(found.objects, given.names)
    if unknown:
        raise Precondition(f"{', '.join(unknown)} can be read, or is not there: delete it with `kubectl delete`")
    if several := ambiguous(found.objects, given.names):
        raise Precondition(f"several namespaces have an unreadable {several}: name it as NAMESPACE/NAME")
    if not wanted:
        show({"objects": []}, given.output, f"every object of {given.crd} can be read")
        return codes.DONE
    asks = not (given.yes or given.dry_run)
    if asks and not sys.stdin.isatty():
        named = " ".join(each.place for each in wanted[:3])
        raise Precondition(
            f"{counted(len(wanted), 'object')} of {given.crd} cannot be read, and nobody is there to be asked:"
            f" name them with --yes, such as `fairlead api delete-unreadable {given.crd} {named} --yes`"
        )
    outcomes = await _each(called, live, resource, wanted)
    text = "\n".join(filter(None, (f"{each.object}: {each.outcome}{_because(each.why)}" for each in outcomes)))
    more = "" if found.is_whole else "\nthe server has not told of all: run the command again"
    show({"objects": outcomes, "isWhole": found.is_whole}, given.output, text + more)
    return codes.OBJECTS_FAILED if any(each.outcome == "failed" for each in outcomes) else codes.DONE


def _because(why: str) -> str:
    return f" ({why})" if why else ""


async def _found(called: Invocation, resource: Resource) -> UnreadableObjects:
    """All that cannot be read; raises Precondition where the server does not say which, and errors of the cluster."""
    client, page = called.client, called.arguments.page_size
    try:
        async for _ in objects(client, resource, namespaces=called.namespaces, page=page, metadata_only=True):
            pass
    except ApiError as error:
        if isinstance(error, Forbidden) or error.status < 500:
            raise
        return await _named(called, resource)
    return UnreadableObjects(())


async def _named(called: Invocation, resource: Resource) -> UnreadableObjects:
    """One list that is not cut into pages: it tells of all objects at once."""
    found: list[UnreadableObjects] = []
    for namespace in called.namespaces or ("",):
        try:
            await called.client.call(list_page(resource, namespace, metadata_only=True))
        except ApiError as error:
            told = found_in(error, resource.group, resource.plural)
            if told is None:
                raise Precondition(
                    f"objects of {called.arguments.crd} cannot be listed ({error.message}), and the API server does"
                    f" not say which cannot be read: turn on its feature gate {GATE} (Kubernetes 1.32 or later);"
                    " objects that only cannot be converted are named by `fairlead api status`"
                ) from None
            found.append(told)
    return UnreadableObjects(tuple(one for each in found for one in each.objects), all(each.is_whole for each in found))


async def _each(
    called: Invocation, live: Tree, resource: Resource, wanted: tuple[UnreadableObject, ...]
) -> list[DeletedObject]:
    given = called.arguments
    owned = await _dependents(called.client, live, given.dependents)
    outcomes = []
    with audited(given.audit) as audit:
        for each in wanted:
            dependents = owned.get((each.namespace, each.name), ())
            _tell(each, dependents)
            if given.dry_run:
                made = await _rehearsed(called.client, resource, each)
            elif not given.yes and not await asyncio.to_thread(_agrees, each):
                made = DeletedObject(each.place, "kept")
            else:
                made = await _deleted(called.client, resource, each, audit, called.user)
            outcomes.append(DeletedObject(made.object, made.outcome, made.why, dependents))
    return outcomes


async def _dependents(
    client: Client, live: Tree, named: list[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """By owner, known by its name alone: its UID cannot be read."""
    group, kind = live["spec"]["group"], live["spec"]["names"]["kind"]
    searched = await search(client, named)
    searched.kinds = tuple(each for each in searched.kinds if (each.group, each.kind) != (group, kind))
    if searched.unlisted:
        print(unasked(searched.unlisted), file=sys.stderr)
    found: dict[tuple[str, str], list[str]] = {}
    async for resource, each in searched.found(group, kind):
        for owner in each.owner_references:
            if owner.kind == kind and owner.api_version.rpartition("/")[0] == group:
                found.setdefault((each.namespace, owner.name), []).append(f"{resource.kind.lower()}/{each.name}")
    return {key: tuple(names) for key, names in found.items()}


def _tell(each: UnreadableObject, dependents: tuple[str, ...]) -> None:
    owned = f"what names it as its owner is collected as garbage: {', '.join(dependents[:10])}" if dependents else ""
    lines = [f"{each.place} cannot be read: {each.why}", *(f"  - {one}" for one in (*SKIPPED, owned) if one)]
    print("\n".join(lines), file=sys.stderr)


def _agrees(each: UnreadableObject) -> bool:
    print(f"Delete it for good? Type its name ({each.name}) to go on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == each.name


async def _rehearsed(client: Client, resource: Resource, each: UnreadableObject) -> DeletedObject:
    """The server takes no dry run of such a deletion, so only what it says of the object is looked at."""
    state = await _state(client, resource, each)
    return DeletedObject(each.place, state or "would be deleted")


async def _state(client: Client, resource: Resource, each: UnreadableObject) -> str:
    """Empty while it cannot be read."""
    try:
        await client.call(get(Ref(resource, each.namespace, each.name)))
    except NotFound:
        return "gone"
    except ApiError as error:
        if is_unreadable(error):
            return ""
        raise
    return "readable"


async def _deleted(
    client: Client, resource: Resource, each: UnreadableObject, audit: Callable[[AuditLine], None], user: str
) -> DeletedObject:
    if state := await _state(client, resource, each):
        return DeletedObject(each.place, state)
    ref = Ref(resource, each.namespace, each.name)
    body = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", OPTION: True}).encode()
    made = DeletedObject(each.place, "deleted")
    try:
        await client.call(Request("DELETE", path_to(ref), body=body, content_type=JSON))
    except NotFound:
        made = DeletedObject(each.place, "gone")
    except Forbidden as error:
        why = f"{error.message}; it takes the verbs delete and {VERB} on {resource.plural}"
        made = DeletedObject(each.place, "failed", why)
    except ApiError as error:
        made = DeletedObject(each.place, "failed", error.message)
    except TransportError as error:
        made = DeletedObject(each.place, "failed", str(error))
    audit(_line(each, made, user))
    return made


def _line(each: UnreadableObject, made: DeletedObject, user: str) -> AuditLine:
    return AuditLine(
        time=clock.now(),
        round=DOES,
        key=each.place,
        rule="person",
        reason=user,
        does=DOES,
        verb="delete",
        subject=each.place,
        outcome={"deleted": "ok", "gone": "gone"}.get(made.outcome, made.why),
    )


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)

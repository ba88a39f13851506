"""Requests that write: from their bodies and options to the write, in the order in which the server looks at them.

The size of a body comes first, then the options in the query, then what the body is, then what it says.
"""

from __future__ import annotations

from typing import TypedDict

import msgspec

from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubesim.api.binding import BINDING, bind
from kubesim.api.eviction import EVICTION, evict
from kubesim.api.pod_shortcuts import Shortcuts
from kubesim.api.verbs import Verbs
from kubesim.api.writer import Writer, shown_deletion
from kubesim.auth.rbac import Access, attributes_of
from kubesim.bodies import decoding as bodies
from kubesim.bodies.decoding import Expected
from kubesim.errors import StatusError, bad_request, invalid_options, not_found, uid_precondition, unsupported
from kubesim.kinds.registry import JOBS, PODS, Kind
from kubesim.patches.managers import Manager, complain, configuration_of, is_apply, manager_of
from kubesim.patches.patch import STRATEGIC_PATCH, accepted, kind_of
from kubesim.requests.access_reviews import AccessReviews
from kubesim.requests.escalation import Escalation
from kubesim.requests.paths import Target
from kubesim.rules.roles import RBAC
from kubesim.schema import numbers
from kubesim.store.versions import Tree, Version
from kubesim.strategies import subresources
from kubesim.typed.types import Typed
from kubesim.writes import deletion
from kubesim.writes.asking import Write
from kubesim.writes.field_validation import Examine, examiner
from kubesim.writes.parts import same_name

_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_POSTED = {
    "binding": BINDING,
    "eviction": EVICTION,
    "token": Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest"),
}
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_TWICE = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
_GONE = 404
_FALSE = ("", "0", "false")


class _Wish(TypedDict):
    """What every write is told of its request."""

    user: str
    dry_run: bool


def _examiner(request: Request, kind: Kind, subresource: str, writer: Writer) -> Examine:
    """Programs of the cluster's own send whole objects as they are stored; what a patch makes is decoded anyway."""
    if writer.user.is_inside and request.method != "PATCH":
        return _as_it_is
    return examiner(request, kind, subresource, writer.warnings)


def _as_it_is(tree: Tree) -> Tree:
    return Typed(tree)


def _manager(request: Request, writer: Writer) -> Manager | None:
    return None if writer.user.is_inside else manager_of(request, writer.warnings)


class Writing:
    """Carries out creations, changes and deletions."""

    def __init__(self, verbs: Verbs, access: Access, access_reviews: AccessReviews, shortcuts: Shortcuts) -> None:
        self._verbs = verbs
        self._shortcuts = shortcuts
        self._access = access
        self._access_reviews = access_reviews
        self._escalation = Escalation(verbs.store, access)

    async def create(self, target: Target, request: Request, writer: Writer) -> Tree:
        """What was made."""
        kind, writes = target.kind, self._verbs.writes
        resource, place = kind.resource, (target.namespace, target.name)
        bodies.limited(request)
        wish: _Wish = {"user": writer.user.name, "dry_run": is_dry(request)}
        if target.subresource not in _POSTED:
            examine = _examiner(request, kind, "", writer)
            manager = _manager(request, writer)
            tree = bodies.object_in(request, Expected(resource, kind.custom is not None, examine))
            tree = examine(tree)
            _name_owners_once(tree, writer.warnings)
            if kind.answered:
                return self._access_reviews.answer(kind, target.namespace, tree, writer.user, manager)
            write = writes.create(resource, target.namespace, tree, manager=manager, **wish)
            return await writer.carried_out(self._guarded(write, target, writer))
        examine = _examiner(request, kind, target.subresource, writer)
        tree = examine(bodies.object_in(request, Expected(_POSTED[target.subresource])))
        if target.subresource == "token":
            return self._access_reviews.token_request(*place, tree, _manager(request, writer))
        post = bind if target.subresource == "binding" else evict
        return await writer.carried_out(post(writes, *place, tree, **wish))

    async def change(self, target: Target, request: Request, writer: Writer) -> tuple[bool, Tree]:
        """Whether the object was not there before, and what it is then."""
        kind, subresource = target.kind, target.subresource
        if request.method == "PATCH":
            accepted(request.content_type, custom=kind.custom is not None)
        bodies.limited(request)
        wish: _Wish = {"user": writer.user.name, "dry_run": is_dry(request)}
        place = kind.resource, target.namespace, target.name
        examine = _examiner(request, kind, subresource, writer)
        shown = subresources.SCALE if subresource == "scale" else kind.resource
        expected = Expected(shown, kind.custom is not None, examine)
        existed = (target.namespace, target.name) in self._verbs.store.table(kind.storage).live
        writes, manager = self._verbs.writes, _manager(request, writer)
        if is_apply(request):
            config, twice = configuration_of(request.body)
            complain(request, twice, writer.warnings)
            if kind.custom is not None:
                config = numbers.read(config)
            applier = manager_of(request, writer.warnings)
            write = writes.apply(*place, config, subresource=subresource, manager=applier, **wish)
        elif request.method == "PATCH":
            if not existed:  # which the server finds out before it looks at the patch
                raise not_found(kind.resource, target.name)
            strategic = kind_of(request.content_type) == STRATEGIC_PATCH

            def made(tree: Tree) -> Tree:
                sent = _placed(target, examine(bodies.settled(tree, expected, strategic=strategic)))
                _name_owners_once(sent, writer.warnings, " after mutating admission happens")
                return sent

            content = request.content_type, request.body
            write = writes.patch(*place, *content, subresource=subresource, examine=made, manager=manager, **wish)
        else:
            sent = _placed(target, examine(bodies.object_in(request, expected)))
            _name_owners_once(sent, writer.warnings)
            if subresource == "scale":
                self._same_uid(target, sent, dry_run=wish["dry_run"])
            write = writes.update(*place, sent, subresource=subresource, manager=manager, **wish)
        creates = (
            not existed
            and not subresource
            and (is_apply(request) or (request.method == "PUT" and kind.create_on_update))
        )
        if creates:
            self._access.demand(writer.user, msgspec.structs.replace(attributes_of(request), verb="create"))
        return creates, await writer.carried_out(self._guarded(write, target, writer))

    def _guarded(self, write: Write, target: Target, writer: Writer) -> Write:
        """The write; one of roles or bindings gives nobody more rights than who sends it has."""
        if target.kind.resource.group != RBAC or writer.user.is_master:
            return write
        return self._escalation.guarded(write, writer.user, target.kind, target.namespace, target.name)

    def _same_uid(self, target: Target, scale: Tree, *, dry_run: bool) -> None:
        """A Scale that carries a UID replaces that of the same object only."""
        resource, place = target.kind.resource, (target.namespace, target.name)
        found, wanted = self._verbs.store.table(target.kind.storage).live.get(place), scale["metadata"].get("uid")
        if found is not None and wanted and wanted != found.head.uid:
            raise uid_precondition(resource, *place, wanted, found.head.uid, dry_run=dry_run)

    async def delete(self, target: Target, request: Request, writer: Writer) -> tuple[int, Tree | bytes]:
        """The code of the answer, and the object or that it is gone."""
        wanted, wish = self._deletion(target, request, writer)
        if target.kind.resource == PODS and not wish["dry_run"]:
            body = self._shortcuts.delete(target.namespace, target.name, wanted, writer.user.name)
            if body is not None:
                return 200, body
        write = self._verbs.writes.removals.delete(target.kind.resource, target.namespace, target.name, wanted, **wish)
        answer = await writer.carried_out(write)
        held = "deletionTimestamp" in (answer.get("metadata") or {}) and (answer["metadata"].get("finalizers") or [])
        return (202 if held and writer.options.get("orphanDependents") is False else 200), answer

    async def delete_all(self, target: Target, request: Request, writer: Writer, versions: list[Version]) -> None:
        """Deletes these objects; what is gone meanwhile is passed over."""
        wanted, wish = self._deletion(target, request, writer)
        for version in versions:
            resource = target.kind.resource
            write = self._verbs.writes.removals.delete(resource, *version.key, wanted, collection=True, **wish)
            try:
                await writer.carried_out(write, limited=False)
            except StatusError as error:
                if error.code != _GONE:
                    raise

    def _deletion(self, target: Target, request: Request, writer: Writer) -> tuple[deletion.Options, _Wish]:
        """The options in the body, or those in the query when there is none."""
        bodies.limited(request)
        version = target.kind.resource.api_version
        given = bodies.options_in(request, version) if request.body else _asked(request)
        writer.options = shown_deletion(given)
        wanted, dry_run = deletion.options_of(given)
        if target.kind.resource == JOBS and not wanted.propagation:
            writer.warnings.append(_PODS_STAY)
        return wanted, {"user": writer.user.name, "dry_run": dry_run}


def _placed(target: Target, sent: Tree) -> Tree:
    """What was sent; a Scale says of whom it is, as any other object does."""
    if target.subresource == "scale":
        metadata = sent.get("metadata") or {}
        if metadata.get("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        same_name({"metadata": metadata}, target.name)
    return sent


def _name_owners_once(tree: Tree, warnings: list[str], when: str = "") -> None:
    """Leaves out, in place, owners that the object has already, and warns about them."""
    metadata = tree.get("metadata")
    found = metadata.get("ownerReferences") if metadata else None
    if not metadata or not found or len(found) == 1:
        return
    owners: list[Tree] = []
    twice: list[str] = []
    for each in found:
        if each in owners:
            twice.append(each.get("uid") or "")
        else:
            owners.append(each)
    if twice:
        metadata["ownerReferences"] = owners
        warnings.append(_TWICE.format(when=when, uids=", ".join(twice)))


def _asked(request: Request) -> Tree:
    """The options of a deletion that a query carries."""
    query = dict(request.query)
    options: Tree = {}
    preconditions = {key: query[key] for key in ("uid", "resourceVersion") if query.get(key)}
    if preconditions:
        options["preconditions"] = preconditions
    grace = query.get("gracePeriodSeconds", "")
    if grace:
        if not grace.lstrip("+-").isdecimal():
            raise bad_request(f'strconv.ParseInt: parsing "{grace}": invalid syntax')
        options["gracePeriodSeconds"] = int(grace)
    if "propagationPolicy" in query:
        options["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        options["orphanDependents"] = query["orphanDependents"].lower() not in _FALSE
    if wishes := _dry_runs(request):
        options["dryRun"] = wishes
    return options


def _dry_runs(request: Request) -> list[str]:
    return [value for key, value in request.query if key == "dryRun"]


def is_dry(request: Request) -> bool:
    """Whether nothing is to be stored."""
    wishes = _dry_runs(request)
    if any(wish != "All" for wish in wishes):
        raise invalid_options(_OPTIONS[request.method], [unsupported("dryRun", wishes, ("All",))])
    return bool(wishes)

"""What is stored moves: every object once, in any order of accidents, and only then is the old version forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from fairlead.contracts.apiversions.commands import codes
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import Conflict, KubeError, NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.stored_widgets import (
    NAME,
    NEW,
    OLD,
    QUICK,
    a_version,
    apply,
    each_of,
    move_storage,
    read,
    stored_in_v1,
    stored_versions,
    untrack,
    versions_of,
    widgets,
    with_versions,
)

MANY = 1200


class Meddled:
    """A transport before whose requests something else may happen, and which counts them."""

    def __init__(self, transport: Transport, before: Callable[[Request], Awaitable[None]]) -> None:
        self._transport = transport
        self._before = before

    async def send(self, sent: Request) -> Response:
        await self._before(sent)
        return await self._transport.send(sent)

    async def close(self) -> None:
        close = getattr(self._transport, "close", None)
        if close is not None:
            await close()

    def stream(self, sent: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(sent)


def is_rewrite(sent: Request) -> bool:
    return sent.method == "PATCH" and "/widgets/" in sent.path


async def migrate(site: Site, *more: str, client: Client | None = None) -> Ran:
    return await api(client or site.client, "migrate", NAME, *QUICK, "--journal", site.namespace, *more)


async def journal(site: Site) -> Tree:
    found = await read(site.client, Ref(CONFIGMAPS, site.namespace, migration_name(NAME)))
    tree: Tree = msgspec.json.decode(found["data"]["journal"])
    return tree


@everywhere(controllers=False, on=("sim", "real", "older"))
async def test_every_object_is_written_once_and_the_old_version_can_be_removed(site: Site) -> None:
    """A11."""
    await stored_in_v1(site, MANY)
    before = await versions_of(site)
    writes: list[str] = []

    async def count(sent: Request) -> None:
        if is_rewrite(sent):
            writes.append(sent.path)

    client = Client(Meddled(site.ground.transport("admin"), count))

    ran = await migrate(site, "-o", "json", client=client)

    await client.close()
    after = await versions_of(site)
    assert (ran.code, ran.err) == (codes.DONE, "")
    assert ran.tree == [{"crd": NAME, "result": "Clean", "storageVersion": "v2", "rewritten": MANY}]
    assert len(writes) == len(set(writes)) == MANY
    assert all(after[name] != version for name, version in before.items())
    assert await stored_versions(site.client) == ["v2"]
    await with_versions(site.client, a_version("v1", served=False), a_version("v2", storage=True))
    await with_versions(site.client, a_version("v2", storage=True))
    again = await migrate(site)
    assert (again.code, "nothing to do" in again.out) == (codes.DONE, True)


@everywhere(controllers=False, long=True)
async def test_a_killed_run_goes_on_behind_its_cursor(site: Site) -> None:
    """A12."""
    await stored_in_v1(site, MANY)
    before = await versions_of(site)
    killed = asyncio.Event()
    writes: list[str] = []

    async def until_page_three(sent: Request) -> None:
        if is_rewrite(sent):
            writes.append(sent.path)
            if len(writes) == 520:
                killed.set()
                await asyncio.Event().wait()

    mortal = Client(Meddled(site.ground.transport("admin"), until_page_three))
    life = asyncio.create_task(migrate(site, "--page-size", "250", client=mortal))
    await killed.wait()
    assert (await journal(site))["phase"] == "Rewrite"
    life.cancel()

    first = await life
    second_writes: list[str] = []

    async def count(sent: Request) -> None:
        if is_rewrite(sent):
            second_writes.append(sent.path)

    counting = Client(Meddled(site.ground.transport("admin"), count))
    second = await migrate(site, "--page-size", "250", client=counting)

    await mortal.close()
    await counting.close()
    assert first.code == codes.RESUMABLE
    assert "run `fairlead api migrate" in first.err
    assert second.code == codes.DONE
    assert len(second_writes) == MANY - 500
    after = await versions_of(site)
    assert all(after[name] != version for name, version in before.items())
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False)
async def test_an_object_that_may_not_be_written_is_named_and_nothing_is_forgotten(site: Site) -> None:
    """A13."""
    await stored_in_v1(site, 20)
    await deny_updates(site, "w-7")

    ran = await migrate(site, "-o", "json")

    assert ran.code == codes.OBJECTS_FAILED
    (result,) = ran.tree
    (failure,) = result["failures"]
    assert failure["object"] == f"{site.namespace}/w-7"
    assert "not w-7" in failure["cause"]
    assert await stored_versions(site.client) == ["v1", "v2"]
    assert (await journal(site))["phase"] == "Incomplete"


@everywhere(controllers=False)
async def test_a_storage_version_that_changes_back_is_a_conflict(site: Site) -> None:
    """A14."""
    await stored_in_v1(site, 40)
    done: list[str] = []

    async def meddle(sent: Request) -> None:
        if is_rewrite(sent) and not done:
            done.append(sent.path)
            await move_storage(site, OLD)

    client = Client(Meddled(site.ground.transport("admin"), meddle))

    ran = await migrate(site, "--page-size", "10", client=client)

    await client.close()
    assert ran.code == codes.CHANGED
    assert "its storage version is v1 now and was v2" in ran.out
    assert await stored_versions(site.client) == ["v1", "v2"]


@everywhere(controllers=False)
async def test_a_definition_that_changes_otherwise_is_proven_anew(site: Site) -> None:
    """Section 3.5: its generation is another one, and its versions are the same."""
    await stored_in_v1(site, 20)
    done: list[str] = []

    async def meddle(sent: Request) -> None:
        if is_rewrite(sent) and not done:
            done.append(sent.path)
            await move_storage(site, OLD)
            await move_storage(site, NEW)

    client = Client(Meddled(site.ground.transport("admin"), meddle))

    ran = await migrate(site, "--page-size", "10", client=client)

    await client.close()
    assert (ran.code, ran.err) == (codes.DONE, "")
    assert (await journal(site))["changes"] == 1
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False)
async def test_owners_of_fields_stay_and_nobody_is_invented(site: Site) -> None:
    """A39."""
    await stored_in_v1(site, 0)
    await move_storage(site, OLD)
    names = [f"w-{number}" for number in range(30)]
    await each_of(names, lambda name: apply(site, name, manager="a"))
    await each_of(names[:10], lambda name: untrack(site, name))
    await move_storage(site, NEW)

    ran = await migrate(site)

    assert (ran.code, ran.err) == (codes.DONE, "")
    found = await widgets(site)
    assert not [name for name in names[:10] if found[name]["metadata"].get("managedFields")]
    managers = {each["manager"] for name in names[10:] for each in found[name]["metadata"]["managedFields"]}
    assert managers == {"a"}
    for name in names[10:]:
        try:
            await apply(site, name, manager="a", colour="blue", via=NEW)
        except Conflict as error:
            raise AssertionError(f"{name} has another owner") from error
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False)
async def test_a_dry_run_changes_no_version_of_anything(site: Site) -> None:
    """Section 2.3."""
    await stored_in_v1(site, 12)
    before = await versions_of(site)

    ran = await migrate(site, "--dry-run")

    assert ran.code == codes.DONE
    assert "nothing was written; every object could be (12 tried)" in ran.out
    assert await versions_of(site) == before
    assert await stored_versions(site.client) == ["v1", "v2"]
    assert await absent(site, Ref(CONFIGMAPS, site.namespace, migration_name(NAME)))


async def absent(site: Site, ref: Ref) -> bool:
    try:
        await read(site.client, ref)
    except NotFound:
        return True
    return False


async def deny_updates(site: Site, name: str) -> None:
    """By a policy; returns when it is in force."""
    from tests.e2e.clusters import _ADMISSION, _POLICIES

    bindings = next(each for each in _ADMISSION if each.kind == "ValidatingAdmissionPolicyBinding")
    policy = {
        "metadata": {"name": "keep-it"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["example.test"],
                        "apiVersions": ["*"],
                        "operations": ["UPDATE"],
                        "resources": ["widgets"],
                    }
                ]
            },
            "validations": [{"expression": f"object.metadata.name != '{name}'", "message": f"not {name}"}],
        },
    }
    binding = {"metadata": {"name": "keep-it"}, "spec": {"policyName": "keep-it", "validationActions": ["Deny"]}}
    for resource, tree in ((_POLICIES, policy), (bindings, binding)):
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        await site.client.call(request.create(resource, "", msgspec.json.encode(named)))

    async def is_in_force() -> bool:
        body = msgspec.json.encode({"metadata": {"labels": {"tried": "yes"}}})
        tried = request.dry(request.patch(Ref(NEW, site.namespace, name), request.MERGE_PATCH, body))
        try:
            await site.client.call(tried)
        except KubeError as error:
            return f"not {name}" in str(error)
        return False

    await site.until(is_in_force, every=0.1)


@everywhere(controllers=False, on=("sim",))
async def test_what_stands_in_the_way_is_said_in_a_sentence(site: Site) -> None:
    """Section 2.3."""
    unknown = await migrate(site)
    assert (unknown.code, "there is no CRD widgets.example.test" in unknown.err) == (codes.ERROR, True)
    await stored_in_v1(site, 3)

    nowhere = await api(site.client, "migrate", NAME, *QUICK, "--journal", "nowhere")

    assert nowhere.code == codes.PRECONDITION
    assert "the namespace nowhere for the journal does not exist" in nowhere.err


@everywhere(controllers=False, on=("sim",))
async def test_two_runs_exclude_each_other(site: Site) -> None:
    """Section 3.5."""
    await stored_in_v1(site, 5)
    held = asyncio.Event()

    async def slow(sent: Request) -> None:
        if is_rewrite(sent):
            held.set()
            await asyncio.sleep(100)

    one = asyncio.create_task(migrate(site, client=Client(Meddled(site.ground.transport("admin"), slow), timeout=500)))
    await held.wait()

    other = await migrate(site)

    one.cancel()
    assert other.code == codes.PRECONDITION
    assert "another run is at work" in other.err
    assert (await one).code == codes.RESUMABLE
    assert (await migrate(site)).code == codes.DONE


@everywhere(controllers=False, on=("sim",))
async def test_objects_are_not_written_where_that_would_drop_fields(site: Site) -> None:
    """Section 3.5: nobody converts, and what v1 knows v2 prunes."""
    await stored_in_v1(site, 3)
    narrow = a_version("v2", storage=True)
    narrow["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    await with_versions(site.client, a_version("v1"), narrow)
    before = await versions_of(site)

    ran = await migrate(site)

    assert ran.code == codes.PRECONDITION
    assert "drops /spec/colour, /spec/size, /status of what is stored in v1" in ran.err
    assert await versions_of(site) == before


@everywhere(controllers=False, on=("sim",))
async def test_some_namespaces_are_migrated_without_pruning(site: Site) -> None:
    """Section 3.5: objects elsewhere may be stored in the old version still."""
    await stored_in_v1(site, 7)
    before = await versions_of(site)

    ran = await migrate(site, "--namespace", site.namespace)

    assert (ran.code, "storedVersions stays" in ran.out) == (codes.DONE, True)
    assert not set((await versions_of(site)).items()) & set(before.items())
    assert await stored_versions(site.client) == ["v1", "v2"]

    await migrate(site)
    again = await migrate(site, "--force", "--namespace", "nowhere")
    assert again.out == f"{NAME}: only some namespaces were migrated, so storedVersions stays (0 written)\n"


@everywhere(controllers=False)
async def test_objects_that_admission_refuses_can_be_written_through_their_status(site: Site) -> None:
    """B10: a policy about the objects themselves does not see it."""
    await stored_in_v1(site, 9)
    await deny_updates(site, "w-7")

    ran = await migrate(site, "--via-status")

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False, on=("sim",))
async def test_every_effect_is_in_the_audit_file(site: Site, tmp_path: Path) -> None:
    """Section 2.3."""
    await stored_in_v1(site, 4)
    audit = tmp_path / "audit.jsonl"

    ran = await migrate(site, "--audit", str(audit))

    lines = [msgspec.json.decode(line) for line in audit.read_bytes().splitlines()]
    assert ran.code == codes.DONE
    assert [each["does"] for each in lines].count("rewrite-object") == 4
    assert [each["does"] for each in lines].count("forget-versions") == 1
    assert {each["outcome"] for each in lines} == {"ok"}


@everywhere(controllers=False, on=("sim",))
async def test_progress_is_told_as_lines_of_json(site: Site) -> None:
    """Section 2.3."""
    await stored_in_v1(site, 30)
    words = ("--settle", "0s", "--qps", "5", "--burst", "1", "--page-size", "5", "--progress", "json")

    ran = await api(site.client, "migrate", NAME, *words, "--journal", site.namespace)

    lines = [msgspec.json.decode(line) for line in ran.err.splitlines()]
    phases = list(dict.fromkeys(each["phase"] for each in lines))
    assert phases == ["Settle", "Checkpoint", "Refs", "Choose", "Rewrite", "Verify", "Prune", "Clean"]
    rewriting = [each for each in lines if each["phase"] == "Rewrite"]
    assert len(rewriting) >= 3
    assert rewriting[-1]["total"] == 30
    assert rewriting[1].keys() >= {"crd", "phase", "done", "total", "skipped", "failed", "rate", "etaSeconds", "cursor"}

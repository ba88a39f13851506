"""Acceptance scenarios 30 to 32 of the zone contract on its real process: certificate, CA injection, expiry."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from fairlead.plane.launch import free_port
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.pairs import LOCAL, SECRET, a_pair, entries_of, keys, names_of, store, stored
from tests.e2e.processes import calling, contract, local, review, started
from tests.e2e.programs import finished
from tests.e2e.webhooks import MUTATING, VALIDATING, rule
from tests.e2e.zones import change, statefulset

KEYS = ["ca", "cert", "key"]
INJECT = "grafana.com/inject-rollout-operator-ca"
NAMESPACE = "grafana.com/namespace"
LIFE = 20
"""Seconds for which a certificate of scenario 32 is valid; making its keys takes the first few of them."""

Entries = dict[str, bytes]


@everywhere(controllers=False, on=("served", "real"))
async def test_30_certificate_is_made_and_used_again_after_a_restart(site: Site) -> None:
    name = f"rollout-operator.{site.namespace}.svc"

    async with started(contract(site)) as process:
        port = await process.port()
        made = await site.get(SECRETS, SECRET)
        assert made is not None
        async with calling(port, entries_of(made)["ca"], name) as caller:
            answer = await caller.ask("no-downscale", an_update())
        first = await process.stop()
    async with started(contract(site)) as process:
        await process.port()
        second = await process.stop()

    assert (answer["allowed"], first, second) == (True, 0, 0)
    assert (sorted(made["data"]), made["type"]) == (KEYS, "Opaque")
    assert names_of(entries_of(made)["cert"]) == [name]
    assert entries_of(made)["key"].startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert await site.get(SECRETS, SECRET) == made


@everywhere(controllers=False, on=("served",))
@pytest.mark.parametrize(
    "given",
    [
        pytest.param(dict, id="empty data is filled"),
        pytest.param(lambda: a_pair(left=timedelta(seconds=-1)), id="an expired certificate is replaced"),
    ],
)
async def test_30_certificate_that_is_no_use_is_made_anew(site: Site, given: Callable[[], Entries]) -> None:
    before = await store(site, given())

    async with started(local(site)) as process:
        port = await process.port()
        made = await stored(site)
        async with calling(port, made["ca"]) as caller:
            answer = await caller.ask("no-downscale", an_update())

    assert answer["allowed"]
    assert sorted(made) == KEYS
    assert made != entries_of(before)


@everywhere(controllers=False, on=("served", "real"))
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param(lambda pair: {**pair, "key": b""}, "has no key", id="no key"),
        pytest.param(lambda pair: {"cert": pair["cert"]}, "has no ca and no key", id="only a certificate"),
        pytest.param(
            lambda pair: {**pair, "cert": pair["cert"][: len(pair["cert"]) // 2]},
            "cannot be read",
            id="half a certificate",
        ),
        pytest.param(
            lambda pair: {**pair, "cert": pair["ca"]}, "do not belong together", id="the certificate of another key"
        ),
    ],
)
async def test_30_broken_certificate_ends_the_start_and_is_left_alone(
    site: Site, broken: Callable[[Entries], Entries], said: str
) -> None:
    given = await store(site, broken(a_pair()))

    answer = await finished(*local(site))

    assert answer.code == 1
    *_, sentence = answer.err.splitlines()
    assert sentence.startswith(f"rollout-operator: Secret {SECRET} ")
    assert said in sentence
    assert "delete it to have a new certificate made" in sentence
    assert await site.get(SECRETS, SECRET) == given


@everywhere(controllers=False, on=("served", "real"))
async def test_30_of_two_processes_that_start_at_once_one_makes_the_certificate_of_both(site: Site) -> None:
    versions = []
    async with started(local(site)) as first, started(local(site)) as second:
        for process in (first, second):
            port = await process.port()
            made = await site.get(SECRETS, SECRET)
            assert made is not None
            versions.append(made["metadata"]["resourceVersion"])
            async with calling(port, entries_of(made)["ca"]) as caller:
                assert (await caller.ask("no-downscale", an_update()))["allowed"]

    assert versions[0] == versions[1]


@everywhere(controllers=False, on=("served",))
async def test_30_certificate_for_another_name_is_replaced(site: Site) -> None:
    """H-11: the Service was renamed."""
    await store(site, a_pair("rollout-operator.before.svc"))

    async with started(local(site)) as process:
        await process.port()

    assert names_of((await stored(site))["cert"]) == [LOCAL]


@everywhere(controllers=False, on=("served",))
async def test_30_own_files_are_served_and_nothing_is_written(site: Site, tmp_path: Path) -> None:
    pair = a_pair()
    await configured(site, "labelled", VALIDATING)
    before = await of(site, "labelled", VALIDATING)

    async with started(with_files(site, tmp_path, pair)) as process:
        async with calling(await process.port(), pair["ca"]) as caller:
            answer = await caller.ask("no-downscale", an_update())
        await process.said("msg=ready")

    assert answer["allowed"]
    assert await site.get(SECRETS, SECRET) is None
    assert await of(site, "labelled", VALIDATING) == before


@everywhere(controllers=False, on=("served",))
@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(lambda: a_pair() | {"key": b"no key"}, "cannot be read", id="a key that is none"),
        pytest.param(lambda: a_pair(left=timedelta(seconds=-1)), "has expired", id="an expired certificate"),
    ],
)
async def test_30_own_files_that_cannot_be_used_end_the_start(
    site: Site, tmp_path: Path, given: Callable[[], Entries], said: str
) -> None:
    answer = await finished(*with_files(site, tmp_path, given()))

    assert answer.code == 1
    assert said in answer.err.splitlines()[-1]
    assert str(tmp_path) in answer.err.splitlines()[-1]


@everywhere(controllers=False, on=("served", "real"))
async def test_31_labelled_configurations_get_the_authority_and_keep_it(site: Site) -> None:
    await store(site, pair := a_pair())
    ours = (("validating", VALIDATING), ("mutating", MUTATING))
    for name, kind in ours:
        await configured(site, name, kind, entries=2)
    others: tuple[tuple[str, dict[str, str]], ...]
    others = ("unlabelled", {}), ("elsewhere", {INJECT: "true", NAMESPACE: "elsewhere"}), ("mute", {INJECT: "false"})
    for name, labels in others:
        await configured(site, name, VALIDATING, labels=labels)
    before = [await of(site, name, VALIDATING) for name, _ in others]

    async with started(local(site)) as process:
        await process.port()
        at_start = [await bundles(site, name, kind) for name, kind in ours]
        for name, kind in ours:
            await clear(site, name, kind)
        for name, kind in ours:
            await until_restored(site, name, kind, pair)
        await process.said("msg=ready")

    assert at_start == [[pair["ca"]] * 2] * 2
    assert [await of(site, name, VALIDATING) for name, _ in others] == before


@everywhere(controllers=False, on=("real",))
async def test_31_api_server_reaches_the_process_through_what_was_injected(site: Site) -> None:
    await store(site, a_pair())
    guarded = statefulset("guarded", labels={"grafana.com/no-downscale": "true"})
    await site.create(STATEFULSETS, guarded)
    port = free_port()
    await registered(site, port)

    async with started((*local(site), f"-server-tls.port={port}")) as process:
        await process.port()
        await site.until(lambda: denied(site, "guarded"), every=0.1)
        await change(site, STATEFULSETS, "guarded", {"spec": {"replicas": 4}})
        code = await process.stop()

    found = await site.get(STATEFULSETS, "guarded")
    assert found is not None
    assert found["spec"]["replicas"] == 4
    assert code == 0


@everywhere(controllers=False, on=("served",))
async def test_31_secret_that_is_deleted_is_not_missed_before_a_restart(site: Site) -> None:
    """E-25: then another certificate is made, stored and trusted."""
    await store(site, old := a_pair())
    await configured(site, "labelled", VALIDATING)

    async with started(local(site)) as process, calling(await process.port(), old["ca"]) as caller:
        await site.client.call(delete(Ref(SECRETS, site.namespace, SECRET)))
        assert (await caller.ask("no-downscale", an_update()))["allowed"]
        missing = await site.get(SECRETS, SECRET)
    async with started(local(site)) as process:
        port = await process.port()
        new = await stored(site)
        async with calling(port, new["ca"]) as caller:
            assert (await caller.ask("no-downscale", an_update()))["allowed"]

    assert missing is None
    assert new["ca"] != old["ca"]
    assert await bundles(site, "labelled", VALIDATING) == [new["ca"]]


@everywhere(controllers=False, on=("served", "real"))
async def test_31_configuration_that_somebody_keeps_overwriting_has_the_authority_in_the_end(site: Site) -> None:
    """And what that somebody wrote beside it."""
    await store(site, pair := a_pair())
    await configured(site, "contested", VALIDATING)

    async with started(local(site)) as process:
        await process.port()
        for round_ in range(4):
            await clear(site, "contested", VALIDATING, seconds=round_ + 1)
            await clear(site, "contested", VALIDATING, seconds=round_ + 1)
            await until_restored(site, "contested", VALIDATING, pair)

    assert [each["timeoutSeconds"] for each in (await of(site, "contested", VALIDATING))["webhooks"]] == [4]


@everywhere(controllers=False, on=("served",))
async def test_32_process_ends_with_its_certificate_and_the_next_one_makes_another(site: Site) -> None:
    await configured(site, "labelled", VALIDATING)
    flags = (f"-server-tls.self-signed-cert.expiration={LIFE}s",)

    async with started(local(site, *flags)) as process:
        port = await process.port()
        old = await stored(site)
        async with calling(port, old["ca"]) as caller:
            assert (await caller.ask("no-downscale", an_update()))["allowed"]
        code = await process.ended()
        ended_at = datetime.now(UTC)
        await process.said("certificate expired")
    async with started(local(site)) as process:
        port = await process.port()
        new = await stored(site)
        async with calling(port, new["ca"]) as caller:
            assert (await caller.ask("no-downscale", an_update()))["allowed"]

    assert code == 0
    assert (
        timedelta() <= ended_at - x509.load_pem_x509_certificate(old["cert"]).not_valid_after_utc < timedelta(seconds=5)
    )
    assert new["ca"] != old["ca"]
    assert await bundles(site, "labelled", VALIDATING) == [new["ca"]]


def an_update() -> Tree:
    """A review that asks nothing of the cluster."""
    keys()  # made before anybody waits for an answer
    tree = statefulset("a")
    return review(tree, tree)


def with_files(site: Site, folder: Path, pair: Entries) -> tuple[str, ...]:
    """The contract's process with a certificate of somebody else."""
    for key in ("cert", "key"):
        (folder / key).write_bytes(pair[key])
    return (
        *contract(site),
        "-server-tls.self-signed-cert.enabled=false",
        f"-server-tls.cert-file={folder / 'cert'}",
        f"-server-tls.key-file={folder / 'key'}",
        "-webhooks.update-ca-bundle=false",
    )


async def configured(
    site: Site, name: str, kind: Resource, *, labels: dict[str, str] | None = None, entries: int = 1
) -> None:
    """A webhook configuration about nothing that exists; labelled for the site's operator unless said otherwise."""
    ours = {INJECT: "true", NAMESPACE: site.namespace}
    hooks = [
        {
            "name": f"hook-{number}.fairlead.test",
            "clientConfig": {"url": f"https://{LOCAL}:1/"},
            "rules": [rule("CREATE", "nothing", "fairlead.test")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for number in range(entries)
    ]
    tree = {"metadata": {"name": f"{name}-{site.namespace}", "labels": ours if labels is None else labels}}
    await site.create(kind, {**tree, "webhooks": hooks})


async def registered(site: Site, port: int) -> None:
    """The no-downscale webhook as users register it: whom to trust is left to the operator."""
    hook = {
        "name": "no-downscale.fairlead.test",
        "clientConfig": {"url": f"https://{LOCAL}:{port}/admission/no-downscale"},
        "rules": [rule("UPDATE", "statefulsets statefulsets/scale", "apps", "v1")],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    labels = {INJECT: "true", NAMESPACE: site.namespace}
    metadata = {"name": f"no-downscale-{site.namespace}", "labels": labels}
    await site.create(VALIDATING, {"metadata": metadata, "webhooks": [hook]})


async def denied(site: Site, name: str) -> bool:
    """Whether the API server refuses to scale it down in the words of the webhook."""
    try:
        await change(site, STATEFULSETS, name, {"spec": {"replicas": 1}, "metadata": {"annotations": {"tried": "yes"}}})
    except ApiError as error:
        return "grafana.com/no-downscale=true" in str(error)
    return False


async def of(site: Site, name: str, kind: Resource) -> Tree:
    found = await site.get(kind, f"{name}-{site.namespace}")
    assert found is not None
    return found


async def bundles(site: Site, name: str, kind: Resource) -> list[bytes]:
    found = [each["clientConfig"].get("caBundle", "") for each in (await of(site, name, kind))["webhooks"]]
    return list(entries_of({"data": dict(enumerate(found))}).values())


async def clear(site: Site, name: str, kind: Resource, seconds: int = 10) -> None:
    """Somebody applies the configuration as it is in a file, without a bundle."""
    hooks = (await of(site, name, kind))["webhooks"]
    for hook in hooks:
        hook["clientConfig"]["caBundle"] = b64encode(b"").decode()
        hook["timeoutSeconds"] = seconds
    await change(site, kind, f"{name}-{site.namespace}", {"webhooks": hooks})


async def until_restored(site: Site, name: str, kind: Resource, pair: Entries) -> None:
    async def restored() -> bool:
        return set(await bundles(site, name, kind)) == {pair["ca"]}

    await site.until(restored, every=0.05)

"""Certificates that change while everybody is called: A26 to A28, and what goes wrong around them."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from fairlead.contracts.apiversions.kubelet_nudge import KubeletNudge
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.core.decision import Decision
from fairlead.engine.certificates import pairs
from fairlead.engine.failed_passes import FAILING
from fairlead.engine.metrics import Metrics
from fairlead.engine.part import PartContext
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.handshake import served_leaf
from kubeloop.objects.admissionregistration import VALIDATING
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Transport, path_of
from kubesim.pki import Authority
from tests.e2e.api_commands import api
from tests.e2e.certifying import SECRET, CertificateWorld, a_certificate_world, bundle_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.conversions import NAME
from tests.e2e.definitions import tree_of
from tests.e2e.pairs import LOCAL
from tests.e2e.processes import started
from tests.e2e.service_proxy import a_pod, pod
from tests.e2e.zones import change
from tests.engine.alone import caches_of, decided_again
from tests.engine.world import Log


async def ready(world: CertificateWorld, site: Site) -> None:
    await site.until(lambda: all(not each.kept.obstacle() for each in world.replicas), every=0.05)
    await world.publish()


async def steady(world: CertificateWorld, site: Site, *, reads: bool = True) -> None:
    """A definition that trusts two replicas, the first of which leads; a loop of reads has begun."""
    first, *_ = world.replicas
    await first.lead()
    await ready(world, site)
    await world.define(first.kept.bundle())
    await site.until(lambda: bool(world.bundles()))
    await world.get_once()
    world.begin(reads=reads)


@everywhere(controllers=False)
async def test_a26_a_rotation_fails_no_read_and_writes_the_definition_twice(site: Site) -> None:
    async with a_certificate_world(site, overlap=5.0) as world:
        await steady(world, site)
        before, generation = await world.secret(), (await world.definition())["metadata"]["generation"]

        ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "done")
        await site.until(lambda: world.replicas[0].reasons == ["CertificateRotated"], every=0.1)
        await site.until(lambda: len(world.generations) == 3, every=0.1)

        after, live = await world.secret(), await world.definition()
        assert (ran.code, ran.out) == (0, "the new authority alone is trusted\n")
        assert world.failures == []
        assert world.gets > 20
        assert live["metadata"]["generation"] == generation + 2
        assert bundle_of(live) == after["ca.crt"] != before["ca.crt"]
        assert {each.shown.encode() for each in world.replicas} == {after["tls.crt"]}
        assert sorted(after) == ["ca.crt", "ca.key", "phase", "tls.crt", "tls.key"]
        assert world.seen_bundles == [
            frozenset({before["ca.crt"]}),
            frozenset({before["ca.crt"], after["ca.crt"]}),
            frozenset({after["ca.crt"]}),
        ]
        owners = {
            each["manager"] for each in live["metadata"]["managedFields"] if "f:caBundle" in str(each["fieldsV1"])
        }
        assert "fairlead-ca" in owners
        decided_again(world.replicas[0].rounds)


@everywhere(controllers=False, on=("sim",))
async def test_a_rotation_goes_on_where_the_clock_is_set_back_in_its_middle(site: Site) -> None:
    """By less than what the certificates are valid from before they were made."""
    async with a_certificate_world(site, overlap=5.0) as world:
        await steady(world, site)
        await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "no")
        await site.until(lambda: len(world.seen_bundles) == 2, every=0.05)

        asyncio.get_running_loop().jump(-300.0)  # type: ignore[attr-defined]

        await site.until(lambda: world.replicas[0].reasons == ["CertificateRotated"], within=60, every=0.1)
        assert world.failures == []


@everywhere(controllers=False, on=("sim",))
async def test_a_replica_that_the_leader_does_not_reach_holds_a_rotation_up_and_is_named(site: Site) -> None:
    """Section 3.8: both authorities stay trusted, and people are told whom it waits for."""
    async with a_certificate_world(site, overlap=5.0) as world:
        await steady(world, site)
        leader, other = world.replicas
        world.unreachable.add(other.address)

        ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "no")
        await site.until(lambda: "CertificateUnshown" in leader.reasons, within=300, every=1)

        assert ran.code == 0
        told = next(each for each in leader.told if each.reason == "CertificateUnshown")
        assert f"pod/fairlead-{other.address} ({other.address}:9443): " in told.text
        assert "cannot be reached" in told.text
        assert (await world.secret())["phase"] == b"switched"
        assert len(world.seen_bundles[-1]) == 2
        decided = leader.rounds[-1].made
        assert isinstance(decided, Decision)
        assert decided.verdict.reason.blocks

        world.unreachable.clear()
        await site.until(lambda: leader.reasons[-1] == "CertificateRotated", within=120, every=1)
        assert (await world.secret())["phase"] == b"steady"
        assert world.failures == []


@everywhere(controllers=False, on=("sim",))
async def test_a_secret_that_may_not_be_changed_is_told_and_made_again_once_it_is_deleted(site: Site) -> None:
    async with a_certificate_world(site, overlap=5.0) as world:
        await steady(world, site)
        leader, other = world.replicas
        world.unreachable.add(other.address)
        await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "no")
        await site.until(lambda: "CertificateUnshown" in leader.reasons, within=300, every=1)
        await change(site, SECRETS, SECRET, {"immutable": True})
        world.unreachable.clear()

        await site.until(lambda: leader.reasons[-1] == FAILING, within=120, every=1)

        assert f"patch secrets/{SECRET}" in leader.told[-1].text
        assert "field is immutable" in leader.told[-1].text
        assert world.failures == []

        await site.client.call(request.delete(Ref(SECRETS, site.namespace, SECRET)))
        await site.until(lambda: leader.reasons[-1] == "CertificateRotated", within=120, every=1)


@everywhere(controllers=False, long=True)
async def test_a27_a_pair_of_another_authority_is_trusted_before_it_is_served(site: Site) -> None:
    name = f"fairlead.{site.namespace}.svc"
    async with a_certificate_world(site, source="secret", secret="mine", overlap=2.0) as world:
        old, new = Authority(), Authority()
        first, second = old.server((name,)), new.server((name,))
        await world.store(tls_crt=first.certificate, tls_key=first.key, ca_crt=old.certificate)
        await steady(world, site)

        await world.store(tls_crt=second.certificate, tls_key=second.key, ca_crt=new.certificate)
        await site.until(lambda: len(world.seen_bundles) == 2, every=0.05)
        assert all(each.shown.encode() in first.certificate for each in world.replicas)
        await site.until(lambda: all(each.shown.encode() in second.certificate for each in world.replicas), every=0.05)
        await site.until(lambda: len(world.seen_bundles) == 3, every=0.05)

        assert world.failures == []
        assert [len(each) for each in world.seen_bundles] == [1, 2, 1]
        assert pairs.is_trusted(second.certificate, bundle_of(await world.definition()))
        assert world.replicas[0].sample("fairlead_webhook_cert_reload_total", result="success") == 2
        decided_again(world.replicas[0].rounds)


@everywhere(controllers=False, long=True)
async def test_a28_a_key_that_does_not_match_leaves_the_old_pair_served(site: Site) -> None:
    name = f"fairlead.{site.namespace}.svc"
    async with a_certificate_world(site, source="secret", secret="mine") as world:
        authority = Authority()
        first, second = authority.server((name,)), authority.server((name,))
        await world.store(tls_crt=first.certificate, tls_key=first.key, ca_crt=authority.certificate)
        await steady(world, site)

        await world.store(tls_key=second.key)
        await site.until(lambda: "CertificateInvalid" in world.replicas[0].reasons, every=0.05)

        assert all(each.shown.encode() in first.certificate for each in world.replicas)
        await world.get_once()
        assert world.failures == []
        assert [each.sample("fairlead_webhook_cert_reload_total", result="failure") for each in world.replicas] == [
            1,
            1,
        ]
        assert all(not each.kept.obstacle() for each in world.replicas)

        await world.store(tls_crt=second.certificate)
        await site.until(lambda: all(each.shown.encode() in second.certificate for each in world.replicas), every=0.05)
        assert world.failures == []


@everywhere(controllers=False, on=["sim"])
@pytest.mark.parametrize("effect", range(1, 10))
async def test_a_leader_that_dies_at_any_write_of_a_rotation_is_followed_by_another(site: Site, effect: int) -> None:
    """The other replica leads from then on and ends it, and no read fails."""
    async with a_certificate_world(site, overlap=5.0) as world:
        first, second = world.replicas
        await first.kept.prepare()
        await ready(world, site)
        await world.define(first.kept.bundle())
        await site.until(lambda: bool(world.bundles()))
        before = (await world.secret())["ca.crt"]
        world.begin()
        await world.patch_secret({"phase": "cmVxdWVzdGVk"})

        dying = Dying(site.ground.transport("admin"), effect)
        task = await first.lead(Client(dying))
        await site.until(lambda: dying.is_dead or "CertificateRotated" in first.reasons, every=0.1)
        await site.stop(task)
        await second.lead()
        await site.until(lambda: done(world, before), every=0.1)

        assert world.failures == []
        assert len(world.generations) == 3
        assert {each.shown.encode() for each in world.replicas} == {(await world.secret())["tls.crt"]}


class Dying:
    """Carries writes to the cluster until the last one that it lives to see; nothing is heard of that one."""

    def __init__(self, inner: Transport, effects: int) -> None:
        self._inner = inner
        self._left = effects
        self.is_dead = False

    async def send(self, message: Request) -> Response:
        if self.is_dead:
            raise TransportError("the process is dead")
        answer = await self._inner.send(message)
        if message.method in ("POST", "PUT", "PATCH", "DELETE"):
            self._left -= 1
            if not self._left:
                self.is_dead = True
                raise TransportError("the process is dead")
        return answer

    def stream(self, message: Request) -> Any:
        return self._inner.stream(message)


async def done(world: CertificateWorld, before: bytes) -> bool:
    held = await world.secret()
    bundle = bundle_of(await world.definition())
    return held["phase"] == b"steady" and before != held["ca.crt"] == bundle


@everywhere(controllers=False)
async def test_the_authority_of_an_operator_without_this_part_stays_trusted_until_it_has_been_left(site: Site) -> None:
    name = f"fairlead.{site.namespace}.svc"
    async with a_certificate_world(site, replicas=1, overlap=0.0) as world:
        former = Authority()
        served = former.server((name,))
        entries = {"ca": former.certificate, "cert": served.certificate, "key": served.key}
        await site.create(SECRETS, {"metadata": {"name": "fairlead-webhooks"}, "data": msgspec.to_builtins(entries)})
        await world.define(former.certificate)
        world.begin(reads=False)
        (replica,) = world.replicas

        await replica.lead()
        await site.until(lambda: len(world.seen_bundles) == 2, every=0.05)
        await ready(world, site)
        await site.until(lambda: len(world.seen_bundles) == 3, every=0.05)

        made = (await world.secret())["ca.crt"]
        assert world.seen_bundles == [
            frozenset({former.certificate}),
            frozenset({former.certificate, made}),
            frozenset({made}),
        ]


@everywhere(controllers=False, on=["sim"])
async def test_a_secret_that_somebody_deletes_is_made_again_as_it_was(site: Site) -> None:
    async with a_certificate_world(site) as world:
        await steady(world, site)
        before = await world.secret()

        await site.client.call(request.delete(Ref(SECRETS, site.namespace, "fairlead-webhook-cert")))

        async def is_back() -> bool:
            return await world.secret() == before

        await site.until(is_back, every=0.1)
        assert world.failures == []
        assert len(world.generations) == 1


@everywhere(controllers=False, long=True)
async def test_a_secret_that_somebody_puts_back_from_a_backup_takes_no_trust_from_what_is_shown(site: Site) -> None:
    async with a_certificate_world(site, overlap=2.0) as world:
        await steady(world, site)
        leader, *_ = world.replicas
        backup = await world.secret()
        await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "done")
        await site.until(lambda: len(world.seen_bundles) == 3, every=0.1)
        offered: list[bytes] = []
        leader.kept.rotation.subscribe(lambda: offered.append(leader.kept.bundle()))
        displaced = await world.secret()

        await world.patch_secret(msgspec.to_builtins({**dict.fromkeys(displaced), **backup}))
        await site.until(lambda: len(world.seen_bundles) == 5, within=120, every=0.1)

        assert world.failures == []
        assert {each.shown.encode() for each in world.replicas} == {backup["tls.crt"]}
        assert world.seen_bundles[2:] == [
            frozenset({displaced["ca.crt"]}),
            frozenset({displaced["ca.crt"], backup["ca.crt"]}),
            frozenset({backup["ca.crt"]}),
        ]
        assert displaced["ca.crt"] in offered[0]
        assert (await world.secret())["phase"] == b"steady"
        decided_again(leader.rounds)


@everywhere(controllers=False, on=["sim"])
async def test_without_a_secret_of_others_a_replica_is_not_ready_and_makes_none(site: Site) -> None:
    async with a_certificate_world(site, replicas=1, source="cert-manager", secret="mine") as world:
        (replica,) = world.replicas
        await replica.lead()

        await site.until(lambda: "CertificateInvalid" in replica.reasons, every=0.1)

        assert "Secret test/mine is not there" in replica.kept.obstacle()
        assert await world.secret() == {}


@everywhere(controllers=False, on=["sim"])
async def test_a_bundle_that_cert_manager_keeps_is_not_written(site: Site) -> None:
    async with a_certificate_world(site, overlap=0.0) as world:
        await steady(world, site)
        note = {"cert-manager.io/inject-ca-from": f"{site.namespace}/fairlead"}
        path = path_of(CUSTOM_RESOURCES, name=NAME)
        await world.shop.send("PATCH", path, {"metadata": {"annotations": note}}, kind=request.MERGE_PATCH)
        shown = world.replicas[0].shown

        await world.patch_secret({"phase": "cmVxdWVzdGVk"})
        await site.until(lambda: "CertificateIssuerNotPublished" in world.replicas[0].reasons, every=0.1)

        assert (await world.secret())["phase"] == b"trusted"
        assert world.replicas[0].shown == shown
        assert len(world.generations) == 1


@everywhere(controllers=False, on=["sim"])
async def test_files_that_change_one_after_the_other_are_never_mixed(site: Site, tmp_path: Path) -> None:
    name = "fairlead.test.svc"
    authority = Authority()
    first, second = authority.server((name,)), authority.server((name,))
    for entry, content in (("tls.crt", first.certificate), ("tls.key", first.key), ("ca.crt", authority.certificate)):
        (tmp_path / entry).write_bytes(content)
    async with a_certificate_world(site, source="secret", folder=str(tmp_path)) as world:
        await steady(world, site)

        (tmp_path / "tls.crt").write_bytes(second.certificate)
        await asyncio.sleep(20)
        assert all(each.shown.encode() in first.certificate for each in world.replicas)
        assert world.replicas[0].sample("fairlead_webhook_cert_reload_total", result="failure") == 0
        (tmp_path / "tls.key").write_bytes(second.key)
        await site.until(lambda: all(each.shown.encode() in second.certificate for each in world.replicas), every=0.1)

        assert world.failures == []


@everywhere(controllers=False, on=["sim"])
async def test_metrics_say_when_certificates_end(site: Site) -> None:
    async with a_certificate_world(site, validity=7200.0, rotate_before=3600.0) as world:
        await steady(world, site)
        now = clock.now().timestamp()

        ends = {
            role: world.replicas[1].sample("fairlead_webhook_cert_not_after_seconds", role=role)
            for role in ("leaf", "ca", "bundle-oldest")
        }

        assert ends["leaf"] == pytest.approx(now + 7200, abs=60)
        assert ends["ca"] == ends["bundle-oldest"] == pytest.approx(now + 87600 * 3600, abs=60)


@everywhere(controllers=False, on=["sim"])
async def test_a_certificate_is_renewed_before_it_ends_without_a_write_of_the_definition(site: Site) -> None:
    async with a_certificate_world(site, validity=7200.0, rotate_before=3600.0) as world:
        await steady(world, site, reads=False)
        shown = world.replicas[1].shown

        await site.until(lambda: world.replicas[1].shown != shown, every=60.0, within=7200.0)

        await world.get_once()
        assert world.failures == []
        assert len(world.generations) == 1
        assert world.replicas[0].reasons == ["CertificateRotated"]


@everywhere(controllers=False)
async def test_status_tells_until_when_and_who_trusts(site: Site) -> None:
    async with a_certificate_world(site) as world:
        await steady(world, site, reads=False)

        shown = await api(site.client, "certs", "status", "-n", site.namespace)
        tree = (await api(site.client, "certs", "status", "-n", site.namespace, "-o", "json")).tree

        assert shown.code == 0
        assert all(len(line) <= 80 for line in shown.out.splitlines())
        assert "PRIVATE" not in shown.out + str(tree)
        assert (tree["phase"], tree["madeBy"], tree["problems"]) == ("steady", "fairlead", [])
        assert [(each["name"], each["trusts"]) for each in tree["trustedBy"]] == [(NAME, True)]
        assert f"fairlead.{site.namespace}.svc" in tree["names"]


@everywhere(controllers=False, on=["sim"])
async def test_a_rotation_that_was_begun_is_not_begun_again(site: Site) -> None:
    async with a_certificate_world(site, overlap=600.0) as world:
        await steady(world, site, reads=False)

        first = await api(site.client, "certs", "rotate", "-n", site.namespace)
        made = (await world.secret())["ca.crt"]
        again = await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "done", "--timeout", "20m")

        assert (first.code, again.code) == (0, 0)
        assert "stays trusted" in first.out
        assert "under way already (retiring)" in again.err
        assert (await world.secret())["ca.crt"] == made


@everywhere(controllers=False, on=["sim"])
async def test_a_dry_run_asks_for_nothing(site: Site) -> None:
    async with a_certificate_world(site) as world:
        await steady(world, site, reads=False)
        before = await site.get(SECRETS, "fairlead-webhook-cert")

        ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--dry-run")

        assert ran.code == 0
        assert await site.get(SECRETS, "fairlead-webhook-cert") == before


@everywhere(controllers=False, on=["sim"])
async def test_without_a_leader_a_rotation_is_asked_for_and_said_not_to_be_over(site: Site) -> None:
    async with a_certificate_world(site, replicas=1) as world:
        await world.replicas[0].kept.prepare()

        ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--timeout", "1m")

        assert ran.code == 7
        assert "no leader has begun yet" in ran.err
        assert "see `fairlead api certs status`" in ran.err
        shown = await api(site.client, "certs", "status", "-n", site.namespace)
        assert "no leader has begun it yet" in shown.out


@everywhere(controllers=False, on=["sim"])
async def test_what_others_make_is_not_rotated_here_and_a_secret_that_is_missing_is_told(site: Site) -> None:
    async with a_certificate_world(site, source="secret", secret="mine") as world:
        missing = await api(site.client, "certs", "status", "-n", site.namespace, "--secret", "mine")
        authority = Authority()
        pair = authority.server(("fairlead.test.svc",))
        await world.store(tls_crt=pair.certificate, tls_key=pair.key, ca_crt=authority.certificate)

        refused = await api(site.client, "certs", "rotate", "-n", site.namespace, "--secret", "mine")
        shown = await api(site.client, "certs", "status", "-n", site.namespace, "--secret", "mine")

        assert (missing.code, refused.code, shown.code) == (6, 6, 0)
        assert "there is no Secret mine in namespace test" in missing.err
        assert "others make this certificate" in refused.err
        assert "made by     others" in shown.out


@everywhere(controllers=False, on=["served"])
async def test_a_process_makes_its_certificate_serves_it_and_exchanges_it_without_a_restart(site: Site) -> None:
    words = (
        "fairlead",
        "operator",
        "--parts=apiversions",
        f"--kubeconfig={site.server.kubeconfig}",
        f"-n={site.namespace}",
        "--port=0",
        "--webhook-port=0",
        "--webhook-service-name=fairlead",
        f"--webhook-service-namespace={site.namespace}",
        "--ca-overlap=0s",
    )
    async with started(words) as program:
        port = await program.port()
        await program.said('msg="certificate served"')
        first = await served_leaf(LOCAL, port, f"fairlead.{site.namespace}.svc")
        ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "done")
        second = await served_leaf(LOCAL, port, f"fairlead.{site.namespace}.svc")
        shown = await api(site.client, "certs", "status", "-n", site.namespace, "-o", "json")
        async with aiohttp.ClientSession() as session:
            probes = f"http://{LOCAL}:{await program.probes()}"
            async with session.get(f"{probes}/metrics") as answer:
                metrics = await answer.text()

        assert ran.code == 0, ran
        assert first != second
        assert second == (await stored(site))["tls.crt"]
        assert shown.tree["phase"] == "steady"
        assert 'fairlead_webhook_cert_reload_total{result="success"} 2.0' in metrics
        assert 'fairlead_webhook_cert_not_after_seconds{role="leaf"}' in metrics
        assert await program.stop() == 0
        assert not [line for line in program.lines if "PRIVATE" in line or "level=error" in line]


async def stored(site: Site) -> dict[str, bytes]:
    tree = await site.get(SECRETS, "fairlead-webhook-cert")
    assert tree is not None
    return {key: b64decode(value) for key, value in tree["data"].items()}


@everywhere(controllers=False)
async def test_webhook_configurations_that_ask_for_it_trust_the_same_authority(site: Site) -> None:
    """Entries that name another namespace's Service, and what else an entry says, stay as they are."""
    labels = {"trust.test/inject": "true", "trust.test/namespace": site.namespace}
    hooks = [a_hook("ours.test", site.namespace), a_hook("theirs.test", "default")]
    tree = {"metadata": {"name": f"hooks-{site.namespace}", "labels": labels}, "webhooks": hooks}
    async with a_certificate_world(site, replicas=1) as world:
        (replica,) = world.replicas
        path = path_of(VALIDATING)
        made = {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind} | tree
        await world.shop.send("POST", path, made)
        try:
            await replica.lead()
            at = path_of(VALIDATING, name=f"hooks-{site.namespace}")

            async def bundles() -> list[str]:
                live = tree_of(await world.shop.send("GET", at))
                return [each["clientConfig"].get("caBundle", "") for each in live["webhooks"]]

            async def is_trusted() -> bool:
                return bool((await bundles())[0])

            await site.until(is_trusted, every=0.1)
            ours, theirs = await bundles()
            assert b64decode(ours) == (await world.secret())["ca.crt"]
            assert theirs == ""
            assert replica.kept.obstacle() == ""
        finally:
            await world.shop.send("DELETE", at)


def a_hook(name: str, namespace: str) -> dict[str, Any]:
    return {
        "name": f"a.{name}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"service": {"name": "fairlead", "namespace": namespace}},
        "rules": [{"apiGroups": ["none.test"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}],
    }


@everywhere(controllers=False)
async def test_b8_a_changed_secret_behind_files_touches_the_pod(site: Site, tmp_path: Path) -> None:
    await a_pod(site, "fairlead-0")
    await site.create(SECRETS, {"metadata": {"name": "mine"}})
    log = Log()
    caches = caches_of(site.client, log.logger())
    context = PartContext(caches, site.client, (), None, Metrics(), log.logger(), home=site.namespace)
    certificates = CertificateSettings(source="secret", secret="mine", folder=str(tmp_path))
    nudge = KubeletNudge(context, ApiVersionsSettings(certificates=certificates), {"POD_NAME": "fairlead-0"})
    tasks = [site.start(caches.run()), site.start(nudge.run())]
    await asyncio.gather(*(each.synced.wait() for each in caches))

    async def notes() -> dict[str, str]:
        found: dict[str, str] = (await pod(site, "fairlead-0"))["metadata"].get("annotations") or {}
        return found

    assert await notes() == {}
    path = path_of(SECRETS, site.namespace, "mine")
    body = msgspec.json.encode({"data": {"tls.crt": "eA=="}})
    await site.client.call(Request("PATCH", path, body=body, content_type=request.MERGE_PATCH))

    await site.until(notes, every=0.05)
    assert [*await notes()] == ["fairlead.dev/certificate-changed"]
    for task in tasks:
        await site.stop(task)

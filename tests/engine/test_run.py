"""From options to exit (zones rules 1 to 3): stopping in the start, where the lease is, how long questions may take."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.contracts import contract
from fairlead.contracts.environments.settings import ConversionOptions, Settings
from fairlead.contracts.leaderworker.settings import Settings as GroupSettings
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.process import START_TIMEOUT, run
from fairlead.engine.process_context import ProcessContext
from fairlead.engine.serving.server import ServerTerms
from kubeloop.errors import KubeError
from kubeloop.objects.admissionregistration import VALIDATING, WebhookConfiguration
from kubesim.pki import Authority
from tests.engine.world import World, play
from tests.operator_parts import ZONES, environments


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_start_that_the_server_does_not_answer(tmp_path: Path, number: signal.Signals) -> None:
    """The server takes the connection and is silent; without the signal the start would fail after ten seconds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = kubeconfig(tmp_path, server.getsockname()[1])
        calls = threading.Thread(target=answer_with_a_signal, args=(server, number), daemon=True)
        calls.start()

        run(
            OperatorOptions(process="fairlead", namespaces=("test",), parts=(ZONES,), config_file=config, server_port=0)
        )

        calls.join()


def answer_with_a_signal(server: socket.socket, number: signal.Signals) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1)
        os.kill(os.getpid(), number)
        connection.recv(1 << 16)


def kubeconfig(folder: Path, port: int) -> str:
    path = folder / "config"
    path.write_text(
        f"""
        {{"apiVersion": "v1", "kind": "Config", "current-context": "x",
          "contexts": [{{"name": "x", "context": {{"cluster": "x", "user": "x"}}}}],
          "clusters": [{{"name": "x", "cluster": {{"server": "http://127.0.0.1:{port}"}}}}],
          "users": [{{"name": "x", "user": {{"token": "t"}}}}]}}
        """
    )
    return str(path)


@pytest.mark.parametrize(
    ("namespaces", "where"),
    [(("test", "other"), "other"), (("other", "test"), "other"), (("test",), "test"), ((), "default")],
    ids=["the smallest name", "whatever the order", "the only one", "at home"],
)
def test_where_the_lease_is(namespaces: tuple[str, ...], where: str) -> None:
    async def scenario(world: World) -> None:
        async with world.operating(namespaces=namespaces, lease="fairlead"):
            pass

        created = [sent.path for sent in world.requests if sent.method == "POST"]
        assert created == [f"/apis/coordination.k8s.io/v1/namespaces/{where}/leases"]

    play(scenario)


CALLS = "rollout_operator_kubernetes_api_client_request_duration_seconds_count"


def test_calls_for_the_lease_are_measured_like_all_others() -> None:
    async def scenario(world: World) -> None:
        async with world.operating(lease="fairlead"):
            pass

        labels = {"path": "coordination.k8s.io/v1/leases collection", "method": "POST", "status_code": "201"}
        assert world.metrics.registry.get_sample_value(CALLS, labels) == 1

    play(scenario)


def test_calls_for_certificates_and_registrations_are_measured_like_all_others() -> None:
    async def scenario(world: World) -> None:
        options = OperatorOptions(process="fairlead", namespaces=("test",), parts=(ZONES,))
        ground = ProcessContext(options, "test", world.cluster.transport(), world.metrics, world.log.logger())

        await ground.client.list(VALIDATING, WebhookConfiguration)

        path = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations collection"
        labels = {"path": path, "method": "GET", "status_code": "200"}
        assert world.metrics.registry.get_sample_value(CALLS, labels) == 1

    play(scenario)


def test_no_question_of_the_start_may_take_long() -> None:
    async def scenario(world: World) -> None:
        await world.operator(namespaces=("test", "other"), client_timeout=300.0)

        assert "/api/v1/namespaces/other" in [sent.path for sent in world.requests]
        assert {sent.timeout for sent in world.requests} == {START_TIMEOUT}

    play(scenario)


def test_a_start_without_the_kinds_of_a_part_says_how_to_install_them() -> None:
    groups = PartOptions(contract("leaderworker"), GroupSettings())

    async def scenario(world: World) -> None:
        with pytest.raises(KubeError) as error:
            await world.operator(parts=(ZONES, groups))

        assert str(error.value) == (
            "the cluster does not serve leaderworkersets of leaderworkerset.x-k8s.io: install the kinds of part"
            " leaderworker (`fairlead crds --part leaderworker | kubectl apply --server-side -f -`), or leave the part"
            " out"
        )

    play(scenario)


def test_conversions_have_a_bound_on_what_is_held_and_five_seconds_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """environments B5: the cluster is silent; conversion is served all the same, until two signals end it at once."""
    served: list[ServerTerms] = []

    @asynccontextmanager
    async def noting(*given: object, **_: object) -> AsyncIterator[int]:
        served.extend(each for each in given if isinstance(each, ServerTerms))
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        yield 1

    monkeypatch.setattr("fairlead.engine.serving.https_server.serving", noting)
    authority = Authority()
    pair = authority.server(("fn.ops.svc",))
    for name, pem in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (tmp_path / name).write_bytes(pem)
    conversion = ConversionOptions(
        service_name="fn",
        service_namespace="ops",
        port=0,
        authority_file=str(tmp_path / "ca.crt"),
        certificate_file=str(tmp_path / "tls.crt"),
        key_file=str(tmp_path / "tls.key"),
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = kubeconfig(tmp_path, server.getsockname()[1])

        run(
            OperatorOptions(
                process="orchestratord",
                parts=(environments(Settings(), conversion),),
                lease="orchestratord",
                config_file=config,
                server_port=0,
            )
        )

    (terms,) = served
    assert terms.ending == 5.0
    assert terms.largest_body("/convert") < (terms.most_held or 0) < 2 * terms.largest_body("/convert")

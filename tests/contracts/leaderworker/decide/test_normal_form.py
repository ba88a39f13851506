"""When two revisions are the same (section 3.13)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.leaderworker.decide.go_form import go_form
from fairlead.contracts.leaderworker.decide.normal_form import is_same, normal_form
from tests.chaos.machine import machine, soaked
from tests.contracts.leaderworker.decide.templates import TEMPLATES, Tree, changed, respelled


def data(template: Tree, network: Any = None) -> bytes:
    return msgspec.json.encode({"spec": {"leaderWorkerTemplate": template, "networkConfig": network}})


def of_pod(**spec: Any) -> bytes:
    return data({"workerTemplate": {"spec": spec}})


def of_container(**fields: Any) -> bytes:
    return of_pod(containers=[{"name": "w", **fields}])


def of_volume(**source: Any) -> bytes:
    return of_pod(volumes=[{"name": "v", **source}])


def of_claim(**fields: Any) -> bytes:
    return data({"volumeClaimTemplates": [fields]})


@soaked
@given(st.data(), TEMPLATES)
@machine(100)
def test_another_spelling_is_no_change(drawing: st.DataObject, template: Tree) -> None:
    spelled = drawing.draw(respelled(template))

    assert is_same(data(template), data(spelled))
    assert is_same(data(template), data(go_form("leaderWorkerTemplate", spelled)))


@soaked
@given(st.data(), TEMPLATES)
@machine(100)
def test_every_real_change_is_found(drawing: st.DataObject, template: Tree) -> None:
    edited = drawing.draw(changed(template))

    assert not is_same(data(template), data(edited))
    assert not is_same(data(template), data(go_form("leaderWorkerTemplate", drawing.draw(respelled(edited)))))


@soaked
@given(TEMPLATES)
@machine(50)
def test_the_stored_form_stays_when_it_is_stored_again(template: Tree) -> None:
    once = go_form("leaderWorkerTemplate", template)

    assert go_form("leaderWorkerTemplate", once) == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (data({}), data({"size": 1})),
        (data({}), data({"restartPolicy": "RecreateGroupOnPodRestart", "$patch": "replace"})),
        (data({"restartPolicy": ""}), data({})),
        (data({"restartPolicy": "Default"}), data({"restartPolicy": "None"})),
        (data({}), data({}, {"subdomainPolicy": "Shared", "$patch": "replace"})),
        (data({}, {}), data({}, {"subdomainPolicy": None})),
        (data({"subGroupPolicy": {}}), data({"subGroupPolicy": {"subGroupPolicyType": "LeaderWorker"}})),
        (of_container(resources={}), of_container()),
        (of_container(env=[{"name": "a", "value": ""}]), of_container(env=[{"name": "a"}])),
        (of_container(ports=[{"containerPort": 1}]), of_container(ports=[{"containerPort": 1, "protocol": "TCP"}])),
        (of_container(envFrom=[{"configMapRef": {"name": ""}}]), of_container(envFrom=[{"configMapRef": {}}])),
        (of_container(readinessProbe={"grpc": {}}), of_container(readinessProbe={"grpc": {"service": ""}})),
        (of_container(resources={"limits": {"cpu": 1}}), of_container(resources={"limits": {"cpu": "1000m"}})),
        (of_pod(overhead={"memory": "1024Mi"}), of_pod(overhead={"memory": "1Gi"})),
        (of_volume(emptyDir={"sizeLimit": "1Gi"}), of_volume(emptyDir={"sizeLimit": "1024Mi", "medium": ""})),
        (of_volume(iscsi={"lun": 0}), of_volume(iscsi={"iscsiInterface": "default", "readOnly": False})),
        (of_pod(hostNetwork=False, tolerations=[], affinity={}, nodeSelector={}), of_pod()),
        (of_claim(), of_claim(apiVersion="v1", kind="PersistentVolumeClaim", status={"phase": "Pending"})),
        (of_claim(), of_claim(metadata={"creationTimestamp": None})),
    ],
)
def test_these_are_the_same(one: bytes, other: bytes) -> None:
    assert one != other
    assert is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (data({}), data({}, {"subdomainPolicy": "UniquePerReplica"})),
        (data({"size": 1}), data({"size": 2})),
        (of_container(image="a"), of_container(image="b")),
        (of_container(command=["a", "b"]), of_container(command=["b", "a"])),
        (of_container(command=[""]), of_container(command=[])),
        (of_container(args=["1"]), of_container(args=[1])),
        (of_container(tty=True), of_container(tty=1)),
        (of_container(env=[{"name": "a"}, {"name": "b"}]), of_container(env=[{"name": "b"}, {"name": "a"}])),
        (of_container(restartPolicy=""), of_container()),
        (of_container(resources={"limits": {"cpu": "1"}}), of_container(resources={"limits": {"cpu": "1001m"}})),
        (of_container(resources={"limits": {"cpu": "0"}}), of_container(resources={"limits": {}})),
        (of_container(startupProbe={"httpGet": {"port": 80}}), of_container(startupProbe={"httpGet": {"port": "80"}})),
        (of_volume(emptyDir={}), of_volume()),
        (of_volume(emptyDir={}), of_volume(configMap={})),
        (of_volume(emptyDir={"sizeLimit": "0"}), of_volume(emptyDir={})),
        (of_volume(hostPath={"path": "/", "type": ""}), of_volume(hostPath={"path": "/"})),
        (of_volume(secret={"optional": False}), of_volume(secret={})),
        (of_pod(enableServiceLinks=False), of_pod()),
        (of_pod(terminationGracePeriodSeconds=0), of_pod()),
        (of_pod(hostUsers=False), of_pod(hostUsers=True)),
        (of_pod(nodeSelector={"a": ""}), of_pod()),
        (of_pod(dnsConfig={"options": [{"name": "x", "value": ""}]}), of_pod(dnsConfig={"options": [{"name": "x"}]})),
        (of_pod(imagePullSecrets=[{}]), of_pod()),
        (of_pod(newField={"a": 1}), of_pod()),
    ],
)
def test_these_differ(one: bytes, other: bytes) -> None:
    assert not is_same(one, other)


@pytest.mark.parametrize("amount", ["1e999999999999", "1e-99999999", "9" * 5000, "x", "", True, [], {"a": 1}])
def test_amounts_that_are_none_are_compared_as_they_are(amount: object) -> None:
    one = of_container(resources={"limits": {"cpu": amount}})

    assert normal_form(one) != normal_form(of_container(resources={"limits": {"cpu": "1"}}))
    assert go_form("containers", {"resources": {"limits": {"cpu": amount}}})


@pytest.mark.parametrize("broken", [7, "x", [1], [[1]], None, [{"name": None}]])
def test_templates_of_any_shape_have_a_form(broken: object) -> None:
    """The API server refuses most of them; what older definitions let through must not stop a round."""
    template: Tree = {"workerTemplate": {"spec": {"containers": broken}}, "volumeClaimTemplates": broken}

    assert is_same(data(template), data(template))
    assert normal_form(data(template)) == normal_form(data(go_form("leaderWorkerTemplate", template)))

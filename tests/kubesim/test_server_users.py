"""Who talks to the cluster over HTTP and HTTPS: tokens, accounts, certificates, acting as others, kubectl."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import shutil
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from multidict import CIMultiDict

from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS
from kubesim.pki import Authority, Pair
from kubesim.server import Server
from tests.kubesim.test_server import MAPS, served
from tests.kubesim.trees import a_binding, a_map, a_role, a_rule, a_set, a_user, may_all


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [("", MAPS, 401), ("wrong", MAPS, 401), ("", "/healthz", 200), ("", "/version", 200), ("admin", MAPS, 200)],
)
def test_who_may_enter(token: str, path: str, status: int) -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> int:
        async with session.get(path) as answer:
            return answer.status

    assert served(script, token=token) == status


def test_tokens_tell_who_writes_and_anybody_may_be_somebody() -> None:
    async def script(cluster: Cluster, server: Server, session: aiohttp.ClientSession) -> list[str]:
        may_all(cluster, "alice", "nobody")
        async with session.post(MAPS, json=a_map("a")):
            pass
        async with aiohttp.ClientSession(server.url) as stranger, stranger.post(MAPS, json=a_map("b")):
            pass
        return [entry.user for entry in cluster.history.of(CONFIG_MAPS)]

    assert served(script, token="t1", tokens={"t1": "alice"}, anonymous="nobody") == ["alice", "nobody"]


def test_strangers_may_be_anonymous() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> tuple[int, str]:
        async with session.get(MAPS) as answer:
            return answer.status, (await answer.json())["message"]

    status, message = served(script, token="", anonymous="system:anonymous")

    assert status == 403
    assert message.startswith('configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps"')


def test_service_accounts_enter_by_tokens_that_were_asked_for() -> None:
    async def script(cluster: Cluster, server: Server, session: aiohttp.ClientSession) -> list[int]:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        async with session.post(accounts, json={"metadata": {"name": "robot"}}) as made:
            assert made.status == 201
        async with session.post(f"{accounts}/robot/token", json={}) as answer:
            token = (await answer.json())["status"]["token"]
        robot = aiohttp.ClientSession(server.url, headers={"Authorization": f"Bearer {token}"})
        codes = []
        async with robot:
            for grants in (False, True):
                if grants:
                    may_all(cluster, "system:serviceaccount:default:robot")
                async with robot.get(MAPS) as answer:
                    codes.append(answer.status)
            async with session.delete(f"{accounts}/robot"):
                pass
            async with robot.get(MAPS) as answer:
                return [*codes, answer.status]

    assert served(script) == [403, 200, 401]


def test_acting_as_others_goes_by_headers() -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> list[int]:
        codes = []
        for groups in ([], ["system:masters"], ["system:masters", "known"]):
            headers = CIMultiDict([("impersonate-user", "bob"), *(("impersonate-group", group) for group in groups)])
            async with session.get(MAPS, headers=headers) as answer:
                codes.append(answer.status)
        return codes

    assert served(script) == [403, 200, 200]


def test_client_certificates_tell_name_and_groups(tmp_path: Path) -> None:
    authority = Authority()

    def context(purpose: int, pair: Pair) -> ssl.SSLContext:
        made = ssl.SSLContext(purpose)
        (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)
        made.load_cert_chain(tmp_path / "pair.pem")
        made.load_verify_locations(cadata=authority.certificate.decode())
        return made

    tls = context(ssl.PROTOCOL_TLS_SERVER, authority.server(("127.0.0.1",)))
    tls.verify_mode = ssl.CERT_OPTIONAL
    users = [("alice", []), ("alice", ["system:masters"]), ("admin", [])]

    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> list[tuple[int, str]]:
        answers = []
        for name, groups in users:
            trust = context(ssl.PROTOCOL_TLS_CLIENT, authority.client(name, groups))
            async with session.get(MAPS, ssl=trust) as answer:
                answers.append((answer.status, (await answer.json()).get("message", "").partition(" cannot")[0]))
        return answers

    assert served(script, tls=tls, token="") == [
        (403, 'configmaps is forbidden: User "alice"'),
        (200, ""),
        (403, 'configmaps is forbidden: User "admin"'),
    ]


def a_certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fairlead")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def test_it_serves_https(tmp_path: Path) -> None:
    pem = a_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    trust = ssl.create_default_context(cafile=str(pem))

    async def script(_: Cluster, server: Server, session: aiohttp.ClientSession) -> tuple[str, int]:
        async with session.get("/api/v1/namespaces", ssl=trust) as answer:
            return server.url.partition(":")[0], answer.status

    assert served(script, tls=tls) == ("https", 200)


async def kubectl(cache: Path, server: Server, *words: str, given: str = "") -> str:
    """What it prints, where it may do everything."""
    options = ("--kubeconfig=/dev/null", f"--cache-dir={cache}", f"--server={server.url}")
    program = await asyncio.create_subprocess_exec(
        "kubectl",
        *options,
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await program.communicate(given.encode())
    return output.decode()


has_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@has_kubectl
def test_kubectl_finds_its_way(tmp_path: Path) -> None:
    async def script(cluster: Cluster, server: Server, _: aiohttp.ClientSession) -> list[str]:
        manifest = json.dumps({"apiVersion": "apps/v1", "kind": "StatefulSet"} | a_set())
        answers = [await kubectl(tmp_path, server, "create", "-f", "-", "--validate=false", given=manifest)]
        lines = (
            "get sts,pods -o name",
            "scale sts web --replicas=3",
            "set image sts/web main=app:2",
            "delete sts web",
        )
        answers += [await kubectl(tmp_path, server, *line.split()) for line in lines]
        return [answer.strip() for answer in answers]

    assert served(script, anonymous="admin") == [
        "statefulset.apps/web created",
        "statefulset.apps/web",
        "statefulset.apps/web scaled",
        "statefulset.apps/web image updated",
        'statefulset.apps "web" deleted',
    ]


@has_kubectl
def test_kubectl_makes_roles_and_acts_as_others(tmp_path: Path) -> None:
    async def script(_: Cluster, server: Server, __: aiohttp.ClientSession) -> list[str]:
        group = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        role = group | {"kind": "Role"} | a_role(a_rule("list", "pods"))
        binding = group | {"kind": "RoleBinding"} | a_binding(a_user("alice"))
        create = ("create", "-f", "-", "--validate=false")
        made = [await kubectl(tmp_path, server, *create, given=json.dumps(tree)) for tree in (role, binding)]
        lines = (
            "get pods --as=alice",
            "get nodes --as=alice",
        )
        told = [await kubectl(tmp_path, server, *line.split()) for line in lines]
        return [answer.strip() for answer in (*made, *told)]

    *answers, refused = served(script, anonymous="admin")

    assert answers == [
        "role.rbac.authorization.k8s.io/role created",
        "rolebinding.rbac.authorization.k8s.io/binding created",
        "No resources found in default namespace.",
    ]
    assert 'User "alice" cannot list resource "nodes" in API group "" at the cluster scope' in refused

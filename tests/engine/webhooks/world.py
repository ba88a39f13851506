"""Certificates on the embedded cluster in virtual time; small keys, because only their size is another."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from fairlead.contracts.zones.kinds import OWN_LABELS
from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import CertificateRequest, Pair
from fairlead.engine.certificates.stored_secret import StoredCertificate
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from tests.engine.world import Log

SECRET = Ref(SECRETS, "test", "certificate")
NAME = "rollout-operator.test.svc"
DAY = timedelta(days=1)


def make_small(wanted: CertificateRequest, now: datetime) -> Pair:
    return pairs.make(wanted, now, key_size=2048)


def a_pair_of_others(name: str, now: datetime, lifetime: timedelta, *, between: bool = False) -> Pair:
    """A pair as others make it, with serial numbers by chance; `between`: with an intermediate that is served too."""
    root, authority, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(3))

    def signed(subject: str, issuer: str, by: rsa.RSAPrivateKey, whose: rsa.RSAPrivateKey) -> bytes:
        named, issued = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (subject, issuer))
        builder = (
            x509.CertificateBuilder()
            .subject_name(named)
            .issuer_name(issued)
            .public_key(whose.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + lifetime)
            .add_extension(x509.BasicConstraints(ca=subject != name, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
        )
        return builder.sign(by, hashes.SHA256()).public_bytes(Encoding.PEM)

    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    if between:
        chain = signed(name, "between", authority, key) + signed("between", "root", root, authority)
        return Pair(chain, private, signed("root", "root", root, root))
    return Pair(signed(name, "root", root, key), private, signed("root", "root", root, root))


class World:
    def __init__(self, seed: int = 0) -> None:
        self.cluster = Cluster(seed=seed, namespaces=(*FIRST_NAMESPACES, "test"))
        self.client = Client(self.cluster.transport())
        self.log = Log()

    def stored(self, name: str = NAME, lifetime: timedelta = DAY) -> StoredCertificate:
        wanted = CertificateRequest(name, "Grafana Labs", lifetime, "rollout-operator")
        return StoredCertificate(self.client, SECRET, wanted, self.log.logger(), make_small, labels=OWN_LABELS)

    async def create(self, resource: Resource, tree: dict[str, Any], namespace: str = "test") -> None:
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        await self.client.call(request.create(resource, namespace, msgspec.json.encode(named)))

    async def read(self, ref: Ref) -> dict[str, Any] | None:
        try:
            tree: dict[str, Any] = msgspec.json.decode((await self.client.call(request.get(ref))).body)
        except NotFound:
            return None
        return tree

    async def fill(self, **entries: bytes) -> None:
        """The Secret with these entries."""
        data = {key: b64encode(value).decode() for key, value in entries.items()}
        await self.create(SECRETS, {"metadata": {"name": SECRET.name, "labels": {"kept": "yes"}}, "data": data})

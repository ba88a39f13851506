"""Certificates as questions: a new key that nobody sees, and what is served at an address."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from base64 import b64decode
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fairlead.core.act import Create, Does, Patch, PatchKind, Replace
from fairlead.core.ask import Answer, Ask, Bad, Good, Mint, Need, Shake
from fairlead.core.written import written
from fairlead.engine.certificates import issuing
from fairlead.engine.certificates.issuing import issue
from fairlead.engine.driver.perform import request_for
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed
from tests.engine.driver.test_outside import nobody
from tests.kubeloop.called import echo, server_context, serving

MINT = Mint(("a.ns.svc", "a"), timedelta(days=30), "an authority", timedelta(days=300))


def ask_one(question: Ask) -> Answer:
    async def script() -> Answer:
        return await asker(AskContext(nobody()))(question)

    return asyncio.run(script())


@pytest.fixture(scope="module")
def minted() -> Good:
    answer = ask_one(Ask(MINT))
    assert isinstance(answer, Good), answer
    return answer


def key_of(minted: Good) -> Sealed:
    return dict(minted.sealed)["key"]


def test_a_new_pair_belongs_together_and_is_what_was_asked_for(minted: Good) -> None:
    shown = json.loads(minted.value)
    served = x509.load_pem_x509_certificate(shown["certificate"].encode())
    authority = x509.load_pem_x509_certificate(shown["authority"].encode())
    key = load_pem_private_key(key_of(minted).open(), password=None)

    assert key.public_key() == served.public_key()
    served.verify_directly_issued_by(authority)
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.ns.svc", "a"]
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert timedelta(days=30) <= served.not_valid_after_utc - served.not_valid_before_utc <= timedelta(days=31)


def test_an_authority_that_is_there_signs_again(minted: Good) -> None:
    shown, keys = json.loads(minted.value), dict(minted.sealed)
    question = Mint(("b",), timedelta(days=1), authority=shown["authority"], authority_key=keys["authority-key"])

    answer = ask_one(Ask(question))

    assert isinstance(answer, Good), answer
    again = json.loads(answer.value)
    assert (again["authority"], [name for name, _ in answer.sealed]) == (shown["authority"], ["key"])
    served = x509.load_pem_x509_certificate(again["certificate"].encode())
    served.verify_directly_issued_by(x509.load_pem_x509_certificate(shown["authority"].encode()))


def test_an_authority_with_the_key_of_another_is_a_failure_and_no_certificate(minted: Good) -> None:
    question = Mint(
        ("b",), timedelta(days=1), authority=json.loads(minted.value)["authority"], authority_key=key_of(minted)
    )

    answer = ask_one(Ask(question))

    assert isinstance(answer, Bad)
    assert "do not belong together" in answer.text


def test_the_key_is_shown_and_kept_nowhere(minted: Good) -> None:
    secret = key_of(minted).open()

    assert b"PRIVATE KEY" in secret
    assert "PRIVATE KEY" not in repr(minted)
    assert b"PRIVATE KEY" not in written(minted, Good)


def test_a_sealed_entry_goes_into_a_secret_when_it_is_sent_and_not_before(minted: Good) -> None:
    sealed = (("tls.key", key_of(minted)),)
    body = b'{"metadata":{"name":"pair"},"data":{"tls.crt":"eA=="}}'
    creation = Create(does=Does.APPLY_OBJECT, resource=SECRETS, namespace="ns", name="pair", body=body, sealed=sealed)
    replacement = Replace(
        does=Does.APPLY_OBJECT, ref=Ref(SECRETS, "ns", "pair"), body=body, resource_version="1", sealed=sealed
    )

    merge = Patch(
        does=Does.APPLY_OBJECT, ref=Ref(SECRETS, "ns", "pair"), kind=PatchKind.MERGE, body=body, sealed=sealed
    )

    for write in (creation, replacement, merge):
        sent = json.loads(request_for(write).body)
        assert b64decode(sent["data"]["tls.key"]) == key_of(minted).open()
        assert (sent["data"]["tls.crt"], sent["metadata"]) == ("eA==", {"name": "pair"})
        assert b"PRIVATE" not in written(write, type(write))
        assert "PRIVATE" not in repr(write)


def test_making_a_pair_steps_aside_and_does_not_hold_up_the_loop() -> None:
    """Other work goes on while the key is made."""
    turns = 0

    async def script() -> Answer:
        nonlocal turns
        task = asyncio.ensure_future(asker(AskContext(nobody()))(Ask(MINT, timeout=120)))
        while not task.done():
            turns += 1
            await asyncio.sleep(0.005)
        return task.result()

    def slow(*given: Any) -> Any:
        time.sleep(0.05)  # in a thread, where it holds up nothing
        return issue(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(issuing, "issue", slow)
        assert isinstance(asyncio.run(script()), Good)
    assert turns > 1
    assert Need(((Ask(MINT),),)).goes_outside


def test_a_handshake_tells_the_leaf_that_is_served() -> None:
    context = server_context("a.ns.svc")

    async def script() -> Answer:
        async with serving(echo, context) as address:
            host, _, port = address.removeprefix("https://").partition(":")
            return await asker(AskContext(nobody()))(Ask(Shake(host, int(port), "a.ns.svc")))

    answer = asyncio.run(script())

    assert isinstance(answer, Good), answer
    leaf = x509.load_pem_x509_certificate(answer.value)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "a.ns.svc" in names.get_values_for_type(x509.DNSName)


def test_an_address_without_tls_or_without_anybody_is_an_answer() -> None:
    async def script() -> tuple[Answer, Answer]:
        async with serving(echo) as address:
            host, _, port = address.removeprefix("http://").partition(":")
            plain = await asker(AskContext(nobody()))(Ask(Shake(host, int(port))))
        gone = await asker(AskContext(nobody()))(Ask(Shake(host, int(port))))
        return plain, gone

    plain, gone = asyncio.run(script())

    assert isinstance(plain, Bad)
    assert isinstance(gone, Bad)
    assert (plain.kind, gone.kind) == ("unreachable", "unreachable")
    assert "no TLS handshake" in plain.text
    assert "cannot be reached" in gone.text


def test_somebody_who_takes_the_connection_and_says_nothing_is_given_up() -> None:
    async def script() -> Answer:
        ended = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(100):
                pass
            writer.close()
            ended.set()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await asker(AskContext(nobody()))(Ask(Shake("127.0.0.1", port), timeout=0.3))
        finally:
            await ended.wait()
            server.close()

    answer = asyncio.run(script())

    assert isinstance(answer, Bad)
    assert answer.kind == "timeout"


def test_each_name_may_be_shown_another_certificate() -> None:
    outer, other = server_context("a.ns.svc"), server_context("b.ns.svc")

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name == "b.ns.svc":
            connection.context = other

    outer.sni_callback = choose

    async def script() -> list[Answer]:
        async with serving(echo, outer) as address:
            host, _, port = address.removeprefix("https://").partition(":")
            ask = asker(AskContext(nobody()))
            return [await ask(Ask(Shake(host, int(port), name))) for name in ("a.ns.svc", "b.ns.svc")]

    one, two = asyncio.run(script())

    assert isinstance(one, Good)
    assert isinstance(two, Good)
    assert one.value != two.value

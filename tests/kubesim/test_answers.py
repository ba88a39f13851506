"""What a pod answers that carries the annotation, and what is said of one that cannot be read."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.calls import Call, Reply
from kubesim.kubelet.answers import Answering, answering, complaints, read
from kubesim.kubelet.programs import Hosted
from kubesim.pods.behaviour import HTTP
from kubesim.time import run

RULES = """{
    "/ready": 503,
    "GET /ready": {"body": "fine"},
    ":8080/ready": 404,
    "POST :8080/ready": 201,
    "/api/*": {"status": 418, "body": {"short": true}, "headers": {"X-Tea": "pot"}},
    "/api/v1/*": {"body": [1], "headers": {"Content-Type": "application/x"}},
    "/late": {"delay": "2s"}
}"""


def a_pod(text: str | None = RULES) -> Hosted:
    return Hosted("ns", "p", "uid", annotations={} if text is None else {HTTP: text})


def call(method: str, url: str, host: str = "p.ns.svc") -> Call:
    return Call(method=method, url=url, headers=(("Host", host),))


@pytest.mark.parametrize(
    ("method", "url", "host", "expected"),
    [
        ("PUT", "/ready", "p.ns.svc", (503, b"")),
        ("GET", "/ready?verbose=1", "p.ns.svc", (200, b"fine")),
        ("PUT", "/ready", "p.ns.svc:8080", (404, b"")),
        ("GET", "/ready", "p.ns.svc:8080", (200, b"fine")),
        ("POST", "/ready", "p.ns.svc:8080", (201, b"")),
        ("GET", "/api/x", "[::1]:99", (418, b'{"short":true}')),
        ("GET", "/api/v1/x", "p.ns.svc", (200, b"[1]")),
        ("GET", "/api", "p.ns.svc", (404, b"404 page not found\n")),
        ("GET", "/", "bad:port", (404, b"404 page not found\n")),
    ],
)
def test_the_most_exact_rule_answers(method: str, url: str, host: str, expected: tuple[int, bytes]) -> None:
    reply = run(Answering(a_pod()).answer(call(method, url, host)))

    assert (reply.status, reply.body) == expected


def test_a_body_says_what_it_is_unless_the_rule_does() -> None:
    program = Answering(a_pod())
    urls = ("/ready", "/api/x", "/api/v1/x", "/late")

    async def kinds() -> list[list[str]]:
        return [
            [value for name, value in (await program.answer(call("GET", url))).headers if name == "Content-Type"]
            for url in urls
        ]

    assert run(kinds()) == [["text/plain; charset=utf-8"], ["application/json"], ["application/x"], []]


def test_an_answer_may_be_late_and_change() -> None:
    async def scenario() -> tuple[float, Reply, Reply]:
        program, loop = Answering(a_pod()), asyncio.get_running_loop()
        start = loop.time()
        late = await program.answer(call("GET", "/late"))
        took = loop.time() - start
        program.changed(a_pod('{"/late": 500}'))
        changed = await program.answer(call("GET", "/late"))
        program.stop()
        return took, late, changed

    took, late, changed = run(scenario())

    assert (took, late.status, changed.status) == (2.0, 200, 500)


def test_pods_without_the_annotation_run_no_such_program() -> None:
    assert answering(a_pod(None), lambda: None) is None
    assert answering(a_pod(), lambda: None) is not None
    assert complaints({}) == complaints({HTTP: RULES}) == []
    assert read("{}") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ready", "JSON is malformed: invalid character (byte 0)"),
        ("[]", "Expected `object`, got `array`"),
        ('{"ready": 200}', '"ready" is not [METHOD ][:PORT]/PATH'),
        ('{"get /ready": 200}', '"get /ready" is not [METHOD ][:PORT]/PATH'),
        ('{"/ready": 99}', '"/ready" has status 99, which is none from 100 to 599'),
        ('{"/ready": "up"}', "Expected `int | object`, got `str` - at `$[...]`"),
        ('{"/ready": {"code": 200}}', "Object contains unknown field `code` - at `$[...]`"),
        ('{"/ready": {"delay": "soon"}}', '"/ready" has delay "soon", which is no duration like 500ms or 2s'),
    ],
)
def test_what_cannot_be_read_is_told_with_an_example_and_counts_as_absent(text: str, why: str) -> None:
    (complaint,) = complaints({HTTP: text})

    assert complaint == (
        f"fairlead.dev/sim-http is ignored: {why}. "
        'Write it like {"/ready": 503, "POST :8080/prepare": {"body": {"at": 1}, "delay": "2s"}}'
    )
    assert run(Answering(a_pod(text)).answer(call("GET", "/ready"))).status == 404

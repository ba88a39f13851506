"""Pods that answer badly, late, somewhere else or not at all: what a delayed downscale makes of each of them."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.settings import Settings
from kubeloop import clock
from tests.e2e.clusters import Site, everywhere
from tests.e2e.endpoints import CUT, HANGING, Answer, timestamp
from tests.e2e.operators import POD_CALL_FAILED, Operator
from tests.e2e.scaling import ask_for, delayed, looked, replicas, told
from tests.e2e.zones import begin

QUICK = Settings(pods_timeout=2.0)
"""Long enough for any pod that answers, short enough to wait for one that does not."""
ELSEWHERE = (("Location", "/elsewhere"),)

BAD = {
    "a failure": Answer(500, b'{"timestamp": 1}'),
    "not found": Answer(404, b'{"timestamp": 1}'),
    "no content": Answer(204),
    "an empty body": Answer(body=b""),
    "no JSON": Answer(body=b"OK"),
    "half of the JSON": Answer(body=b'{"timestamp": 1'),
    "a list": Answer(body=b"[1]"),
    "a number": Answer(body=b"1"),
    "bytes that are no text": Answer(body=b'{"timestamp": "\xff"}'),
    "no timestamp": Answer(body=b'{"time": 1}'),
    "timestamp 0": timestamp(0),
    "timestamp null": timestamp(None),
    "timestamp as text": timestamp("1600000000"),
    "timestamp with a fraction": timestamp(1600000000.5),
    "timestamp true": timestamp(True),
    "timestamp larger than any": timestamp(2**64),
    "a redirect that makes it a GET (301)": Answer(301, b'{"timestamp": 1}', ELSEWHERE),
    "a redirect that makes it a GET (302)": Answer(302, b'{"timestamp": 1}', ELSEWHERE),
    "a redirect that makes it a GET (303)": Answer(303, b'{"timestamp": 1}', ELSEWHERE),
    "a redirect to nowhere": Answer(307, b'{"timestamp": 1}'),
    "a redirect to itself": Answer(307, headers=(("Location", "/prepare/delayed?unset=false"),)),
    "too late": Answer(body=b'{"timestamp": 1}', delay=3.0),
    "no answer at all": HANGING,
    "a connection that breaks": CUT,
}

OVER_REAL_SOCKETS = (
    "a failure",
    "no JSON",
    "timestamp 0",
    "timestamp as text",
    "a redirect that makes it a GET (302)",
    "too late",
    "no answer at all",
    "a connection that breaks",
)


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize("answer", [pytest.param(BAD[name], id=name) for name in OVER_REAL_SOCKETS])
async def test_one_pod_whose_answer_does_not_count_keeps_all(site: Site, answer: Answer) -> None:
    await keeps_all(site, answer)


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize(
    "answer", [pytest.param(answer, id=name) for name, answer in BAD.items() if name not in OVER_REAL_SOCKETS]
)
async def test_one_pod_whose_answer_counts_no_more_than_those_keeps_all(site: Site, answer: Answer) -> None:
    await keeps_all(site, answer)


async def keeps_all(site: Site, answer: Answer) -> None:
    """The pass is a success all the same; the log names the pod, and the next good answer is taken."""
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=70, a_4=70)
    pods.answer("a-4", "POST", answer)
    for method in ("GET", "POST"):
        pods.answer("a-4", f"{method} /elsewhere", timestamp(1))

    play = await begin(site, Operator(site, settings=QUICK))
    await play.rest()

    assert (await replicas(site), await told(site)) == (5, 5)
    assert play.operator.failures() == 0
    warnings = play.operator.warnings("downscale not prepared")
    assert warnings
    assert all("a-4" in record.keys["text"] and "a-3" not in record.keys["text"] for record in warnings)

    pods.answer("a-4", "POST", None)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 3"]


@everywhere(controllers=False)
async def test_pod_that_nobody_knows_keeps_all(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=70, a_4=70)
    await zone.change({"spec": {"replicas": 6}})

    play = await begin(site)
    await play.rest()

    assert await replicas(site) == 6
    assert "a-5" in play.operator.warnings("downscale not prepared")[0].keys["text"]
    assert "a-5" in play.operator.records("error", POD_CALL_FAILED)[0].keys["url"]


@everywhere(controllers=False, long=True)
async def test_slow_answer_in_time_counts(site: Site) -> None:
    _, pods = await delayed(site, wanted=3)
    pods.age(a_3=70)
    old = int(clock.now().timestamp()) - 70 * 60
    pods.answer("a-4", "POST", Answer(body=timestamp(old).body, delay=0.8))

    play = await begin(site, Operator(site, settings=QUICK))
    await play.rest()

    assert play.scalings == ["a: 5 to 3"]


@everywhere(controllers=False)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_not_followed(site: Site, status: int) -> None:
    """What stands behind it may be any pod, or none; and a POST must not become a GET (zones H-16)."""
    _, pods = await delayed(site, wanted=3)
    pods.age(a_3=70)
    pods.answer("a-4", "POST", Answer(status, headers=ELSEWHERE))
    for method in ("GET", "POST"):
        pods.answer("a-4", f"{method} /elsewhere", timestamp(int(clock.now().timestamp()) - 70 * 60))

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert [heard for heard in pods.heard if heard.path == "/elsewhere"] == []
    assert f"status {status}, a redirect to http://" in play.operator.warnings("downscale not prepared")[0].keys["text"]


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(
    ("answer", "level"),
    [
        pytest.param(Answer(500), "error", id="a failure"),
        pytest.param(Answer(409), "info", id="a conflict, which is no error"),
        pytest.param(HANGING, "error", id="no answer"),
        pytest.param(CUT, "error", id="a connection that breaks"),
        pytest.param(Answer(302, headers=ELSEWHERE), "error", id="a redirect"),
    ],
)
async def test_cancelling_that_fails_is_logged_and_stops_nothing(site: Site, answer: Answer, level: str) -> None:
    """Upwards at once, and downwards when the pods that are to go are ready for it."""
    zone, pods = await delayed(site, wanted=7)
    pods.answer("a-0", "DELETE", answer)
    play = await begin(site, Operator(site, settings=QUICK))
    await play.rest()
    assert play.scalings == ["a: 5 to 7"]

    pods.serve(zone, 2, first=5)
    for pod in ("a-5", "a-6"):
        pods.answer(pod, "POST", timestamp(int(clock.now().timestamp()) - 70 * 60))
    await ask_for(site, 5)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 7", "a: 7 to 5"]
    assert await told(site) == 5
    assert play.operator.failures() == 0
    failed = [
        record for each in ("error", "info", "warn", "debug") for record in play.operator.records(each, POD_CALL_FAILED)
    ]
    # The pods that grow are not there yet when all of them are told to stay.
    assert {record.level for record in failed if "zone-a-0." in record.keys["url"]} == {level}


@everywhere(controllers=False, long=True)
async def test_no_more_than_32_pods_are_called_at_once(site: Site) -> None:
    _, pods = await delayed(site, wanted=0, have=40)
    for ordinal in range(40):
        body = timestamp(int(clock.now().timestamp()) - 70 * 60).body
        pods.answer(f"a-{ordinal}", "POST", Answer(body=body, delay=0.1))

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["a: 40 to 0"]
    assert len(pods.called("POST")) == 40
    assert pods.most_at_once == 32


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("http://pod/prepare", "", "/prepare"),
        ("http://pod", "", "/"),
        ("http://user:word@pod:9095/a%20b?c=d&e=f", ":9095", "/a%20b?c=d&e=f"),
        ("http://[::1]:81/x", ":81", "/x"),
    ],
)
async def test_only_the_host_of_the_url_is_replaced(site: Site, url: str, host: str, path: str) -> None:
    _, pods = await delayed(site, wanted=4, url=url)

    play = await begin(site)
    await play.rest()

    assert play.operator.failures() == 0
    assert {heard.path for heard in pods.heard} == {path}
    ends = {heard.host.partition(".svc.cluster.local.")[2] for heard in pods.heard}
    assert ends == {host}


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(
    ("delay", "url", "calls", "scalings"),
    [
        pytest.param("", "http://pod/x", [], ["a: 5 to 3"], id="no delay"),
        pytest.param("0", "http://pod/x", [], ["a: 5 to 3"], id="a delay of 0"),
        pytest.param("1h", "", [], ["a: 5 to 3"], id="no URL"),
        pytest.param("1.5h", "http://pod/x", [], [], id="a delay of the other grammar"),
        pytest.param("1h", "pod/x", [], [], id="a URL without a host"),
        pytest.param("1h", "ftp://pod/x", [], [], id="a URL of another scheme"),
    ],
)
async def test_delay_that_is_off_or_cannot_be_read(
    site: Site, delay: str, url: str, calls: list[str], scalings: list[str]
) -> None:
    """Off, the number is taken at once; unreadable, nothing is, neither down nor up."""
    zone, pods = await delayed(site, wanted=3, delay=delay, url=url)

    play = await begin(site)
    await play.rest()
    assert play.scalings == scalings

    await ask_for(site, 7)
    await looked(play, zone)

    assert play.scalings == ([*scalings, "a: 3 to 7"] if scalings else [])
    assert pods.calls() == calls
    assert play.operator.failures() == 0

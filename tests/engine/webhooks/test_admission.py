"""Reviews, bytes to bytes (rules 35 and 36): what is none, answers in the same version, deadlines, what comes after."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from datetime import datetime

import pytest
from msgspec import structs

from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, ClientWaiting, Good, Http, Need, Read, StartOver
from fairlead.core.decision import Admit
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.driver.round import MOST_ATTEMPTS
from fairlead.engine.serving.routes import LARGEST_BODY
from fairlead.engine.webhooks.admission import CONTEST, SHARE
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.time import run
from tests.engine.webhooks.benches import TIMEOUT, Court, Seen, allow, body, call, response_of
from tests.kubeloop.scripted import Scripted, a_pod

POST = Ask(Http("POST", "http://a-0.svc/prepare"), effect=True)
UNDO = Ask(Http("DELETE", "http://a-0.svc/prepare"), effect=True)


def never(seen: Seen, now: datetime) -> Admit:
    raise AssertionError("what is no review is not judged")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_answer_has_the_version_and_the_uid_of_the_request(version: str) -> None:
    reply = run(Court().answer(call(body(version))))

    assert reply.status == 200
    assert reply.headers == (("Content-Type", "application/json"),)
    assert reply.body == (
        b'{"apiVersion":"admission.k8s.io/%s","kind":"AdmissionReview",'
        b'"response":{"uid":"uid-1","allowed":true}}' % version.encode()
    )


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/json; charset=utf-8", "application/JSON", "application/yaml", "application/json "],
)
def test_another_content_type_is_400(content_type: str) -> None:
    reply = run(Court(never).answer(call(body(), content_type)))

    assert (reply.status, b"Content-Type must be application/json" in reply.body) == (400, True)


def test_a_content_type_that_is_missing_or_given_twice_is_400() -> None:
    court = Court(never)
    twice = Call(method="POST", url="/", headers=(("Content-Type", "application/json"),) * 2, body=body())
    missing = Call(method="POST", url="/", body=body())

    assert run(court.answer(twice)).status == 400
    assert run(court.answer(missing)).status == 400


REVIEW = '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": %s}'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[]",
        "{}",
        "not JSON",
        '{"apiVersion": "admission.k8s.io/v2", "kind": "AdmissionReview", "request": {"uid": "u"}}',
        '{"apiVersion": "v1", "kind": "AdmissionReview", "request": {"uid": "u"}}',
        '{"apiVersion": "admission.k8s.io/v1", "kind": "Pod", "request": {"uid": "u"}}',
        '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        REVIEW % "null",
        REVIEW % "{}",
        REVIEW % '{"uid": ""}',
        REVIEW % '{"uid": null}',
        REVIEW % '{"uid": 7}',
        REVIEW % '{"uid": "u", "userInfo": null}',
        REVIEW % '{"uid": "u", "resource": []}',
        REVIEW % '{"uid": "u", "dryRun": "yes"}',
        REVIEW % '{"uid": "u", "object": ',
        "[" * 100_000,
        REVIEW % ('{"uid": "u", "object": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        "\udcff",
    ],
    ids=range(21),
)
def test_whatever_is_no_review_is_400_with_a_short_text(content: str) -> None:
    court = Court(allow)

    reply = run(court.answer(call(content.encode(errors="surrogateescape"))))

    assert reply.status == 400
    assert 0 < len(reply.body) < 300
    assert court.heard == []


def test_a_body_that_is_too_large_is_413() -> None:
    assert run(Court(never).answer(call(b" " * (LARGEST_BODY + 1)))).status == 413


def test_nulls_in_the_places_of_objects_reach_the_judge() -> None:
    """The old object of a creation, options that were not given, a dry run that was not said."""
    seen: list[Seen] = []

    def judge(given: Seen, now: datetime) -> Admit:
        seen.append(given)
        return Admit(allowed=True)

    run(Court(judge).answer(call(body(object=None, oldObject=None, options=None, dryRun=None))))

    assert bytes(seen[0].review.old_object) == b"null"
    assert seen[0].review.is_dry_run is False


def test_a_denial_carries_its_code_its_message_and_its_warnings() -> None:
    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=False, code=429, reason="TooManyRequests", message="not now", warnings=("careful", "very"))

    answer = response_of(run(Court(judge).answer(call(body()))))

    assert answer == {
        "uid": "uid-1",
        "allowed": False,
        "status": {"message": "not now", "code": 429, "reason": "TooManyRequests"},
        "warnings": ["careful", "very"],
    }


def test_a_denial_without_a_code_leaves_it_to_the_api_server() -> None:
    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=False, message="no")

    assert response_of(run(Court(judge).answer(call(body()))))["status"] == {"message": "no"}


def test_a_patch_is_sent_as_the_api_takes_it() -> None:
    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=True, patch=b'[{"op":"add"}]')

    answer = response_of(run(Court(judge).answer(call(body()))))

    assert answer["patchType"] == "JSONPatch"
    assert b64decode(answer["patch"]) == b'[{"op":"add"}]'


def test_a_judge_that_fails_is_500_and_a_record_with_the_whole_story() -> None:
    def judge(seen: Seen, now: datetime) -> Admit:
        raise ValueError("secret")

    court = Court(judge)

    reply = run(court.answer(call(body())))

    assert reply.status == 500
    assert b"secret" not in reply.body
    ((level, keys),) = court.of("admission review failed")
    assert level == "error"
    assert isinstance(keys["exc_info"], ValueError)


def test_who_is_outpaced_as_long_as_there_is_time_is_told_to_try_again() -> None:
    attempts: list[float] = []

    def judge(seen: Seen, now: datetime) -> StartOver:
        attempts.append(clock.monotonic())
        return StartOver()

    answer = response_of(run(Court(judge, timeout=10).answer(call(body()))))

    assert MOST_ATTEMPTS < len(attempts) < 100
    assert CONTEST * 10 <= attempts[-1] - attempts[0] < SHARE * 10
    assert (answer["allowed"], answer["status"]["code"]) == (False, 429)
    assert "try again" in answer["status"]["message"]


def test_reviews_that_contest_the_same_take_turns_in_the_order_of_coming() -> None:
    judged: list[str] = []

    def judge(seen: Seen, now: datetime) -> Admit | Need:
        if unsent := seen.answers.lacking((POST,)):
            judged.append(f"{seen.review.uid} begins")
            return Need(unsent)
        judged.append(f"{seen.review.uid} ends")
        return Admit(allowed=True)

    async def scenario() -> list[bool]:
        outside = AskContext(Scripted().client(), caller=Pods(POST=1))
        court = Court(judge, outside, contested=lambda seen: seen.review.name)
        names = {"1": "a", "2": "a", "3": "", "4": "a"}
        sent = []
        for uid, name in names.items():
            sent.append(asyncio.create_task(court.answer(call(body(uid=uid, name=name)))))
            await asyncio.sleep(0.1)
        answers = [bool(response_of(reply)["allowed"]) for reply in await asyncio.gather(*sent)]
        assert len(court.turns) == 0
        return answers

    assert run(scenario()) == [True] * 4

    turns = [each for each in judged if not each.startswith("3")]
    assert turns == [f"{uid} {does}" for uid in "124" for does in ("begins", "ends")]
    assert judged.index("3 begins") < judged.index("1 ends")


def test_a_turn_that_does_not_come_in_time_is_answered_as_outpaced() -> None:
    async def scenario() -> tuple[list[str], float]:
        slow = structs.replace(POST, timeout=60)

        def judge(seen: Seen, now: datetime) -> Admit | Need:
            unsent = seen.answers.lacking((slow,))
            return Need(unsent) if unsent else Admit(allowed=False)

        outside = AskContext(Scripted().client(), caller=Pods(POST=60))
        court = Court(judge, outside, contested=lambda _: "a", outpaced=lambda _: Admit(allowed=False, word="late"))
        begun = clock.monotonic()
        await asyncio.gather(*(court.answer(call(body())) for _ in range(3)))
        return [verdict.word for verdict in court.heard], clock.monotonic() - begun

    words, took = run(scenario())

    assert words == ["late", "late", "ok"]
    assert took <= SHARE * TIMEOUT


def test_a_judge_can_ask_whether_the_client_still_waits() -> None:
    awaited = Ask(ClientWaiting())
    verdicts: list[Answer] = []

    def judge(seen: Seen, now: datetime) -> Admit | Need:
        if unasked := seen.answers.lacking((awaited,)):
            return Need(unasked)
        verdicts.append(seen.answers[awaited])
        return Admit(allowed=True)

    for is_awaited in (True, False):
        sent = structs.replace(call(body()), is_awaited=lambda waits=is_awaited: waits)
        run(Court(judge).answer(sent))

    assert verdicts == [Good(), Bad("unreachable", "the connection was closed")]


def test_now_is_fixed_while_questions_take_their_time() -> None:
    moments: list[datetime] = []
    server = Scripted()

    def judge(seen: Seen, now: datetime) -> Admit | Need:
        moments.append(now)
        unread = seen.answers.lacking((Ask(Read(Ref(PODS, "ns", "a"))),))
        return Need(unread) if unread else Admit(allowed=True)

    async def scenario() -> None:
        server.put(a_pod("a"))
        server.fault = _slow
        await Court(judge, AskContext(server.client())).answer(call(body()))

    run(scenario())

    assert len(moments) == 2
    assert moments[0] == moments[1]


async def _slow(_: object, when: str) -> None:
    if when == "before":
        await asyncio.sleep(1)


class Pods:
    """Takes calls by their method and answers each after so many seconds."""

    def __init__(self, **seconds: float) -> None:
        self.log: list[tuple[str, float]] = []
        self._seconds = seconds

    async def __call__(self, sent: Call) -> Reply:
        await asyncio.sleep(self._seconds.get(sent.method, 0))
        self.log.append((sent.method, clock.monotonic()))
        return Reply(200)


def preparing(seen: Seen, now: datetime) -> Admit | Need:
    """Denied, and undone afterwards, when the pods do not answer."""
    if unsent := seen.answers.lacking((POST,)):
        return Need(unsent)
    answer = seen.answers[POST]
    if isinstance(answer, Good):
        return Admit(allowed=True)
    return Admit(allowed=False, message=f"{answer.kind}: {answer.text}", afterwards=((UNDO,),))


def test_an_answer_comes_within_nine_tenths_of_the_requests_time() -> None:
    pods = Pods(POST=60)

    async def scenario() -> tuple[str, float]:
        court = Court(preparing, AskContext(Scripted().client(), caller=pods), timeout=2)
        begun = clock.monotonic()
        answer = response_of(await court.answer(call(body())))
        return answer["status"]["message"], clock.monotonic() - begun

    message, took = run(scenario())

    assert message.startswith("late: no answer within 1.8 seconds")
    assert took == pytest.approx(1.8)


def test_undoing_goes_on_after_the_answer_with_its_own_time() -> None:
    """The request has 2 seconds, the undoing takes 4: more than what was left, and more than the whole."""
    pods = Pods(POST=60, DELETE=4)

    async def scenario() -> tuple[float, list[tuple[str, float]], list[tuple[str, float]]]:
        court = Court(preparing, AskContext(Scripted().client(), caller=pods), timeout=2)
        begun = clock.monotonic()
        await court.answer(call(body()))
        answered, before = clock.monotonic() - begun, list(pods.log)
        await court.afterwards.finished(10)
        return answered, before, [(method, at - begun) for method, at in pods.log]

    answered, before, after = run(scenario())

    assert answered == pytest.approx(1.8)
    assert before == []
    ((method, at),) = after
    assert method == "DELETE"
    assert at == pytest.approx(5.8)


def test_the_end_of_the_process_does_not_wait_for_ever() -> None:
    pods = Pods(POST=60, DELETE=4)

    async def scenario() -> tuple[float, int]:
        court = Court(preparing, AskContext(Scripted().client(), caller=pods), timeout=2)
        await court.answer(call(body()))
        begun = clock.monotonic()
        await court.afterwards.finished(1)
        return clock.monotonic() - begun, len(court.of("work after admission answers was given up"))

    took, records = run(scenario())

    assert took == pytest.approx(1)
    assert records == 1


def test_every_stage_afterwards_is_carried_out_whatever_fails() -> None:
    server = Scripted()
    stamp = Patch(does=Does.STAMP_DOWNSCALE, ref=Ref(PODS, "ns", "gone"), kind=PatchKind.MERGE, body=b"{}")

    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=False, afterwards=((stamp, UNDO), (POST,)))

    pods = Pods()

    async def scenario() -> Court:
        court = Court(judge, AskContext(server.client(), caller=pods))
        await court.answer(call(body()))
        await court.afterwards.finished(10)
        return court

    court = run(scenario())

    assert [method for method, _ in pods.log] == ["DELETE", "POST"]
    ((level, keys),) = court.of("written while deciding")
    assert (level, keys["does"], keys["reason"]) == ("warning", "stamp-downscale", "requested by alice")


def test_reviews_do_not_wait_for_one_another() -> None:
    """What one review writes comes back as another, which must be answered while the first is still judged."""
    court: Court

    async def back(_: Call) -> Reply:
        return await court.answer(call(body(uid="inner", name="inner")))

    def judge(seen: Seen, now: datetime) -> Admit | Need:
        if seen.review.name == "inner":
            return Admit(allowed=True, word="inner")
        unsent = seen.answers.lacking((POST,))
        return Need(unsent) if unsent else Admit(allowed=isinstance(seen.answers[POST], Good), word="outer")

    async def scenario() -> bool:
        nonlocal court
        court = Court(judge, AskContext(Scripted().client(), caller=back))
        return bool(response_of(await court.answer(call(body())))["allowed"])

    assert run(scenario())
    assert [verdict.word for verdict in court.heard] == ["inner", "outer"]


def test_a_review_is_announced_with_its_user_and_its_verdict_logged_as_it_asks() -> None:
    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=False, word="too-soon", code=400, message="wait", warnings=("w",), level="warn")

    court = Court(judge)
    run(court.answer(call(body(dryRun=True))))

    common = {"method": "test", "request.uid": "uid-1", "object.name": "a"}
    ((announced, keys),) = court.of("admission review")
    assert announced == "debug"
    assert keys == {**common, "user": "alice", "operation": "UPDATE", "subresource": "", "dry_run": True}
    ((level, keys),) = court.of("admission denied")
    assert level == "warning"
    assert keys == {**common, "reason": "too-soon", "code": 400, "text": "wait", "warnings": "w"}


def test_what_a_verdict_tells_is_told_and_counted() -> None:
    tell = EventNote(Ref(PODS, "ns", "a"), False, "R", "text")

    def judge(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=True, tell=(tell,))

    court = Court(judge)
    run(court.answer(call(body())))

    assert court.told == [tell]
    assert [verdict.allowed for verdict in court.heard] == [True]


def test_a_judge_that_never_settles_is_our_mistake() -> None:
    def judge(seen: Seen, now: datetime) -> Need:
        return Need(((Ask(Read(Ref(PODS, "ns", "a"))),),))

    court = Court(judge)

    assert run(court.answer(call(body()))).status == 500

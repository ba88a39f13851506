"""A job that a command carries: to its end, at the server's pace, without harm where it is only tried."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

import msgspec
import pytest
from msgspec import Struct, structs

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Bad, Good, Need
from fairlead.core.audit import AuditLine
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult, journaled
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import CommandJob, JobStopped, RunTerms, run_job
from fairlead.engine.progress import ProgressReporter, RunProgress
from kubeloop import clock
from kubeloop.errors import ServerError, TransportError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.records import MemoryRecords
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, a_pod, failure

PAGES = 3
OF_PAGE = 4


class Count(Struct, frozen=True):
    page: int = 0
    failed: tuple[str, ...] = ()


def step(seen: JobSnapshot[Count, None], now: datetime) -> StepResult[Count] | Need:
    """Labels pods, page after page."""
    journal = seen.journal or Count()
    if journal.page == PAGES:
        return StepResult(journal, Decision("end", Hold(Reason.COMPLETE)))
    writes = tuple(labelled(f"p-{journal.page}-{number}") for number in range(OF_PAGE))
    if todo := seen.answers.lacking(writes):
        return Need(todo)
    failed = tuple(each.ref.name for each in writes if isinstance(seen.answers[each], Bad))
    after = structs.replace(journal, page=journal.page + 1, failed=(*journal.failed, *failed))
    return StepResult(after, Decision("page", Hold(Reason.MIGRATING, now)))


def labelled(name: str) -> Patch:
    body = b'{"metadata":{"labels":{"seen":"yes"}}}'
    return Patch(ref=Ref(PODS, "ns", name), kind=PatchKind.MERGE, body=body, does=Does.REWRITE_OBJECT)


def tally(journal: Count) -> RunProgress:
    return RunProgress(subject="pods", phase="Label", done=journal.page * OF_PAGE, total=PAGES * OF_PAGE)


JOB: CommandJob[Count, None] = CommandJob(
    name="label", record="job", journal=Count, decide=journaled(step, Count), world=None, tally=tally
)


class World:
    def __init__(self) -> None:
        self.server = Scripted()
        for page in range(PAGES):
            for number in range(OF_PAGE):
                self.server.put(a_pod(f"p-{page}-{number}"))
        self.server.requests.clear()
        self.records = MemoryRecords()
        self.lines: list[AuditLine] = []
        self.told = io.StringIO()

    def terms(self, *, qps: float = 0.0, burst: int = 1, **more: Any) -> RunTerms:
        return RunTerms(
            client=self.server.client(),
            records=self.records,
            pace=RequestPace(qps, burst),
            audit=self.lines.append,
            reporter=ProgressReporter("json", self.told),
            **more,
        )

    def answering(self, answer: Callable[[Request, int], Response | None]) -> None:
        """Answers in the server's place, by the number of the request."""

        async def fault(request: Request, when: str) -> Response | None:
            return answer(request, len(self.server.requests)) if when == "before" else None

        self.server.fault = fault

    @property
    def labelled(self) -> int:
        return sum(each["metadata"]["labels"].get("seen") == "yes" for each in self.server.objects.values())


def played(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await scenario(World())

    run(play(), seed=0)


def test_a_job_runs_to_its_end_with_an_audit_line_for_every_effect() -> None:
    async def scenario(world: World) -> None:
        journal = await run_job(JOB, world.terms())

        assert journal == Count(PAGES)
        assert world.labelled == PAGES * OF_PAGE
        assert [line.does for line in world.lines].count("rewrite-object") == PAGES * OF_PAGE
        assert [line.does for line in world.lines].count("swap-record") == PAGES

    played(scenario)


def test_no_more_requests_are_sent_than_the_pace_allows() -> None:
    async def scenario(world: World) -> None:
        began = clock.monotonic()

        await run_job(JOB, world.terms(qps=2.0, burst=2))

        # Twelve writes, two of them at once and the others half a second apart.
        assert clock.monotonic() - began == pytest.approx(5.0, abs=0.1)

    played(scenario)


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    async def scenario(world: World) -> None:
        busy = [failure(429, "TooManyRequests", headers={"retry-after": "3"})]
        world.answering(lambda request, _: busy.pop() if busy and request.method == "PATCH" else None)
        began = clock.monotonic()

        await run_job(JOB, world.terms(at_once=1))

        assert world.labelled == PAGES * OF_PAGE
        assert clock.monotonic() - began == pytest.approx(3.0, abs=0.1)

    played(scenario)


def test_a_busy_server_halves_the_rate_and_each_success_raises_it_by_a_tenth() -> None:
    async def scenario(world: World) -> None:
        pace = RequestPace(8.0, 1)

        pace.answered(Bad("failed", "busy", 503))
        assert pace.rate == 4.0

        pace.answered(Good())
        assert pace.rate == pytest.approx(4.4)

        for _ in range(20):
            pace.answered(Good())
        assert pace.rate == 8.0

    played(scenario)


def test_what_the_server_fails_at_is_tried_again_for_half_a_minute_and_is_a_failure_then() -> None:
    async def scenario(world: World) -> None:
        def broken(request: Request, _: int) -> Response | None:
            return failure(500, "InternalError", "conversion webhook failed") if "p-1-2" in request.path else None

        world.answering(broken)
        began = clock.monotonic()

        journal = await run_job(JOB, world.terms())

        assert journal.failed == ("p-1-2",)
        assert clock.monotonic() - began == pytest.approx(31.0, abs=0.1)
        assert sum("p-1-2" in each.path for each in world.server.requests) == 6

    played(scenario)


def test_where_nothing_succeeds_any_more_not_every_object_is_waited_for() -> None:
    async def scenario(world: World) -> None:
        world.answering(lambda request, _: failure(500, "InternalError") if request.method == "PATCH" else None)
        began = clock.monotonic()

        journal = await run_job(JOB, world.terms())

        assert len(journal.failed) == PAGES * OF_PAGE
        assert clock.monotonic() - began < 40

    played(scenario)


def test_a_lost_answer_to_a_write_of_the_journal_is_found_out() -> None:
    """The second try is told that the record has changed, and the step is taken from what is there."""

    async def scenario(world: World) -> None:
        inner = world.records

        class Losing(MemoryRecords):
            lost = False

            async def get(self, key: str) -> Any:
                return await inner.get(key)

            async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
                written = await inner.swap(key, version, value, lasts)
                if not self.lost:
                    self.lost = True
                    raise TransportError("the connection broke")
                return written

        world.records = Losing()

        assert await run_job(JOB, world.terms()) == Count(PAGES)

    played(scenario)


def test_a_dry_run_writes_nothing_not_even_its_journal() -> None:
    async def scenario(world: World) -> None:
        await run_job(JOB, world.terms(dry_run=True))

        writes = [each for each in world.server.requests if each.method != "GET"]
        assert len(writes) == PAGES * OF_PAGE
        assert all(("dryRun", "All") in each.query for each in writes)
        assert (await world.records.get("job")).value == b""
        assert not [line for line in world.lines if line.does == "rewrite-object"]

    played(scenario)


def test_a_journal_that_cannot_be_kept_stops_the_job() -> None:
    async def scenario(world: World) -> None:
        class Refusing(MemoryRecords):
            async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
                raise ServerError(403, "Forbidden", "you may not update configmaps")

        world.records = Refusing()

        with pytest.raises(JobStopped, match="you may not update configmaps"):
            await run_job(JOB, world.terms())

    played(scenario)


def test_progress_is_told_at_every_phase_and_every_two_seconds() -> None:
    async def scenario(world: World) -> None:
        await run_job(JOB, world.terms(qps=1.0, burst=1))

        lines = [msgspec.json.decode(line) for line in world.told.getvalue().splitlines()]
        assert 4 <= len(lines) <= 7
        assert {line["crd"] for line in lines} == {"pods"}
        assert [line["done"] for line in lines] == sorted(line["done"] for line in lines)
        assert lines[-1]["total"] == PAGES * OF_PAGE

    played(scenario)


def test_a_job_goes_on_where_nobody_can_be_told_how_far_it_is() -> None:
    """On a disk that is full, or to a reader that has left."""

    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "no space left on device")

    async def scenario(world: World) -> None:
        world.told = Full()

        await run_job(JOB, world.terms())

        assert world.labelled == PAGES * OF_PAGE

    played(scenario)

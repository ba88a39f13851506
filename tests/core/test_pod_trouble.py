"""When a pod counts as stuck, and what is said about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.core.pod_trouble import AT_ONCE, DEFAULT_DEADLINE, PodTrouble, restarts_of, trouble_of
from fairlead.core.progress_deadline import PROGRESS_DEADLINE, deadline_of
from kubeloop.objects.core import (
    Container,
    ContainerRunning,
    ContainerState,
    ContainerStatus,
    ContainerTerminated,
    ContainerWaiting,
    Pod,
    PodMeta,
    PodSpec,
    PodStatus,
)
from kubeloop.objects.meta import Condition

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RUNNING = ContainerState(running=ContainerRunning())
IMAGE = "registry.example/app:2"


BRIEFLY = timedelta(seconds=3)
NEVER = ContainerState()


def ended(ago: timedelta, *, ran: timedelta = BRIEFLY, reason: str = "Error", code: int = 1) -> ContainerState:
    finished = NOW - ago
    return ContainerState(terminated=ContainerTerminated(finished, finished - ran, code, reason))


def waits(reason: str, message: str = "") -> ContainerState:
    return ContainerState(waiting=ContainerWaiting(reason, message))


def container(
    state: ContainerState = RUNNING, *, restarts: int = 0, last: ContainerState = NEVER, name: str = "app"
) -> ContainerStatus:
    return ContainerStatus(name, False, state, last, restarts)


def a_pod(
    *containers: ContainerStatus,
    not_ready_for: timedelta | None = MINUTE,
    init: tuple[ContainerStatus, ...] = (),
    phase: str = "Running",
    scheduled: bool = True,
    age: timedelta = timedelta(hours=1),
    deleted: timedelta | None = None,
    grace: int = 0,
) -> Pod:
    conditions = [] if not_ready_for is None else [Condition("Ready", "False", NOW - not_ready_for)]
    if not scheduled:
        conditions.append(Condition("PodScheduled", "False", NOW - age, "0/3 nodes are available: 3 Insufficient cpu."))
    return Pod(
        PodMeta(
            "app-0",
            "uid",
            "1",
            namespace="shop",
            creation_timestamp=NOW - age,
            deletion_timestamp=None if deleted is None else NOW - deleted,
            deletion_grace_period_seconds=grace,
        ),
        PodStatus(phase, tuple(conditions), containers, init),
        PodSpec((Container("app", IMAGE),), (Container("setup", "setup:1"),)),
    )


def trouble(pod: Pod, deadline: timedelta = DEFAULT_DEADLINE) -> PodTrouble:
    found = trouble_of(pod, NOW, deadline)
    assert found is not None
    return found


def test_a_ready_pod_is_in_no_trouble_however_often_it_was_restarted() -> None:
    status = ContainerStatus("app", True, RUNNING, ended(MINUTE), 40)

    assert trouble_of(a_pod(status, not_ready_for=None), NOW) is None


@pytest.mark.parametrize("reason", sorted(AT_ONCE))
def test_reasons_that_only_repeat_themselves_count_at_once(reason: str) -> None:
    found = trouble(a_pod(container(waits(reason)), not_ready_for=timedelta(seconds=1), phase="Pending"))

    assert found.is_past
    assert found.until is None
    assert found.container == "app"
    assert found.since == NOW - timedelta(seconds=1)


LOOPS = {
    "in back-off": container(waits("CrashLoopBackOff"), restarts=2, last=ended(MINUTE)),
    "running again": container(RUNNING, restarts=2, last=ended(MINUTE)),
    "terminated and not yet in back-off": container(ended(timedelta(seconds=1)), restarts=2, last=ended(MINUTE)),
    "being started": container(waits("RunContainerError"), restarts=2, last=ended(MINUTE)),
    "made again": container(waits("ContainerCreating"), restarts=2, last=ended(MINUTE)),
    "in the longest back-off": container(waits("CrashLoopBackOff"), restarts=30, last=ended(5 * MINUTE)),
}


@pytest.mark.parametrize("status", LOOPS.values(), ids=LOOPS.keys())
def test_a_crash_loop_is_the_same_trouble_in_all_its_states(status: ContainerStatus) -> None:
    found = trouble(a_pod(status))

    assert (found.reason, found.is_past, found.container) == ("CrashLoopBackOff", True, "app")
    assert found.cause == "container app is in CrashLoopBackOff"


HOPEFUL = {
    "it was restarted once, without delay": container(RUNNING, restarts=1, last=ended(timedelta(seconds=2))),
    "it ran for hours before it ended": container(RUNNING, restarts=7, last=ended(MINUTE, ran=timedelta(hours=3))),
    "it ended long ago": container(RUNNING, restarts=7, last=ended(10 * MINUTE)),
    "nobody says when it ended": container(
        RUNNING, restarts=7, last=ContainerState(terminated=ContainerTerminated(exit_code=1))
    ),
    "its image is being pulled": container(waits("ContainerCreating")),
    "it starts": container(RUNNING),
}


@pytest.mark.parametrize("status", HOPEFUL.values(), ids=HOPEFUL.keys())
def test_other_troubles_have_time_until_their_deadline(status: ContainerStatus) -> None:
    early = trouble(a_pod(status, not_ready_for=DEFAULT_DEADLINE - timedelta(seconds=1)))
    late = trouble(a_pod(status, not_ready_for=DEFAULT_DEADLINE))

    assert not early.is_past
    assert early.until == NOW + timedelta(seconds=1)
    assert late.is_past
    assert late.until is None


def test_the_deadline_is_that_of_what_is_rolled() -> None:
    pod = a_pod(container(), not_ready_for=MINUTE)

    assert trouble(pod, MINUTE).is_past
    assert trouble(pod, 2 * MINUTE).until == NOW + MINUTE


def test_a_pod_without_a_node_counts_from_its_creation_and_says_what_the_scheduler_says() -> None:
    found = trouble(a_pod(not_ready_for=None, scheduled=False, phase="Pending", age=10 * MINUTE))

    assert found.is_past
    assert found.text == "no node is found for it (0/3 nodes are available: 3 Insufficient cpu.)"
    assert found.since == NOW - 10 * MINUTE
    assert found.advice == ("kubectl -n shop describe pod app-0",)


def test_a_pod_that_nobody_has_looked_at_counts_by_its_phase() -> None:
    assert trouble(a_pod(not_ready_for=None, phase="Pending", age=MINUTE)).text == "its phase is Pending"
    assert trouble(a_pod(not_ready_for=None, phase="", age=MINUTE)).text == "its phase is unknown"


def test_a_pod_without_any_date_never_gets_past_its_deadline() -> None:
    pod = a_pod(container(), not_ready_for=None)
    undated = replace(pod, metadata=replace(pod.metadata, creation_timestamp=None))

    found = trouble(undated)

    assert (found.is_past, found.until, found.since) == (False, None, None)


def test_a_deadline_beyond_the_calendar_is_never_reached() -> None:
    found = trouble(a_pod(container()), timedelta(days=292 * 365 * 30))

    assert (found.is_past, found.until) == (False, None)


def test_a_pod_that_goes_has_its_grace_period_and_the_deadline() -> None:
    going = trouble(a_pod(container(), deleted=-MINUTE, grace=90))
    hanging = trouble(a_pod(container(), deleted=DEFAULT_DEADLINE, grace=90))

    assert (going.is_past, going.until) == (False, NOW + MINUTE + DEFAULT_DEADLINE)
    assert going.since == NOW - timedelta(seconds=30)
    assert hanging.is_past
    assert hanging.text == "it does not finish shutting down"
    assert hanging.advice[1].endswith("kubectl -n shop delete pod app-0 --force --grace-period=0")


def test_an_init_container_that_fails_is_named_before_containers_that_wait_for_it() -> None:
    setup = container(waits("CrashLoopBackOff"), restarts=4, last=ended(MINUTE, code=3), name="setup")

    found = trouble(a_pod(container(waits("PodInitializing")), init=(setup,), phase="Pending"))

    assert found.text == "container setup is in CrashLoopBackOff (4 restarts, last ended with exit code 3)"
    assert found.advice[0] == "kubectl -n shop logs app-0 -c setup --previous"


def test_an_init_container_that_is_done_is_no_trouble() -> None:
    done = ContainerStatus("setup", True, ended(MINUTE, reason="Completed", code=0), restart_count=3)

    assert trouble(a_pod(container(), init=(done,))).container == "app"


TEXTS = {
    "a container that was killed": (
        container(waits("CrashLoopBackOff"), restarts=9, last=ended(MINUTE, reason="OOMKilled", code=137)),
        "container app is in CrashLoopBackOff (9 restarts, last ended with OOMKilled)",
    ),
    "one restart": (
        container(waits("CrashLoopBackOff"), restarts=1, last=ended(MINUTE)),
        "container app is in CrashLoopBackOff (1 restart, last ended with exit code 1)",
    ),
    "an image that cannot be pulled": (
        container(waits("ImagePullBackOff", 'Back-off pulling image "x"')),
        f"container app is in ImagePullBackOff (image {IMAGE})",
    ),
    "the try between two waits for an image": (
        container(waits("ErrImagePull", "rpc error: no such host")),
        f"container app is in ImagePullBackOff (image {IMAGE})",
    ),
    "a Secret that is missing": (
        container(waits("CreateContainerConfigError", 'secret "key" not found')),
        'container app is in CreateContainerConfigError (secret "key" not found)',
    ),
    "a container that does not become ready": (container(), "container app is not ready"),
}


@pytest.mark.parametrize(("status", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_trouble_is_said_in_a_few_words(status: ContainerStatus, text: str) -> None:
    assert trouble(a_pod(status)).text == text


def test_words_of_strangers_are_cut() -> None:
    found = trouble(a_pod(container(waits("CreateContainerError", "x\n" * 5000))))

    assert len(found.text) < 300
    assert "\n" not in found.text


def test_the_cause_stays_the_same_while_the_count_of_restarts_grows() -> None:
    causes = {
        trouble(a_pod(container(waits("CrashLoopBackOff"), restarts=count, last=ended(MINUTE, code=count)))).cause
        for count in range(1, 9)
    }

    assert causes == {"container app is in CrashLoopBackOff"}


def test_logs_of_a_container_that_never_ended_are_those_of_its_only_run() -> None:
    assert trouble(a_pod(container())).advice == (
        "kubectl -n shop logs app-0 -c app",
        "kubectl -n shop describe pod app-0",
    )


def test_restarts_are_those_of_the_worst_container() -> None:
    setup = container(name="setup", restarts=5)

    assert restarts_of(a_pod(container(restarts=2), container(restarts=3, name="b"), init=(setup,))) == 5
    assert restarts_of(a_pod()) == 0


def test_a_status_of_the_api_server_is_read() -> None:
    """Field names as the API writes them."""
    tree = {
        "metadata": {
            "name": "app-0",
            "uid": "uid",
            "resourceVersion": "1",
            "namespace": "shop",
            "creationTimestamp": "2026-03-01T11:00:00Z",
        },
        "spec": {"containers": [{"name": "app", "image": IMAGE, "env": []}]},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": "2026-03-01T11:58:00Z", "message": "m"}
            ],
            "containerStatuses": [
                {
                    "name": "app",
                    "ready": False,
                    "restartCount": 9,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
                    "lastState": {
                        "terminated": {
                            "exitCode": 137,
                            "reason": "OOMKilled",
                            "startedAt": "2026-03-01T11:57:00Z",
                            "finishedAt": "2026-03-01T11:57:30Z",
                        }
                    },
                }
            ],
        },
    }

    found = trouble(msgspec.json.decode(msgspec.json.encode(tree), type=Pod))

    assert found.text == "container app is in CrashLoopBackOff (9 restarts, last ended with OOMKilled)"
    assert found.since == datetime(2026, 3, 1, 11, 58, tzinfo=UTC)


@pytest.mark.parametrize(("text", "length"), [("90s", timedelta(seconds=90)), ("1h30m", timedelta(minutes=90))])
def test_the_annotation_says_how_long(text: str, length: timedelta) -> None:
    assert deadline_of({PROGRESS_DEADLINE: text}) == (length, "")


def test_without_an_annotation_it_is_ten_minutes() -> None:
    assert deadline_of({}) == (timedelta(minutes=10), "")


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "0", "0s", "9" * 400 + "h"])
def test_an_annotation_that_cannot_be_used_leaves_ten_minutes_and_says_why(text: str) -> None:
    length, problem = deadline_of({PROGRESS_DEADLINE: text})

    assert length == timedelta(minutes=10)
    assert problem

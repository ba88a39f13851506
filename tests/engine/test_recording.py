"""Rounds kept in files: bounded, never in the way of a round, and read again by `fairlead replay`."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import msgspec
import pytest

from fairlead.contracts import contract, deciders
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.settings import Settings as GroupSettings
from fairlead.contracts.plans.install.definitions import definitions as plan_definitions
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.zones.settings import Settings
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.core.replay import DecidedRound, replayed
from fairlead.core.written import codec
from fairlead.engine import recording
from fairlead.engine.options import PartOptions
from fairlead.engine.recording import Bounds, Ring, RoundRecorder, files_in
from fairlead.engine.webhooks.admission import Admission
from kubeloop.calls import Call
from tests.builders import a_zone, seen
from tests.engine.test_parts import every_job, every_part
from tests.engine.world import Log, World, play
from tests.operator_parts import zones

JSON = (("Content-Type", "application/json"),)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HELD = Decision("roll", Hold(Reason.PAUSED))


def a_round(number: int) -> DecidedRound:
    return DecidedRound("zones", "test/ingester", f"{number}", NOW, seen(a_zone("a")), HELD)


def kept(folder: Path) -> list[bytes]:
    return [line for each in files_in(folder) for line in each.read_bytes().splitlines()]


def test_the_oldest_files_go_when_there_are_too_many(tmp_path: Path) -> None:
    ring = Ring(tmp_path, Bounds(file_bytes=10, ring_bytes=1000, files=3))

    for number in range(9):
        ring.add([b"line-%d" % number])

    assert kept(tmp_path) == [b"line-6", b"line-7", b"line-8"]


def test_the_oldest_files_go_when_all_are_too_large(tmp_path: Path) -> None:
    ring = Ring(tmp_path, Bounds(file_bytes=20, ring_bytes=50, files=100))

    for number in range(30):
        ring.add([b"line-%02d" % number])

    assert sum(each.stat().st_size for each in files_in(tmp_path)) <= 50
    assert kept(tmp_path)[-1] == b"line-29"


def test_a_line_larger_than_the_ring_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    ring = Ring(tmp_path, Bounds(file_bytes=20, ring_bytes=50, files=100))

    ring.add([b"before", b"x" * 60, b"after"])

    assert kept(tmp_path) == [b"before", b"after"]


def test_another_process_goes_on_after_the_last_file_and_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "rounds-notes.jsonl").write_text("mine")
    Ring(tmp_path, Bounds(files=2)).add([b"first"])
    Ring(tmp_path, Bounds(files=2)).add([b"second"])
    Ring(tmp_path, Bounds(files=2)).add([b"third"])

    assert kept(tmp_path) == [b"second", b"third"]
    assert (tmp_path / "rounds-notes.jsonl").read_text() == "mine"


def test_nobody_else_may_read_what_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"

    Ring(folder).add([b"line"])

    (file,) = files_in(folder)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_others_have_laid_into_the_folder_is_left_alone_and_in_nobodys_way(tmp_path: Path) -> None:
    target, ring = tmp_path / "target", Ring(tmp_path, Bounds(file_bytes=10, ring_bytes=1000, files=3))
    (tmp_path / "rounds-00000001.jsonl").symlink_to(target)
    (tmp_path / "rounds-00000002.jsonl").mkdir()

    for number in range(9):
        ring.add([b"line-%d" % number])
    written = [each for each in files_in(tmp_path) if each.is_file()]
    written[-1].unlink()
    written[-1].symlink_to(target)
    ring.add([b"line-9"])

    assert [each.read_bytes() for each in files_in(tmp_path) if each.is_file()] == [
        b"line-6\n",
        b"line-7\n",
        b"line-9\n",
    ]
    assert not target.exists(), "a link is not written through"


def test_a_ring_stays_within_its_bounds_however_large_the_rounds_that_come_together(tmp_path: Path) -> None:
    largest = 0

    def lines() -> Iterator[bytes]:
        nonlocal largest
        for number in range(30):
            largest = max(largest, sum(each.stat().st_size for each in files_in(tmp_path)))
            yield b"%030d" % number

    Ring(tmp_path, Bounds(file_bytes=40, ring_bytes=100, files=100)).add(lines())

    assert largest <= 100
    assert kept(tmp_path)[-1] == b"%030d" % 29


def test_a_line_that_fitted_only_in_part_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring, write = Ring(tmp_path), os.write
    ring.add([b"before"])

    def full(file: int, data: bytes) -> int:
        if len(data) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, bytes(data[:3]))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            ring.add([b"lost"])
    ring.add([b"after"])

    assert kept(tmp_path) == [b"before", b"after"]


def test_folder_that_cannot_be_written_to_is_told_once(tmp_path: Path) -> None:
    """A file is in the way of the folder, as for root no folder is unwritable."""
    log, folder = Log(), tmp_path / "records"
    folder.write_text("in the way")

    recorder = RoundRecorder(folder, deciders(), log.logger())

    for number in range(3):
        recorder.record(a_round(number))
        recorder.close()

    ((level, message, keys),) = log.records
    assert (level, message, keys["folder"]) == ("warning", "rounds cannot be recorded", str(folder))
    assert "--record" in keys["help"]


def test_a_round_does_not_wait_for_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, goes_on = Log(), Event()
    add = Ring.add

    def slow(ring: Ring, lines: Iterable[bytes]) -> None:
        goes_on.wait()
        add(ring, lines)

    monkeypatch.setattr(Ring, "add", slow)
    recorder = RoundRecorder(tmp_path, deciders(), log.logger())

    for number in range(recording.WAITING + 500):
        recorder.record(a_round(number))
    goes_on.set()
    recorder.close()

    skipped = log.of("rounds were not recorded: they came faster than they can be written")
    assert 0 < len(kept(tmp_path)) <= recording.WAITING + recording.BATCH
    assert sum(told["rounds"] for told in skipped) + len(kept(tmp_path)) == recording.WAITING + 500


def test_a_process_that_ends_goes_on_answering_while_a_slow_disk_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, add = Event(), Ring.add

    def slow(ring: Ring, lines: Iterable[bytes]) -> None:
        goes_on.wait(recording.CLOSING_SECONDS)
        add(ring, lines)

    async def ending() -> None:
        recorder = RoundRecorder(tmp_path, deciders(), Log().logger())
        recorder.record(a_round(1))
        closing = asyncio.create_task(recorder.closed())
        await asyncio.sleep(0)
        assert not closing.done()
        recorder.record(a_round(2))
        goes_on.set()
        await closing
        await recorder.closed()

    monkeypatch.setattr(Ring, "add", slow)
    asyncio.run(ending())

    assert [replayed(line, deciders()).round for line in kept(tmp_path)] == ["1", "2"]


def test_rounds_of_an_operator_are_kept_with_the_numbers_of_its_audit_lines(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating(record=str(tmp_path)):
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            await asyncio.sleep(1)
        terminated.extend(keys["round"] for _, _, keys in world.log.records if keys.get("does") == "terminate-pod")

    terminated: list[str] = []
    play(scenario)
    rounds = [replayed(line, deciders()) for line in kept(tmp_path)]

    assert rounds
    assert not [each for each in rounds if each.changes or each.problem]
    assert len(terminated) == 3
    moving = {each.round for each in rounds if each.then.verdict == "Move" and each.controller == "zones"}
    assert set(terminated) <= moving


def test_an_operator_that_cannot_keep_rounds_rolls_out(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.write_text("in the way")

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating(record=str(folder)):
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
        assert len(world.log.of("rounds cannot be recorded")) == 1

    play(scenario)


def test_every_controller_and_webhook_is_decided_again_by_what_decides_it() -> None:
    async def scenario(world: World) -> None:
        await world.define(*definitions(), *plan_definitions())
        groups = PartOptions(contract("leaderworker"), GroupSettings())
        plans = PartOptions(contract("plans"), PlanSettings())
        manager = await world.operator(parts=(zones(Settings(phased_deployments=True)), groups, plans))
        for admission in manager.webhooks.routes.values():
            assert isinstance(admission, Admission)
            found[admission._endpoint.paths[0]] = admission._endpoint.judge

    found: dict[str, object] = {each.name: each.decide for each in every_part()} | {**every_job()}
    play(scenario)

    assert found.items() >= {name: each.decide for name, each in deciders().items()}.items()
    assert {name for name in found if name.startswith("/")} <= deciders().keys()


@pytest.mark.parametrize("name", deciders())
def test_every_snapshot_can_be_written_down(name: str) -> None:
    """A Snapshot is facts only: no function, no store, nothing that two processes cannot both have."""
    assert codec(deciders()[name].seen)


def test_reviews_are_kept_and_judged_again_alike(tmp_path: Path) -> None:
    """The pod is in no budget, and is evicted."""
    review = {
        "uid": "review-1",
        "kind": {"group": "policy", "version": "v1", "kind": "Eviction"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": "eviction",
        "name": "zone-a-0",
        "namespace": "test",
        "operation": "CREATE",
        "object": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "zone-a-0"}},
    }
    body = msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review})

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating(record=str(tmp_path)) as manager:
            call = Call(method="POST", url="/pods/eviction", headers=JSON, body=body)
            reply = await manager.webhooks.handler(call)
        assert reply.status == 200

    play(scenario)
    rounds = [replayed(line, deciders()) for line in kept(tmp_path)]

    (judged,) = [each for each in rounds if each.controller == "/admission/pod-eviction"]
    assert (judged.key, judged.round, judged.then.verdict) == ("test/zone-a-0", "review-1", "Allow")
    assert judged.now == judged.then
    assert judged.changes == ()

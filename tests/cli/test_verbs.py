"""What verbs say: of what they did, would do, and could not do."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.cli import exits, termination, verb_command
from fairlead.cli.connect import Cluster
from fairlead.cli.main import main, parser_of
from fairlead.cli.verb_rows import Stop
from fairlead.contracts.zones.kinds import PAUSED
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from fairlead.core.verb import VERBS
from kubeloop.client import Client
from kubeloop.request import Request, Response
from tests.builders import a_zone, pods_of
from tests.cli.worlds import World, served

A, B = a_zone("a", current="new"), a_zone("b", current="new")
Said = tuple[int, str, str]


def zones() -> World:
    return World(A, pods_of(A, "new"), B, pods_of(B, "new"))


class Writable(World):
    """Takes patches, but not those that `refused` names by the end of their path; notes what was written."""

    def __init__(self, *objects: object) -> None:
        super().__init__(*objects)  # type: ignore[arg-type]
        self.refused: dict[str, tuple[int, str, str]] = {}
        self.rehearsed = 0
        self.fails_when_written = False
        self.written: list[tuple[str, dict[str, object]]] = []
        self.user = "jane@example.test"
        self.events: list[str] = []

    async def send(self, request: Request) -> Response:
        if request.path.endswith("selfsubjectreviews"):
            return self._said(200, status={"userInfo": {"username": self.user}})
        if "/events" in request.path:
            return self._event(request)
        if self.fails_when_written and self.written and request.method == "GET":
            return self._failed(500, "InternalError", "etcd has no leader")
        if request.method != "PATCH":
            found = await super().send(request)
            return found if found.status != 404 else self._failed(404, "NotFound", "not found")
        if ("dryRun", "All") in request.query:
            self.rehearsed += 1
            return self.answer(request.path)
        name = request.path.rpartition("/")[2]
        if name in self.refused:
            code, reason, message = self.refused[name]
            return self._failed(code, reason, message)
        self.written.append((name, msgspec.json.decode(request.body)))
        return self.answer(request.path)

    def _event(self, request: Request) -> Response:
        if "events" in self.refused:
            return self._failed(403, "Forbidden", "no")
        self.events.append(msgspec.json.decode(request.body)["note"])
        return self._said(201, metadata={"name": "x"})

    def _said(self, status_code: int, **body: object) -> Response:
        return Response(status_code, msgspec.json.encode(body))

    def _failed(self, code: int, reason: str, message: str) -> Response:
        return self._said(code, kind="Status", status="Failure", reason=reason, message=message, code=code)


def writable() -> Writable:
    return Writable(A, pods_of(A, "new"), B, pods_of(B, "new"))


def asked(world: World, capsys: pytest.CaptureFixture[str], verb: str, *words: str, user: str = "jane") -> Said:
    """Code, output and errors of the command on a cluster that is this world."""

    async def work() -> int:
        cluster = Cluster(Client(world), ("test",), user)
        try:
            return await verb_command.carried_out(cluster, verb, parser_of(verb).parse_args(words))
        except Stop as stop:
            print(f"fairlead: {stop.text}", file=sys.stderr)
            return stop.code

    code = termination.run(work())
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_pause_is_rehearsed_written_and_told_with_who_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()

    code, out, err = asked(world, capsys, "pause", "ingester", "--reason", "a\n  look")

    assert (code, err) == (exits.OK, "")
    assert out.startswith("ingester is paused (ingester-zone-a, ingester-zone-b): none of its pods is deleted until")
    assert world.rehearsed == 2
    assert [name for name, _ in world.written] == ["ingester-zone-a", "ingester-zone-b"]
    assert world.events == ["jane@example.test paused the group ingester with `fairlead pause`: a look"] * 2


def test_without_a_reason_the_event_says_so_and_without_a_review_the_kubeconfig_says_who(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = writable()
    world.user = ""

    asked(world, capsys, "pause", "ingester")

    assert world.events[0] == "jane paused the group ingester with `fairlead pause`: no reason was given"


def test_a_dry_run_prints_the_patches_and_what_an_event_would_say(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()

    code, out, err = asked(world, capsys, "pause", "zones/ingester", "--dry-run")

    assert code == exits.OK
    assert out.startswith('statefulset/ingester-zone-a:\n{\n  "metadata": {')
    assert out.count(f'"{PAUSED}": "true"') == 2
    assert err.startswith("fairlead: nothing was written; an Event would say: jane@example.test paused the group")
    assert (world.written, world.rehearsed, world.events) == ([], 0, [])


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_result_is_a_document(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(writable(), capsys, "pause", "ingester", "-o", form, "--reason", "why not")

    document = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert code == exits.OK
    assert (document["apiVersion"], document["kind"]) == ("fairlead.dev/v1alpha1", "VerbResult")
    assert (document["verb"], document["part"], document["rollout"]) == ("pause", "zones", "ingester")
    assert (document["by"], document["reason"]) == ("jane@example.test", "why not")
    assert (document["changed"], document["dryRun"]) == (True, False)
    assert document["writes"][0]["patch"]["metadata"]["annotations"] == {PAUSED: "true"}


def test_that_nothing_is_to_be_done_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(writable(), capsys, "resume", "ingester")
    document = json.loads(asked(writable(), capsys, "resume", "ingester", "-o", "json")[1])

    assert code == exits.OK
    assert out == "ingester is not paused: `fairlead explain ingester -n test` says what it waits for\n"
    assert (document["changed"], document["said"] + "\n") == (False, out)


def test_what_was_written_and_what_was_not_is_said_and_how_to_finish(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()
    forbidden = 'User "jane" cannot patch resource "statefulsets" in API group "apps" in the namespace "test"'
    world.refused["ingester-zone-b"] = 403, "Forbidden", forbidden

    code, out, err = asked(world, capsys, "pause", "ingester")

    assert (code, out) == (exits.ERROR, "")
    assert err.startswith('fairlead: user "jane" may not patch statefulsets.apps in namespace "test":')
    assert err.endswith("; written: ingester-zone-a; not written: ingester-zone-b; run the same command again\n")
    assert len(world.events) == 1


def test_a_server_that_fails_after_the_first_write_does_not_hide_it(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()
    world.refused["ingester-zone-b"] = 409, "Conflict", "the object has been modified"
    world.fails_when_written = True

    code, _, err = asked(world, capsys, "pause", "ingester")

    assert code == exits.ERROR
    assert "etcd has no leader" in err
    assert err.endswith("; written: ingester-zone-a; not written: ingester-zone-b; run the same command again\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_in_the_middle_learns_what_was_written(capsys: pytest.CaptureFixture[str], number: int) -> None:
    class Ended(Writable):
        async def send(self, request: Request) -> Response:
            if request.path.endswith("zone-b") and self.written:
                signal.raise_signal(number)
                await asyncio.Event().wait()
            return await super().send(request)

    world = Ended(A, pods_of(A, "new"), B, pods_of(B, "new"))

    code, out, err = asked(world, capsys, "pause", "ingester")

    assert (code, out) == (exits.INTERRUPTED, "")
    assert err == (
        "fairlead: interrupted; written: ingester-zone-a; not written, or not known to be: ingester-zone-b; run the"
        " same command again\n"
    )
    assert len(world.events) == 1


def test_a_user_whom_nobody_can_name_is_somebody(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()
    world.user = " \n"

    asked(world, capsys, "pause", "ingester", user="")

    assert world.events[0].startswith("somebody paused the group ingester")


def test_somebody_who_is_always_faster_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()
    world.refused["ingester-zone-a"] = 409, "Conflict", "the object has been modified"

    code, out, err = asked(world, capsys, "pause", "ingester")

    assert (code, out) == (exits.ERROR, "")
    assert err == "fairlead: ingester was changed by somebody else again and again: try again in a moment\n"
    assert (world.written, world.events) == ([], [])


def test_who_may_not_write_events_is_told_that_none_was(capsys: pytest.CaptureFixture[str]) -> None:
    world = writable()
    world.refused["events"] = 403, "Forbidden", "no"

    code, out, err = asked(world, capsys, "pause", "ingester")

    assert code == exits.OK
    assert out.startswith("ingester is paused")
    assert err == "fairlead: no Event tells of it: see `kubectl auth can-i create events -n test`\n"


@pytest.mark.parametrize(
    ("verb", "words", "code", "sentence"),
    [
        (
            "pause",
            ["ingestre"],
            3,
            "no group of zones, LeaderWorkerSet or RolloutTrait named ingestre in namespace test: `fairlead get`",
        ),
        ("pause", ["environments/ingester"], 3, "no environment named ingester in namespace test: `fairlead get`"),
        ("pause", ["ingester-zone-a"], 1, "ingester-zone-a is a zone of the group ingester: name the group"),
        ("abort", ["ingester"], 1, "a rollout of zones is taken back with `fairlead undo ingester -n test`"),
        ("abort", [""], 3, 'no environment or RolloutTrait named "" in namespace test'),
        ("promote", ["environments/"], 3, 'no environment named "" in namespace test'),
        ("promote", ["ingester-zone-a"], 1, "zones follow one another by themselves"),
        ("retry", ["ingester"], 1, "a rollout of zones goes on by itself when what is in its way is gone"),
        ("retry", ["else"], 3, "no RolloutTrait named else in namespace test"),
        ("restart", ["ingester", "--zone", "x"], 1, "x is no zone of ingester: its zones are ingester-zone-a, inge"),
        ("undo", ["ingester"], 1, "the StatefulSet controller has not recorded the newest template of ingester-zon"),
        ("undo", ["ingester", "--to-revision", "7"], 1, "ingester has no revision 7: there are none"),
        ("history", ["ingester"], 1, "no revision of ingester is recorded yet"),
    ],
)
def test_mistakes_are_one_sentence(
    verb: str, words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = writable()

    found, out, err = asked(world, capsys, verb, *words)

    assert (found, out) == (code, "")
    assert err.startswith(f"fairlead: {sentence}")
    assert len(err.splitlines()) == 1
    assert world.written == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["undo", "x", "--to-revision=1", "--to-revision=2"], "--to-revision is given more than once: choose one"),
        (["pause", "flows/x"], 'no part "flows": there are zones, environments'),
        (["undo", "x", "--to-revision="], "--to-revision needs a value"),
        (["pause"], "the following arguments are required: NAME; `fairlead pause --help` lists the options"),
        (["pause", "x", "--yes"], "unknown option --yes (did you mean --as?); `fairlead pause --help` lists"),
        (["pause", "x", "-A"], "unknown option -A; `fairlead pause --help` lists the options"),
        (["status", "x", "--timeout", "5"], "--timeout: "),
    ],
)
def test_a_wrong_command_line_is_code_2(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(zones(), tmp_path) as server:
        code = main([*words, "--kubeconfig", server.kubeconfig])

    assert code == exits.USAGE
    assert capsys.readouterr().err.startswith(f"fairlead: {sentence}")


def test_a_verb_in_the_wrong_namespace_says_where_the_rollout_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(zones(), tmp_path) as server:
        code = main(["pause", "ingester", "-n", "elsewhere", "--kubeconfig", server.kubeconfig])

    assert code == exits.NOT_FOUND
    assert capsys.readouterr().err == (
        "fairlead: ingester is not in namespace elsewhere, but in namespace test: add -n test\n"
    )


@pytest.mark.parametrize("command", ["pause", "explain"])
def test_the_group_without_a_name_is_found_in_another_namespace_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = a_zone("a", current="new", group="")
    with served(World(nameless, pods_of(nameless, "new")), tmp_path) as server:
        code = main([command, '""', "-n", "elsewhere", "--kubeconfig", server.kubeconfig])

    assert code == exits.NOT_FOUND
    assert capsys.readouterr().err == 'fairlead: "" is not in namespace elsewhere, but in namespace test: add -n test\n'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", exits.OK), ("n\n", exits.ERROR), ("", exits.ERROR)])
def test_a_person_is_asked_before_it_is_written(
    answer: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = Revised(A, pods_of(A, "new"))
    monkeypatch.setattr(sys, "stdin", Terminal(answer))

    found, _, err = asked(world, capsys, "undo", "ingester")

    assert found == code
    assert err.startswith("The pod templates of ingester go back to revision 1:\n  ingester-zone-a\n")
    assert "Go on? [y/N] " in err
    assert bool(world.written) == (code == exits.OK)


def test_a_warning_is_said_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    by_helm = a_zone("a", current="new", annotations={"meta.helm.sh/release-name": "mimir"})
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))

    for words in ([], ["--yes"]):
        code, _, err = asked(Revised(by_helm, pods_of(by_helm, "new")), capsys, "undo", "ingester", *words)

        assert code == exits.OK
        assert err.count("the pod templates are managed by Helm") == 1


class Interrupting:
    """A terminal at which somebody presses Ctrl-C."""

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        signal.raise_signal(signal.SIGINT)
        return "the question goes on"


def test_ctrl_c_ends_the_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    world = Revised(A, pods_of(A, "new"))
    monkeypatch.setattr(sys, "stdin", Interrupting())

    with pytest.raises(KeyboardInterrupt) as interrupted:
        asked(world, capsys, "undo", "ingester")

    assert interrupted.traceback[-1].name == "readline"
    assert world.written == []


class Revised(Writable):
    """Zone a had another image before."""

    def answer(self, path: str) -> Response:
        found = super().answer(path)
        if not path.endswith("controllerrevisions"):
            return found
        template = msgspec.to_builtins(A.spec.template)
        before = {**template, "spec": {"containers": [{"name": "main", "image": "before"}]}}
        owner = {"kind": "StatefulSet", "name": A.metadata.name, "uid": A.metadata.uid, "controller": True}
        items = [
            {
                "metadata": {"name": f"r{number}", "uid": "u", "resourceVersion": "1", "ownerReferences": [owner]},
                "revision": number,
                "data": {"spec": {"template": each}},
            }
            for number, each in enumerate((before, template), 1)
        ]
        return Response(200, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_command_with_the_options_of_all(verb: str) -> None:
    options = parser_of(verb)._option_string_actions

    assert {"-n", "-o", "--as", "--context", "--kubeconfig"} <= set(options)
    assert ({"--dry-run", "--reason"} <= set(options)) == (verb != "history")


@pytest.mark.parametrize(("words", "code"), [(["--no-wait"], exits.OK), ([], exits.OK)])
def test_the_status_of_what_is_complete_is_a_line_per_zone(
    words: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(zones(), tmp_path) as server:
        found = main(["status", "ingester", *words, "--kubeconfig", server.kubeconfig])

    assert found == code
    assert capsys.readouterr().out.splitlines() == [
        "ingester-zone-a: Current, 3 of 3 pods done",
        "ingester-zone-b: Current, 3 of 3 pods done",
        "ingester: done, 6 of 6 pods updated",
    ]


def test_the_status_of_what_is_not_complete_is_code_4_at_once_or_when_the_time_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rolling = a_zone("b", ready=2, annotations={PROGRESS_DEADLINE: "100000h"})
    with served(World(A, pods_of(A, "new"), rolling, pods_of(rolling, "old", _0="notReady new")), tmp_path) as server:
        at_once = main(["status", "ingester", "--no-wait", "--kubeconfig", server.kubeconfig])
        later = main(["status", "ingester", "--timeout", "1s", "-o", "json", "--kubeconfig", server.kubeconfig])

    captured = capsys.readouterr()
    assert (at_once, later) == (exits.BLOCKED, exits.BLOCKED)
    assert '"kind": "Rollout"' in captured.out
    assert captured.err == "fairlead: not complete after 1s\n"

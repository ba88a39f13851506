"""Running a suite of shell scripts, with a small one of our own and a kubectl that does nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tools import kubectl_suite
from tools.kubectl_suite import Run, Suite
from tools.kubectl_suite_clusters import Place
from tools.kubectl_suite_records import Check, Outcome, failures, only_on, outcome, table

FILES = {
    "hack/lib/logging.sh": "",
    "hack/lib/util.sh": "kube::util::ensure-gnu-sed() { SED=sed; }",
    "hack/lib/test.sh": """
kube::test::clear_all() { :; }
kube::test::if_has_string() { grep -q "$2" <<< "$1" || { echo "not in: $1"; return 1; }; }
kube::test::get_object_assert() { kube::test::if_has_string "$(kubectl get "$1")" "$2"; }
""",
    "hack/testdata/service-a.yaml": "clusterIP: 10.0.0.12\n",
    "test/cmd/legacy-script.sh": """
set -o errexit
source test/cmd/demo.sh
PATH="${THIS_PLATFORM_BIN}:${PATH}"
runTests() {
  export word=shared
  record_command run_second_tests
  record_command run_first_tests
}
""",
    "test/cmd/demo.sh": """
run_first_tests() {
  set -o nounset
  set -o errexit
  kube::test::if_has_string "${word}" shared
  kube::test::if_has_string one two
  kube::test::get_object_assert pods nothing
  false
  output=$(false || echo fine)
  set +o errexit
  false
  set -o errexit
  kube::test::if_has_string "$(cat hack/testdata/service-a.yaml) admin-token" "10.9.9.9 the-token"
  set +o nounset
}
run_second_tests() {
  kube::test::if_has_string one one
  exit 1
}
run_unused_tests() { :; }
""",
    "test/fixtures/none": "",
    "test/e2e/testing-manifests/none": "",
    "third_party/forked/shell2junit/none": "",
    "cluster/none": "",
}


def a_suite(folder: Path, **changed: str) -> Suite:
    for name, text in {**FILES, **changed}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Suite(folder)


def played(suite: Suite, folder: Path) -> Outcome:
    program = folder / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o700)
    work = folder / "work"
    work.mkdir()
    return asyncio.run(Run(suite, program, Place(1, "the-token", "10.9.9.9"), work).play("demo"))


def test_functions_are_those_that_the_suite_starts_in_its_order(tmp_path: Path) -> None:
    suite = a_suite(tmp_path)

    assert suite.scripts == ["demo"]
    assert suite.functions("demo") == ["run_second_tests", "run_first_tests"]


def test_every_check_has_its_verdict_and_the_rest_of_a_function_still_runs(tmp_path: Path) -> None:
    found = played(a_suite(tmp_path / "suite"), tmp_path)

    assert [(check.passed, check.place, check.what) for check in found.checks] == [
        (True, "demo.sh:17", "if_has_string"),
        (False, "run_second_tests", "the function left before its end"),
        (True, "demo.sh:5", "if_has_string"),
        (False, "demo.sh:6", "if_has_string"),
        (False, "demo.sh:7", "get_object_assert"),
        (False, "demo.sh:8", "exit code 1: false"),
        (True, "demo.sh:13", "if_has_string"),
    ]
    assert (found.passed, found.failed) == (3, 4)
    assert found.checks[3].said == "not in: one"


def test_a_script_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = {"test/cmd/demo.sh": "run_first_tests() { sleep 600; }\n"}
    suite = a_suite(tmp_path / "suite", **endless)

    def stopped_after(seconds: float) -> tuple[Check, ...]:
        monkeypatch.setattr(kubectl_suite, "SECONDS", seconds)
        return played(suite, tmp_path).checks

    # Where others use the machine, a shell may not even have begun by then.
    found = next(filter(None, map(stopped_after, (0.4, 4.4, 40.4))))

    assert [(check.passed, check.place) for check in found] == [(False, "run_first_tests")]
    assert found[0].what in ("stopped after 0 s", "stopped after 4 s", "stopped after 40 s")


def test_a_failure_counts_for_a_cluster_alone_unless_another_failed_there_as_often() -> None:
    same, other = Check(False, "a.sh:1", "x", "said"), Check(False, "a.sh:2", "y", "one\n\ntwo")
    real = Outcome((same, Check(True, "a.sh:2", "y")))
    sim = Outcome((same, same, other))

    assert only_on("sim", {"real": real, "sim": sim}) == [same, other]
    assert table({"a": {"real": real, "sim": sim}}, ["real", "sim"]).splitlines() == [
        "| script | real: passed | real: failed | sim: passed | sim: failed | sim only |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| a | 1 | 1 | 0 | 3 | 2 |",
        "| **all** | 1 | 1 | 0 | 3 | 2 |",
    ]
    assert failures("a", [other]) == "### a\n\n- `a.sh:2` y\n      one\n      two\n"
    assert failures("a", []) == ""


def test_records_of_a_function_without_an_end_are_a_failure() -> None:
    records = b"started\0\0run_x\0\0passed\0a.sh:1\0check\0fine\0"

    assert outcome(records).checks[-1] == Check(False, "run_x", "the function left before its end")
    assert outcome(records, "stopped after 5 s").checks[-1].what == "stopped after 5 s"

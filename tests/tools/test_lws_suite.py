"""Upstream's suites: which specs a run has, where our set-up goes, and what is read from a report."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tools.lws_managers import at_address, ours, run
from tools.lws_suite import KNOWN, SUITES, Sources
from tools.lws_suite_records import Spec, failed, failures, read, table


def a_report(state: str, name: str = "scales", kind: str = "It", **more: Any) -> dict[str, Any]:
    return {
        "State": state,
        "LeafNodeType": kind,
        "LeafNodeText": name,
        "ContainerHierarchyTexts": ["sets"] if kind == "It" else None,
        "RunTime": 1_500_000_000,
        **more,
    }


def written(folder: Path, *reports: dict[str, Any], **suite: Any) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps([{"SpecReports": list(reports), **suite}]))
    return path


def test_specs_that_ran_are_read_with_what_failed_where(tmp_path: Path) -> None:
    place = {"FileName": "/a/b/util.go", "LineNumber": 7}
    path = written(
        tmp_path,
        a_report("passed"),
        a_report("failed", "rolls", Failure={"Message": "expected 1\n\nto be 2", "Location": place}),
        a_report("skipped", "of a gang"),
        a_report("passed", "", "BeforeSuite"),
        a_report("failed", "", "AfterSuite"),
    )

    specs = read(path)

    assert specs == (
        Spec("sets / scales", True, 1.5),
        Spec("sets / rolls", False, 1.5, "util.go:7 expected 1\n\nto be 2"),
        Spec("AfterSuite", False, 1.5),
    )


def test_a_suite_without_a_report_or_with_a_reason_of_its_own_has_failed(tmp_path: Path) -> None:
    assert [each.passed for each in read(tmp_path / "none.json")] == [False]

    path = written(tmp_path, a_report("passed"), SpecialSuiteFailureReasons=["Suite Timeout Elapsed"])

    assert [(each.name, each.said) for each in failed(read(path), ())] == [("the suite", "Suite Timeout Elapsed")]


def test_specs_that_are_known_not_to_pass_are_counted_apart() -> None:
    known = tuple(KNOWN)
    results = {
        "e2e": (Spec("sets / scales", True, 2.0), Spec(f"sets / {known[0]}", False, 0.1)),
        "webhooks": (Spec("sets / rolls", False, 1.0, "util.go:7 expected 1\n\nto be 2"),),
    }

    assert table(results, known).splitlines()[2:] == ["| e2e | 1 | 1 | 0 | 2 |", "| webhooks | 0 | 0 | 1 | 1 |"]
    assert failures(results, known).splitlines() == [
        "- webhooks: sets / rolls",
        "      util.go:7 expected 1",
        "      to be 2",
    ]


def test_specs_of_gangs_are_runs_of_their_own() -> None:
    assert SUITES["controllers"].filters("") == ["-ginkgo.skip=gang scheduling"]
    assert SUITES["controllers"].filters("up") == ["-ginkgo.skip=gang scheduling", "-ginkgo.focus=up"]
    assert SUITES["e2e-gang"].filters("up") == ["-ginkgo.focus=gang scheduling.*up"]


def test_the_set_up_replaces_that_of_the_integration_suites_alone(tmp_path: Path) -> None:
    upstream = tmp_path / "module"
    for suite in SUITES.values():
        (upstream / suite.package).mkdir(parents=True, exist_ok=True)
        (upstream / suite.package / "suite_test.go").write_text("of upstream")
    for part in ("api", "client-go", "config", "pkg"):
        (upstream / part).mkdir()
    for file in ("go.mod", "go.sum"):
        (upstream / file).touch()
    for path in (upstream, *upstream.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)

    sources = Sources(upstream, tmp_path)

    texts = {name: (sources.tree / suite.package / "suite_test.go").read_text() for name, suite in SUITES.items()}
    assert texts["e2e"] == "of upstream"
    assert "\npackage controllers\n" in texts["controllers"]
    assert "\npackage webhooks\n" in texts["webhooks"]
    assert (sources.tree / "test/pausing/pausing.go").exists()
    (sources.tree / "go.sum").write_text("can be written")


def test_webhooks_of_the_installation_are_called_by_address() -> None:
    (first, *_) = ours().webhooks

    made = at_address(first, "https://127.0.0.1:1234", b"authority")

    before, after = first["webhooks"][0], made["webhooks"][0]
    path = before["clientConfig"]["service"]["path"]
    assert after["clientConfig"] == {"url": f"https://127.0.0.1:1234{path}", "caBundle": "YXV0aG9yaXR5"}
    assert after | {"clientConfig": 0} == before | {"clientConfig": 0}
    assert ours(webhooks=False).webhooks == ()


def test_a_run_that_is_told_to_end_ends_what_it_has_started() -> None:
    ended = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("the manager")

    with pytest.raises(SystemExit) as left:
        run(work())

    assert (left.value.code, ended) == (143, ["the manager"])

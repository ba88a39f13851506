"""Requests as the API server counts them."""

from __future__ import annotations

from bench.ground import Requests, counted

PAGE = """\
# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-fairlead-leases",priority_level="exempt"} 4
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-fairlead-writes",priority_level="exempt"} 1.2e+03
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-ideal-writes",priority_level="exempt"} 30
apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 99
apiserver_flowcontrol_current_executing_requests{flow_schema="bench-ideal-reads",priority_level="exempt"} 2
"""


def test_each_user_has_counters_of_its_own() -> None:
    assert counted(PAGE, "fairlead") == Requests(writes=1200, leases=4)
    assert counted(PAGE, "ideal") == Requests(writes=30)


def test_a_user_that_never_asked_has_zeros() -> None:
    assert counted(PAGE, "upstream") == Requests()


def test_what_happened_since_is_the_difference() -> None:
    assert Requests(9, 8, 7).since(Requests(1, 2, 3)) == Requests(8, 6, 4)

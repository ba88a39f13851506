"""What an operator keeps in Leases: that it leads, and records that all replicas see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from structlog.types import FilteringBoundLogger

from fairlead.engine.options import OperatorOptions
from fairlead.engine.part import Task
from kubeloop.client import Client
from kubeloop.election import Election, LeaseTerms
from kubeloop.elections import Elections
from kubeloop.errors import KubeError
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.record_sweep import Sweep
from kubeloop.records import LeaseRecords, MemoryRecords, Records

RECORD_TIMEOUT = 10.0
"""Seconds for reading or writing a record."""


def place_of(options: OperatorOptions, home: str) -> str:
    """The namespace of what belongs to the operator itself, `home` when all namespaces are served.

    The smallest name, so that the same namespaces in another order are the same operator.
    """
    return min(options.namespaces, default=options.home or home)


def leases_of(options: OperatorOptions) -> tuple[str, ...]:
    """All that are held while acting: each contract's, so that its other operator does not act at the same time."""
    if options.lease is None:
        return ()
    leases = (each.contract.lease for each in options.parts)
    return tuple(dict.fromkeys((options.lease, *filter(None, leases))))


def labels_of(options: OperatorOptions, lease: str = "") -> Mapping[str, str]:
    """Say which contract's a Lease is, so that whoever removes that part finds it and leaves those of others alone.

    What is no contract's by its name goes with a contract that has no Lease, if there is one here.
    """
    contracts = [each.contract for each in options.parts]
    named = (each for each in contracts if each.lease == lease)
    nameless = (each for each in contracts if not each.lease)
    return next((each.labels for each in (*named, *nameless, *contracts)), {})


def elections(
    options: OperatorOptions, home: str, client: Client, log: FilteringBoundLogger, terms: LeaseTerms | None = None
) -> Elections | None:
    """None: nobody is asked who leads. The terms are those of the first Lease of the process."""
    leases = [Ref(LEASES, place_of(options, home), name) for name in leases_of(options)]
    if not leases:
        return None
    times = options.lease_times

    def standing(lease: Ref) -> Election:
        labels, waits, stuck = labels_of(options, lease.name), _waiting(lease, log), _stuck(lease, log)
        return Election(
            client,
            lease,
            options.identity,
            duration=times.duration,
            renew_deadline=times.renew_deadline,
            retry_period=times.retry_period,
            labels=labels,
            waits=waits,
            stuck=stuck,
            terms=terms if lease == leases[0] else None,
        )

    return Elections([standing(lease) for lease in leases])


def records(options: OperatorOptions, home: str, client: Client) -> Records:
    """A Lease says that there may be several replicas: what one of them marks, the others must see."""
    if options.lease is None:
        return MemoryRecords()
    labels = labels_of(options, options.lease)
    return LeaseRecords(client.within(RECORD_TIMEOUT), place_of(options, home), options.lease, labels)


def sweeps(options: OperatorOptions, home: str, client: Client, log: FilteringBoundLogger) -> tuple[Task, ...]:
    """Deletes the Leases of records that are over, where a contract keeps records: the roles of others need not grant
    what that takes."""
    if options.lease is None or not any(each.contract.keeps_records for each in options.parts):
        return ()
    place = place_of(options, home)

    def told(error: KubeError) -> None:
        help_ = f"to have them deleted, grant list and delete of leases in namespace {place}"
        log.info("Leases of records that are over stay for now", error=str(error), help=help_)

    labels = labels_of(options, options.lease)
    return (Sweep(client.uncounted(), place, options.lease, labels, told).keep,)


def _waiting(lease: Ref, log: FilteringBoundLogger) -> Callable[[str, KubeError | None], None]:
    """Says who is waited for, or what is in the way: an operator that does not act must not be silent about it."""

    def waits(holder: str, error: KubeError | None) -> None:
        if error is None:
            log.info("waiting for the lease", lease=str(lease), holder=holder)
        else:
            log.warning("cannot acquire the Lease", lease=str(lease), error=str(error))

    return waits


def _stuck(lease: Ref, log: FilteringBoundLogger) -> Callable[[str], None]:
    def told(problem: str) -> None:
        if problem:
            place = f"namespace {lease.namespace}"
            help_ = f"grant get, create and update of leases in {place}, and see that the API server answers"
            log.error("not ready: the Lease cannot be acquired", lease=str(lease), error=problem, help=help_)
        else:
            log.info("the Lease can be acquired again", lease=str(lease))

    return told

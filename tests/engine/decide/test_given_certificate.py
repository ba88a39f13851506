"""The authority of a certificate that others make: published beside those before, which go when all have left them."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs

from fairlead.core.act import Apply
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Question, Shake
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.certificates.issuing import issue, new_signer, service_names
from fairlead.engine.certificates.pairs import Signer
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of
from fairlead.engine.decide.bundles import BundleTarget, Certificate, Place, text_of
from fairlead.engine.decide.certificate import CertificateFacts
from fairlead.engine.decide.exchange import Show, ShowLater, exchange
from fairlead.engine.decide.given_certificate import GivenSnapshot, keep_published
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.rotation import SETTLING
from fairlead.engine.decide.rotation_snapshot import Endpoint
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from tests.engine.rotating import START

NAMES = service_names("fairlead", "operators")
OVERLAP = timedelta(hours=1)


def an_authority(name: str = "one") -> tuple[Signer, Certificate]:
    signer = new_signer(name, timedelta(days=900), START)
    return signer, certificates_in(signer.certificate)[0]


def a_leaf(signer: Signer) -> Certificate:
    found = leaf_of(issue(signer, NAMES, timedelta(days=90), START).certificate)
    assert found is not None
    return found


def a_target(*held: Certificate, keeper: str = "") -> BundleTarget:
    return BundleTarget(Ref(DEFINITIONS, "", "widgets.example.test"), "7", (Place("/x", held),), keeper)


def given(leaf: Certificate | None, *trusted: Certificate, targets: tuple[BundleTarget, ...]) -> GivenSnapshot:
    return GivenSnapshot(
        where="Secret operators/mine",
        names=NAMES,
        rotate_before=timedelta(hours=24),
        overlap=OVERLAP,
        manager="fairlead-ca",
        about=Ref(PODS, "operators", "fairlead-0"),
        leaf=leaf,
        authorities=trusted,
        targets=targets,
        endpoints=(Endpoint("10.0.0.1", 9443),),
        own="" if leaf is None else leaf.pem,
    )


def decided(seen: GivenSnapshot, shown: Certificate | None = None, now: datetime = START) -> Decision:
    """With `shown` at the endpoint; nothing is being migrated."""
    known: dict[Question, Answer] = {}
    while isinstance(made := keep_published(structs.replace(seen, answers=Answers(known)), now), Need):
        for each in (one for stage in made.stages for one in stage):
            is_shake = isinstance(each, Ask) and isinstance(each.to, Shake)
            known[each] = Good(shown.pem.encode()) if is_shake and shown is not None else Bad("absent")
    return made


def published(decision: Decision) -> str:
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Apply)
    assert (write.manager, write.resource_version) == ("fairlead-ca", "7")
    return write.body.decode()


def test_another_authority_is_published_beside_the_one_before() -> None:
    (_, old), (signer, new) = an_authority(), an_authority("two")

    decision = decided(given(a_leaf(signer), new, targets=(a_target(old),)))

    assert text_of((new, old)) in published(decision)


def test_the_authority_before_stays_while_somebody_shows_another_certificate() -> None:
    (before, old), (signer, new) = an_authority(), an_authority("two")

    verdict = decided(given(a_leaf(signer), new, targets=(a_target(new, old),)), a_leaf(before)).verdict

    assert isinstance(verdict, Hold)
    assert verdict.reason is Reason.CERTIFICATE_UNSHOWN


def test_the_authority_before_goes_when_it_has_been_left_for_the_overlap() -> None:
    (_, old), (signer, new) = an_authority(), an_authority("two")
    leaf = a_leaf(signer)
    seen = given(leaf, new, targets=(a_target(new, old),))

    first = decided(seen, leaf)
    later = structs.replace(seen, shown_since=START)
    early = decided(later, leaf, START + OVERLAP - timedelta(seconds=1))
    late = decided(later, leaf, START + OVERLAP)

    assert [first.rule, early.rule, late.rule] == ["overlap", "overlap", "publish"]
    assert text_of((new,)) in published(late)


def test_who_cannot_see_the_replicas_takes_no_authority_away() -> None:
    (_, old), (signer, new) = an_authority(), an_authority("two")
    leaf = a_leaf(signer)
    seen = given(leaf, new, targets=(a_target(new, old),))

    decision = decided(structs.replace(seen, blind="may not be read", shown_since=START - OVERLAP), leaf)

    assert decision.rule == "await_replicas"


def test_what_cannot_be_served_changes_nothing_and_is_told() -> None:
    _, old = an_authority()
    signer, new = an_authority("two")
    seen = given(a_leaf(signer), new, targets=(a_target(old),))

    spoilt = decided(structs.replace(seen, problem="holds a certificate and a key that do not belong together"))
    missing = decided(given(None, targets=(a_target(old),)))

    assert [each.rule for each in (spoilt, missing)] == ["await_certificate"] * 2
    assert [note.reason for each in (spoilt, missing) for note in each.tell] == ["CertificateInvalid"] * 2
    assert "do not belong together" in spoilt.tell[0].text
    assert "is not there" in missing.tell[0].text


def test_a_bundle_that_cert_manager_keeps_is_left_to_it() -> None:
    (_, old), (signer, new) = an_authority(), an_authority("two")
    target = a_target(old, keeper="cert-manager.io/inject-ca-from")

    decision = decided(given(a_leaf(signer), new, targets=(target,)))

    assert decision.rule == "await_keeper"
    assert [note.reason for note in decision.tell] == ["CertificateIssuerNotPublished"]


def test_a_certificate_that_machines_trust_needs_no_bundle() -> None:
    signer, _ = an_authority()

    assert decided(given(a_leaf(signer), targets=(a_target(),))).rule == "published"


SERVED = CertificateFacts(not_before=START - timedelta(days=1), not_after=START + timedelta(days=1))


def test_a_replica_shows_what_everybody_trusts_for_long_enough_and_nothing_before() -> None:
    trusted = START - SETTLING

    assert exchange(SERVED, trusted, START) == Show()
    assert exchange(SERVED, START - timedelta(seconds=3), START) == ShowLater(START + timedelta(seconds=7))
    assert exchange(SERVED, None, START) == ShowLater(SERVED.not_after)


def test_what_serves_nobody_is_exchanged_at_once() -> None:
    assert exchange(CertificateFacts(problem="is not there yet"), None, START) == Show()
    assert exchange(structs.replace(SERVED, not_after=START), None, START) == Show()

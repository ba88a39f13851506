"""A rotation without a cluster: a Secret, bundles, replicas and a clock, moved by the decisions alone.

After every step each ready replica must show what every bundle trusts.
"""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import UTC, datetime, timedelta

import msgspec

from fairlead.core.act import AnyWrite, Apply, Create, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Mint, Need, Question, ReadSecret, Shake
from fairlead.core.decision import Decision, Move
from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.issuing import issue, new_signer, service_names
from fairlead.engine.certificates.pairs import Pair, Signer
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of, pair_of, stored_of, trouble_with
from fairlead.engine.decide.bundles import BundleTarget, Certificate, Place
from fairlead.engine.decide.certificate import CertificateFacts
from fairlead.engine.decide.exchange import Show, exchange
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.rotation import rotate
from fairlead.engine.decide.rotation_snapshot import CertificateTimes, Endpoint, RotationSnapshot
from kubeloop.objects.admissionregistration import VALIDATING
from kubeloop.objects.core import PODS, SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed
from kubeloop.sealing import seal

START = datetime(2026, 11, 18, tzinfo=UTC)
NAMES = service_names("fairlead", "operators")
SECRET = Ref(SECRETS, "operators", "fairlead-webhook-cert")
FORMER = Ref(SECRETS, "operators", "fairlead-webhooks")
POD = Ref(PODS, "operators", "fairlead-0")
OVERLAP = timedelta(seconds=5)


class Replica:
    def __init__(self) -> None:
        self.shown: Pair | None = None

    @property
    def leaf(self) -> str:
        found = leaf_of(self.shown.certificate) if self.shown is not None else None
        return "" if found is None else found.pem


class World:
    """One operator with two replicas, and a definition and a webhook configuration that trust it."""

    def __init__(self) -> None:
        self.now = START
        self.times = CertificateTimes(overlap=OVERLAP)
        self.secret: dict[str, bytes] | None = None
        self.former: dict[str, bytes] | None = None
        self.version = 1
        self.bundles: dict[str, tuple[Certificate, ...]] = {"widgets.example.test": (), "hooks": ()}
        self.keepers: dict[str, str] = {}
        self.writes: list[tuple[str, AnyWrite]] = []
        """Each with the rule that wanted it."""
        self.told: list[str] = []
        self.replicas = [Replica(), Replica()]
        self.deaf: set[int] = set()
        """Replicas that look at nothing."""
        self.migrating: tuple[str, ...] = ()
        self.blind = ""
        """Why the leader does not know the replicas; empty when it does."""
        self._held_since: dict[str, datetime] = {}
        """Authorities that all bundles hold, as replicas have seen it."""
        self._leader_since: dict[str, datetime] = {}
        """The same, as the leader has."""
        self._remembered: tuple[tuple[str, Sealed], ...] = ()

    # What the leader does.

    def step(self) -> Decision:
        """One round of the leader, its writes carried out."""
        decision = self.decided()
        self.told += [note.reason for note in decision.tell]
        if isinstance(decision.verdict, Move):
            for write in decision.verdict.writes:
                self.carry_out(decision.rule, write)
        return decision

    def decided(self) -> Decision:
        known: dict[Question, Answer] = {}
        while True:
            seen = self.snapshot(Answers(known))
            made = rotate(seen, self.now)
            if seen.stored is not None:
                self._remembered = tuple(seen.stored.entries.items())
            if isinstance(made, Decision):
                return made
            assert isinstance(made, Need)
            for stage in made.stages:
                known |= {each: self.answer(each) for each in stage}

    def run(self, until: timedelta = timedelta(minutes=5)) -> None:
        """Leader and replicas, second by second; what must always hold is looked at after each."""
        end = self.now + until
        while self.now < end:
            self.step()
            self.look()
            self.now += timedelta(seconds=1)

    def settle(self) -> None:
        """Until the leader has nothing to do for long."""
        for _ in range(200):
            verdict = self.step().verdict
            self.look()
            again = getattr(verdict, "again", None)
            if not isinstance(verdict, Move):
                if again is None or again - self.now > timedelta(hours=1):
                    return
                self.now += timedelta(seconds=1)
        raise AssertionError("it does not end")

    def new_leader(self) -> None:
        """It knows what the cluster shows, and nothing else."""
        self._remembered = ()
        self._leader_since = {}

    def snapshot(self, answers: Answers) -> RotationSnapshot:
        found = answers.known.get(Ask(ReadSecret(SECRET)))
        stored = stored_of(found, NAMES[0], self.now) if isinstance(found, Good) else None
        former = answers.known.get(Ask(ReadSecret(FORMER), is_expected_to_fail=True))
        entries = dict(former.sealed) if isinstance(former, Good) else {}
        following = None if stored is None else stored.next.authority
        return RotationSnapshot(
            secret=SECRET,
            labels={"app": "fairlead"},
            names=NAMES,
            times=self.times,
            manager="fairlead-ca",
            about=POD,
            stored=stored,
            remembered=self._remembered,
            former=FORMER,
            former_authorities=certificates_in(entries["ca"].open()) if "ca" in entries else (),
            targets=self.targets(),
            trusted_since=None if following is None else self._held(self._leader_since).get(following.pem),
            endpoints=tuple(Endpoint(f"10.0.0.{at}", 9443) for at in range(len(self.replicas))),
            blind=self.blind,
            own=self.replicas[0].leaf,
            answers=answers,
        )

    def targets(self) -> tuple[BundleTarget, ...]:
        made = []
        for name, held in self.bundles.items():
            ref = Ref(VALIDATING if name == "hooks" else DEFINITIONS, "", name)
            made.append(BundleTarget(ref, str(self.version), (Place("/at", held),), self.keepers.get(name, "")))
        return tuple(made)

    def _held(self, known: dict[str, datetime]) -> dict[str, datetime]:
        held_by = [{each.pem for each in held} for held in self.bundles.values()]
        common = set.intersection(*held_by) if held_by else set()
        held = {pem: known.get(pem, self.now) for pem in common}
        known.clear()
        known |= held
        return held

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        match question.to:
            case ReadSecret(ref):
                held = self.secret if ref == SECRET else self.former
                if held is None:
                    return Bad("absent")
                return Good(version=str(self.version), sealed=tuple((key, seal(value)) for key, value in held.items()))
            case Mint() as wanted:
                key = wanted.authority_key
                if key is None:
                    signer = new_signer(wanted.common_name, wanted.authority_lifetime, self.now)
                else:
                    signer = Signer(wanted.authority.encode(), key.open())
                pair = issue(signer, wanted.names, wanted.lifetime, self.now)
                shown = {"certificate": pair.certificate.decode(), "authority": signer.certificate.decode()}
                keys = (("key", seal(pair.key)), ("authority-key", seal(signer.key)))
                return Good(json.dumps(shown).encode(), sealed=keys)
            case Shake(host):
                leaf = self.replicas[int(host.rpartition(".")[2])].leaf
                return Good(leaf.encode()) if leaf else Bad("unreachable", "nobody is there")
            case Listing(resource):
                if resource.version == "v1":
                    return Bad("absent")
                items = [
                    {"spec": {"resource": dict(zip(("resource", "group"), name.split(".", 1), strict=True))}}
                    for name in self.migrating
                ]
                return Good(json.dumps({"items": items}).encode())
            case _:
                raise AssertionError(question)

    def carry_out(self, rule: str, write: AnyWrite) -> None:
        self.writes.append((rule, write))
        self.version += 1
        match write:
            case Create():
                assert self.secret is None
                tree = msgspec.json.decode(write.body)
                self.secret = {key: b64decode(value) for key, value in tree["data"].items()}
                self.secret |= {key: each.open() for key, each in write.sealed}
            case Patch(ref=ref) if ref == SECRET:
                assert self.secret is not None
                for key, value in msgspec.json.decode(write.body)["data"].items():
                    if value is None:
                        self.secret.pop(key, None)
                    else:
                        self.secret[key] = b64decode(value)
                self.secret |= {key: each.open() for key, each in write.sealed}
            case Apply(ref=ref):
                tree = msgspec.json.decode(write.body)
                text = tree["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]
                self.bundles[ref.name] = certificates_in(b64decode(text))
            case Patch(ref=ref):
                steps = msgspec.json.decode(write.body)
                self.bundles[ref.name] = certificates_in(b64decode(steps[-1]["value"]))
            case _:
                raise AssertionError(write)
        self.check()

    # What replicas do.

    def look(self) -> None:
        self._held(self._held_since)
        for at, replica in enumerate(self.replicas):
            if at in self.deaf or self.secret is None:
                continue
            pair = pair_of(self.secret)
            if pair == replica.shown or trouble_with(pair, NAMES[0], self.now):
                continue
            facts = (
                CertificateFacts(problem="is not there") if replica.shown is None else pairs.inspected(replica.shown)
            )
            if isinstance(exchange(facts, self.trusted_since(pair), self.now), Show):
                replica.shown = pair
        self.check()

    def trusted_since(self, pair: Pair) -> datetime | None:
        held = self._held(self._held_since)
        return min((at for pem, at in held.items() if pairs.is_trusted(pair.certificate, pem.encode())), default=None)

    def check(self) -> None:
        """What every ready replica shows is trusted by every bundle; one that is not trusted yet is not ready."""
        for replica in self.replicas:
            for name, held in self.bundles.items():
                if replica.shown is None or not held:
                    continue
                bundle = "".join(each.pem for each in held).encode()
                assert pairs.is_trusted(replica.shown.certificate, bundle), f"{name} does not trust what is shown"

    def trusted(self, name: str = "widgets.example.test") -> list[str]:
        return [each.pem for each in self.bundles[name]]

    def entry(self, name: str) -> str:
        assert self.secret is not None
        return self.secret[name].decode()

    def request(self) -> None:
        """As `certs rotate` does."""
        assert self.secret is not None
        self.secret["phase"] = b"requested"


def a_steady_world() -> World:
    world = World()
    world.settle()
    world.writes.clear()
    return world

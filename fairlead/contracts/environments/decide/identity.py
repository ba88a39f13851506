"""Section 3.2 steps 1 to 5: the object is ours, has a status and an environment id, and nobody else has that id.

What goes wrong here is an error of the whole pass: the condition and all objects stay as they are. Only a promotion
that has begun goes on, because the generation before it does not serve any more.
"""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct, structs

from fairlead.contracts.environments.decide.images import at_least
from fairlead.contracts.environments.decide.license import LicenseWrong, environment_of
from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.environmentd import LICENSE_KEY
from fairlead.contracts.environments.decide.objects.wanted import encoded
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.standing import has_environment_id, spec_trouble
from fairlead.contracts.environments.decide.statuses import written
from fairlead.contracts.environments.kinds import FINALIZER, LAST_KNOWN_GENERATION, MATERIALIZES, NIL, MaterializeStatus
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Ask, Bad, Need, ReadSecret
from fairlead.core.decision import Hold, Move, Rule, Verdict
from fairlead.core.reason import Reason
from fairlead.core.uuids import parse, uuid5
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Ref

LICENSED_FROM = "0.161.0"
"""Images from here on do not start without a license key."""
ID_LENGTH = 10
_ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_GENERATION = re.compile(r"\+?[0-9]{1,18}", re.ASCII)


def release_object(seen: Snapshot, now: datetime) -> Verdict | None:
    """Section 3.2 step 1: an object that is deleted is let go at once; its children go with it."""
    metadata = seen.environment.metadata
    if metadata.deletion_timestamp is None:
        return None
    if FINALIZER not in metadata.finalizers:
        return Hold(Reason.ENVIRONMENT_LEAVING)
    kept = [each for each in metadata.finalizers if each != FINALIZER]
    return Move(Reason.IDENTIFYING, (_patched(seen, {"finalizers": kept}, None, Does.REMOVE_FINALIZER),))


def claim_object(seen: Snapshot, now: datetime) -> Verdict | None:
    """Section 3.2 step 1: it carries our finalizer."""
    finalizers = seen.environment.metadata.finalizers
    if FINALIZER in finalizers:
        return None
    return Move(
        Reason.IDENTIFYING, (_patched(seen, {"finalizers": [*finalizers, FINALIZER]}, None, Does.ADD_FINALIZER),)
    )


def begin_status(seen: Snapshot, now: datetime) -> Verdict | None:
    """Section 3.2 step 2: it has a status; the generation to go on from may be told by an annotation."""
    environment = seen.environment
    if environment.status is not None:
        return None
    known = environment.metadata.annotations.get(LAST_KNOWN_GENERATION)
    if known is not None and not _GENERATION.fullmatch(known):
        detail = (
            f'{LAST_KNOWN_GENERATION} is "{known[:40]}": write the number of the generation that serves, or remove it'
        )
        return _failed(seen, Reason.INVALID_ANNOTATION, detail)
    image = environment.spec.get("environmentdImageRef")
    status = MaterializeStatus(
        resource_id=resource_id_of(environment.metadata),
        active_generation=int(known or "0"),
        last_completed_rollout_environmentd_image_ref=image if isinstance(image, str) else None,
        conditions=(),
    )
    return Move(Reason.IDENTIFYING, (written(environment, status),))


def store_hashes(seen: Snapshot, now: datetime) -> Verdict | None:
    """What conversion has worked out is stored before anything else: an edit through v1alpha1 would replace it.

    A write that says the same changes nothing but the version that the object is stored in. Where it is refused the
    pass goes on, since the migration of all objects tries it as well.
    """
    environment = seen.environment
    if not seen.may_be_old or seen.applied is None or environment.status is None:
        return None
    own = environment.metadata
    write = structs.replace(written(environment, environment.status), refusable=True)
    if Ref(MATERIALIZES, own.namespace, own.name) in seen.applied or write in seen.answers.known:
        return None
    return Move(Reason.IDENTIFYING, (write,))


def check_spec(seen: Snapshot, now: datetime) -> Verdict | None:
    """What the schema lets pass can be read; an object stored before the schema was may not be."""
    trouble = spec_trouble(seen)
    return _failed(seen, Reason.SPEC_INVALID, trouble) if trouble else None


def identify(seen: Snapshot, now: datetime) -> Verdict | Need | None:
    """Section 3.2 steps 3 and 4, and the license's half of section 3.2 step 5."""
    licence = license_of(seen)
    if isinstance(licence, Hold):
        return looked_at_soon(seen, licence, now)
    if isinstance(licence, Need):
        return licence
    if not has_environment_id(seen):
        return Move(Reason.IDENTIFYING, (_filled(seen, licence.environment),))
    own = parse(seen.environment.spec.get("environmentId"))
    if licence.environment in (None, NIL, own):
        return None
    detail = f"the license key is for environment {licence.environment}, and the spec's environmentId is {own}"
    return looked_at_soon(seen, _failed(seen, Reason.ENVIRONMENT_MISMATCH, detail), now)


def looked_at_soon(seen: Snapshot, failure: Hold, now: datetime) -> Hold:
    """What is wrong with the Secret is looked at as often as what is not ready: nobody watches Secrets."""
    return structs.replace(failure, again=soon(seen.environment.metadata.uid, now))


def refuse_twin(seen: Snapshot, now: datetime) -> Verdict | None:
    """Section 3.2 step 5: two environments with one id would write over each other's data; neither is touched."""
    others = [each.metadata for each in seen.twins if each.metadata.uid != seen.environment.metadata.uid]
    if not others:
        return None
    names = ", ".join(sorted(f"{other.namespace}/{other.name}" for other in others))
    return _failed(seen, Reason.DUPLICATE_ENVIRONMENT, f"{names} has the same environmentId: delete one of them")


RULES: tuple[Rule[Snapshot], ...] = (
    Rule("release_object", release_object),
    Rule("claim_object", claim_object),
    Rule("begin_status", begin_status),
    Rule("store_hashes", store_hashes),
    Rule("check_spec", check_spec),
    Rule("identify", identify),
    Rule("refuse_twin", refuse_twin),
)
PROVING = ("identify", "refuse_twin")
"""Rules that a promotion under way does not wait for."""


class Licence(Struct, frozen=True):
    environment: str | None
    """E: the environment it is for, nil for any; None where there is no key and none is needed."""


def secret_question(seen: Snapshot) -> Ask:
    """The backend Secret, live: what is in it is nowhere kept."""
    environment = seen.environment
    name = environment.wish.backend_secret_name
    return Ask(ReadSecret(Ref(SECRETS, environment.metadata.namespace, name)))


def license_of(seen: Snapshot) -> Licence | Hold | Need:
    """Section 3.2 step 3: what the license key in the backend Secret says, if it must or does hold one."""
    name = seen.environment.wish.backend_secret_name
    if not name:  # read without a name, the server would list
        return _failed(seen, Reason.SPEC_INVALID, "backendSecretName is empty: name the Secret of the environment")
    question = secret_question(seen)
    if todo := seen.answers.lacking((question,)):
        return Need(todo)
    answer = seen.answers[question]
    about = f"secret/{name}"
    if isinstance(answer, Bad):
        if answer.kind == "not-sent":
            return Licence(None)  # whoever only looks need not have the right to read it
        if answer.kind == "absent":
            return _failed(seen, Reason.SECRET_MISSING, "backendSecretName names no Secret in the namespace", about)
        return _failed(seen, Reason.READ_FAILED, answer.text or answer.kind, about)
    key = dict(answer.sealed).get(LICENSE_KEY)
    if key is None:
        if at_least(seen.environment.wish.environmentd_image_ref, LICENSED_FROM):
            detail = f"it has no {LICENSE_KEY}, which images from v{LICENSED_FROM} on need"
            return _failed(seen, Reason.LICENSE_INVALID, detail, about)
        return Licence(None)
    found = environment_of(key.open(), seen.settings.license_keys)
    if isinstance(found, LicenseWrong):
        return _failed(seen, Reason.LICENSE_INVALID, found.text, about)
    return Licence(found)


def _filled(seen: Snapshot, known: str | None) -> Patch:
    """Section 3.2 step 4: the license's environment, else one from the object's UID, which a crash repeats."""
    chosen = known if known not in (None, NIL) else uuid5(seen.environment.metadata.uid)
    return _patched(seen, {}, {"environmentId": chosen}, Does.SET_ENVIRONMENT_ID)


def resource_id_of(metadata: Meta) -> str:
    """Ten characters that nobody else has.

    They derive from the object and the version of it that they are written to, so that writing them again after a crash
    writes the same, and a status that somebody removed comes back with others.
    """
    digest = blake2b(f"{metadata.uid} {metadata.resource_version}".encode(), digest_size=16).digest()
    number = int.from_bytes(digest)
    characters = []
    for _ in range(ID_LENGTH):
        number, place = divmod(number, len(_ID_CHARACTERS))
        characters.append(_ID_CHARACTERS[place])
    return "".join(characters)


def _patched(seen: Snapshot, metadata: dict[str, object], spec: dict[str, object] | None, does: Does) -> Patch:
    """A merge patch of exactly these fields of this version of the object."""
    own = seen.environment.metadata
    body: dict[str, object] = {"metadata": {**metadata, "resourceVersion": own.resource_version}}
    if spec is not None:
        body["spec"] = spec
    return Patch(
        repeatable=True,
        ref=Ref(MATERIALIZES, own.namespace, own.name, own.uid),
        kind=PatchKind.MERGE,
        body=encoded(body),
        does=does,
        scope=own.uid,
        change_to=str((spec or {}).get("environmentId", "")),
    )


def _failed(seen: Snapshot, reason: Reason, detail: str, about: str = "") -> Hold:
    return Hold(reason, details=((about or f"materialize/{seen.environment.metadata.name}", detail),))

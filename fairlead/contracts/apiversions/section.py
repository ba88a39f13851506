"""What `fairlead operator` is told about versions of APIs: options, variables, and the section of its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

from msgspec import structs

from fairlead.contracts.apiversions import flags
from fairlead.contracts.apiversions.kinds import PART
from fairlead.contracts.apiversions.settings import (
    ApiVersionsSettings,
    CertificateSettings,
    CertificateSource,
    MigrationSettings,
    ReviewLimits,
    UpgradeSettings,
)
from fairlead.core.flag_kinds import NAME_ADVICE
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.names import is_name
from fairlead.core.option_kinds import seconds_of
from fairlead.engine.program import CommonOptions, Section
from kubeloop.durations import format_go

VARIABLES = "FAIRLEAD_"
API_SERVER_PATIENCE = 30.0
"""Seconds after which API servers give a conversion up."""
SHORTEST_REST = 60.0
"""Seconds that a certificate is left alone at least: one that is due as soon as it is made is made all the time."""
SERVING, ALIVE = ("/readyz",), ("/healthz",)


def common(given: Given, so_far: CommonOptions) -> CommonOptions:
    """One setting under two names: what these flags say about webhooks and Lease, whatever is served."""
    is_served = PART in so_far.parts
    if given.has(flags.ENABLED) and not given[flags.ENABLED] and so_far.webhooks:
        raise FlagError(f"--webhooks and {given.place(flags.ENABLED)}=false exclude each other: give one of them")
    webhooks = so_far.webhooks or (given[flags.ENABLED] if given.has(flags.ENABLED) else is_served)
    port, secret = _port(given, so_far, is_served=is_served), _secret(given, so_far, is_served=is_served)
    name = given[flags.SERVICE] if is_served else ""
    made = structs.replace(
        so_far,
        webhooks=webhooks,
        webhooks_port=port,
        certificate_secret=secret,
        certificate_name=so_far.certificate_name or (f"{name}.{given[flags.SERVICE_NAMESPACE]}.svc" if name else ""),
        elects=so_far.elects and given[flags.ELECTS],
        identity=given[flags.IDENTITY] or so_far.identity,
        versions=_upgrades(given).policy,
        serving_paths=(*so_far.serving_paths, *(SERVING if is_served else ())),
        alive_paths=(*so_far.alive_paths, *(ALIVE if is_served else ())),
    )
    folder = given[flags.FOLDER]
    if not folder:
        return made
    if so_far.certificate_file:
        raise FlagError(f"{given.place(flags.FOLDER)} and --certificate-file exclude each other: give one of them")
    files = [str(Path(folder) / each) for each in ("tls.crt", "tls.key", "ca.crt")]
    return structs.replace(made, certificate_file=files[0], key_file=files[1], authority_file=files[2])


def _port(given: Given, so_far: CommonOptions, *, is_served: bool) -> int | None:
    flag, old = flags.PORT_FLAG, so_far.webhooks_port
    if not given.has(flag):
        return flag.default if old is None and is_served else old
    if old not in (None, given[flag]):
        raise FlagError(f"{given.place(flag)} and --webhooks-port are one setting: give one of them")
    return given[flag]


def _secret(given: Given, so_far: CommonOptions, *, is_served: bool) -> str:
    flag, old = flags.SECRET, so_far.certificate_secret
    if not given[flag]:
        return flags.USUAL.certificates.secret if not old and is_served else old
    if not is_name(given[flag]):
        raise FlagError(f'{given.place(flag)} is "{given[flag]}": {NAME_ADVICE}')
    if old not in ("", given[flag]):
        raise FlagError(f"{given.place(flag)} and --certificate-secret are one setting: give one of them")
    return given[flag]


def settings(given: Given, so_far: CommonOptions) -> ApiVersionsSettings:
    """Raises FlagError with a sentence."""
    conversion = given[flags.CONVERSION] or ("webhook" if so_far.webhooks else "none")
    made = ApiVersionsSettings(
        serves=so_far.webhooks,
        conversion=cast("Literal['webhook', 'none']", conversion),
        service_name=given[flags.SERVICE],
        service_namespace=given[flags.SERVICE_NAMESPACE],
        service_port=given[flags.SERVICE_PORT],
        port=flags.PORT_FLAG.default if so_far.webhooks_port is None else so_far.webhooks_port,
        manages_definitions=given[flags.MANAGES],
        takes_over=given[flags.TAKES_OVER],
        rules=given[flags.RULES],
        certificates=_certificates(given, so_far),
        reviews=ReviewLimits(
            largest=given[flags.LARGEST] or 0,
            timeout=_seconds(given, flags.TIMEOUT),
            concurrent=given[flags.CONCURRENT] or 0,
        ),
        migration=MigrationSettings(
            at_start=given[flags.MIGRATES] == "auto",
            qps=given[flags.MIGRATION_QPS],
            burst=given[flags.MIGRATION_BURST] or 0,
        ),
        upgrades=_upgrades(given),
    )
    if PART in so_far.parts and (problem := next(_problems(given, made), None)):
        raise FlagError(problem)
    return made


def _upgrades(given: Given) -> UpgradeSettings:
    return UpgradeSettings(
        allow_downgrade=given[flags.DOWNGRADES],
        on_newer=cast("Literal['ignore', 'handle']", given[flags.ON_NEWER]),
        adopt=cast("Literal['compatible', 'never', 'always']", given[flags.ADOPT]),
        normalize_payload=given[flags.NORMALIZES],
        offline=cast("Literal['off', 'auto']", given[flags.OFFLINE]),
        backup_folder=given[flags.BACKUPS],
        legacy_annotation=given[flags.LEGACY],
    )


def _certificates(given: Given, so_far: CommonOptions) -> CertificateSettings:
    source = given[flags.SOURCE] or ("self-signed" if given[flags.MANAGES_CERTIFICATES] else "secret")
    if source == "self-signed" and not given[flags.MANAGES_CERTIFICATES]:
        one, other = given.place(flags.MANAGES_CERTIFICATES), given.place(flags.SOURCE)
        raise FlagError(f"{one}=false and {other}=self-signed exclude each other: give one of them")
    return CertificateSettings(
        source=cast("CertificateSource", source),
        secret=so_far.certificate_secret or flags.USUAL.certificates.secret,
        folder=given[flags.FOLDER],
        validity=_seconds(given, flags.VALIDITY),
        rotate_before=_seconds(given, flags.ROTATE_BEFORE),
        authority_validity=_seconds(given, flags.AUTHORITY_VALIDITY),
        authority_rotate_before=_seconds(given, flags.AUTHORITY_ROTATE_BEFORE),
        reload_interval=_seconds(given, flags.RELOAD),
        overlap=_seconds(given, flags.OVERLAP),
    )


def _problems(given: Given, made: ApiVersionsSettings) -> Iterator[str]:
    """What is wrong with values that are each right by themselves, the first of which ends the process."""
    for flag in (flags.SERVICE, flags.SERVICE_NAMESPACE):
        if given[flag] and not is_name(given[flag]):
            yield f'{given.place(flag)} is "{given[flag]}": {NAME_ADVICE}'
        if not given[flag] and made.conversion == "webhook" and made.manages_definitions:
            yield (
                f"{given.place(flag)} is missing: definitions name the Service of the webhooks; "
                f"give it, or {given.place(flags.MANAGES)}=false"
            )
    if made.conversion == "webhook" and not made.serves:
        yield f"{given.place(flags.CONVERSION)}=webhook needs webhooks: leave out {given.place(flags.ENABLED)}=false"
    source = made.certificates.source
    if source == "secret" and not given[flags.SECRET] and not given[flags.FOLDER]:
        yield f"{given.place(flags.SECRET)} is missing: name the Secret that holds the certificate"
    kept = made.certificates
    for short, long, lasts, before in (
        (flags.ROTATE_BEFORE, flags.VALIDITY, kept.validity, kept.rotate_before),
        (
            flags.AUTHORITY_ROTATE_BEFORE,
            flags.AUTHORITY_VALIDITY,
            kept.authority_validity,
            kept.authority_rotate_before,
        ),
        # An authority is followed no later than its certificates, because what it signs ends with it.
        (flags.ROTATE_BEFORE, flags.AUTHORITY_VALIDITY, kept.authority_validity, kept.rotate_before),
    ):
        if before > lasts - SHORTEST_REST:
            yield (
                f"{given.place(short)} is {format_go(before)}, longer than {given.place(long)} "
                f"({format_go(lasts)}) less a minute: set it to less"
            )
    if made.reviews.timeout >= API_SERVER_PATIENCE:
        shown = format_go(API_SERVER_PATIENCE)
        yield f"{given.place(flags.TIMEOUT)} is {given[flags.TIMEOUT]}: API servers wait {shown}, so set it to less"
    for number in (flags.CONCURRENT, flags.LARGEST, flags.MIGRATION_BURST):
        if not given[number]:
            yield f"{given.place(number)} is 0: set it to 1 or more"
    if made.upgrades.offline == "auto" and not made.upgrades.backup_folder:
        yield f"{given.place(flags.OFFLINE)}=auto needs {given.place(flags.BACKUPS)}: name a folder that can be written"


def _seconds(given: Given, flag: Flag[str]) -> float:
    try:
        return seconds_of(given.place(flag), given[flag], positive=flag is not flags.OVERLAP)
    except ValueError as error:
        raise FlagError(str(error)) from error


SECTION = Section(
    flags=flags.FLAGS,
    are_options=True,
    settings=settings,
    variables=VARIABLES,
    shared=flags.SHARED,
    common=common,
)

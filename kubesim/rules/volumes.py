"""Rules for the volumes of a pod: one source each, of what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from kubeloop.quantities import quantity
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.claims import claim_spec, template_metadata
from kubesim.rules.variables import container_resource, pod_field
from kubesim.schema.values import duplicate, label, needed, no_steps_back, unreserved
from kubesim.store.versions import Tree

_MOST_MODE = 0o777
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
_SEVERAL = "may not specify more than 1 volume type"
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
TOKENS = "kube-api-access-"
"""How the names of volumes begin that admission adds to pods; what follows is drawn."""
_REMEMBERED = 500
_sound: dict[bytes, None] = {}
_encode = msgspec.json.Encoder().encode
_LEAST_TOKEN_SECONDS = 600
# In the order in which the server looks for them.
SOURCES = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)


def volumes(found: list[Tree], at: str) -> tuple[dict[str, Tree], list[Cause]]:
    """The volumes that containers can mount, by name, and what is wrong with the others."""
    sound: dict[str, Tree] = {}
    causes: list[Cause] = []
    for index, volume in enumerate(found):
        path = f"{at}[{index}]"
        name = volume.get("name") or ""
        problems = [*_source(volume, path), *needed(label, name, f"{path}.name")]
        if name in sound:
            problems.append(duplicate(f"{path}.name", name))
        if not problems:
            sound[name] = volume
        causes += problems
    return sound, causes


def _source(volume: Tree, at: str) -> Iterator[Cause]:
    kinds = [key for key, value in volume.items() if key != "name" and value is not None]
    if not kinds:
        yield required(at, "must specify a volume type")
        return
    first, *others = sorted(kinds, key=SOURCES.index) if len(kinds) > 1 else kinds
    rule = _RULES.get(first)
    if rule is not None:
        yield from rule(volume[first], f"{at}.{first}")
    for key in others:
        yield not_allowed(f"{at}.{key}", _SEVERAL)


def _empty(source: Tree, at: str) -> Iterator[Cause]:
    limit = source.get("sizeLimit")
    if limit is not None and quantity(limit) < 0:
        yield not_allowed(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def host_path(source: Tree, at: str) -> Iterator[Cause]:
    path = source.get("path")
    if not path:
        yield required(f"{at}.path")
        return
    yield from no_steps_back(path, f"{at}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATHS:
        yield unsupported(f"{at}.type", kind, _HOST_PATHS)


def mode(tree: Tree, key: str, at: str) -> Iterator[Cause]:
    value = tree.get(key)
    if value is not None and not 0 <= value <= _MOST_MODE:
        yield wrong(f"{at}.{key}", value, _MODE_TEXT)


def _files(items: list[Tree], at: str) -> Iterator[Cause]:
    """Entries of a map or Secret, and where they go."""
    for index, item in enumerate(items):
        path = f"{at}[{index}]"
        for key in ("key", "path"):
            if not item.get(key):
                yield required(f"{path}.{key}")
        yield from unreserved(item.get("path") or "", f"{path}.path")
        yield from mode(item, "mode", path)


def _named(key: str) -> Callable[[Tree, str], Iterator[Cause]]:
    """The rules of a map or Secret that becomes files."""

    def rule(source: Tree, at: str) -> Iterator[Cause]:
        if not source.get(key):
            yield required(f"{at}.{key}")
        yield from mode(source, "defaultMode", at)
        yield from _files(source.get("items") or [], f"{at}.items")

    return rule


def needs(*keys: str) -> Callable[[Tree, str], Iterator[Cause]]:
    """The rules of a source that cannot do without some fields."""

    def rule(source: Tree, at: str) -> Iterator[Cause]:
        yield from (required(f"{at}.{key}") for key in keys if not source.get(key))

    return rule


def _claimed(source: Tree, at: str) -> Iterator[Cause]:
    if not source.get("claimName"):
        yield required(f"{at}.claimName")


def _told(items: list[Tree], at: str) -> Iterator[Cause]:
    """Files that tell of the pod; their places in the list are not told."""
    for item in items:
        if not item.get("path"):
            yield required(f"{at}.path")
        yield from unreserved(item.get("path") or "", f"{at}.path")
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            yield from pod_field(field, _FILE_FIELDS, f"{at}.fieldRef")
            if resource is not None:
                yield wrong(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif resource is not None:
            yield from container_resource(resource, f"{at}.resourceFieldRef", names_container=True)
        else:
            yield required(at, "one of fieldRef and resourceFieldRef is required")
        yield from mode(item, "mode", at)


def _downward(source: Tree, at: str) -> Iterator[Cause]:
    yield from mode(source, "defaultMode", at)
    yield from _told(source.get("items") or [], at)


def _projected(source: Tree, at: str) -> list[Cause]:
    """Several sources in one volume; those that broke no rule are remembered, because every pod has the same ones."""
    alike = _encode(source)
    if alike in _sound:
        return []
    causes = list(_projections(source, at))
    if not causes:
        _sound[alike] = None
        if len(_sound) > _REMEMBERED:
            del _sound[next(iter(_sound))]
    return causes


def _projections(source: Tree, at: str) -> Iterator[Cause]:
    yield from mode(source, "defaultMode", at)
    paths: list[str] = []
    for index, projection in enumerate(source.get("sources") or []):
        path = f"{at}.sources[{index}]"
        kinds = [key for key in _PROJECTIONS if projection.get(key) is not None]
        for key in kinds:
            yield from _projection(key, projection[key], at, path)
            for item in projection[key].get("items") or []:
                if item.get("path") in paths:
                    value = projection[key].get("name") if key != "downwardAPI" else item["path"]
                    yield wrong(at, value, "conflicting duplicate paths")
                paths.append(item.get("path") or "")
        if len(kinds) > 1:
            yield not_allowed(path, "may not specify more than 1 volume type per source")


_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def _projection(kind: str, projection: Tree, at: str, path: str) -> Iterator[Cause]:
    """One of the sources of a volume; the server tells where a token goes at the volume."""
    match kind:
        case "secret" | "configMap":
            if not projection.get("name"):
                yield required(f"{path}.{kind}.name")
            yield from _files(projection.get("items") or [], f"{path}.{kind}.items")
        case "downwardAPI":
            yield from _told(projection.get("items") or [], f"{path}.downwardAPI")
        case "serviceAccountToken":
            seconds = projection.get("expirationSeconds") or 0
            place = f"{path}.serviceAccountToken.expirationSeconds"
            if seconds < _LEAST_TOKEN_SECONDS:
                yield wrong(place, seconds, "may not specify a duration less than 10 minutes")
            if seconds > 1 << 32:
                yield wrong(place, seconds, "may not specify a duration larger than 2^32 seconds")
            target = projection.get("path")
            yield from unreserved(target, f"{at}.path") if target else [required(f"{at}.path")]


def _ephemeral(source: Tree, at: str) -> Iterator[Cause]:
    claim = source.get("volumeClaimTemplate")
    if claim is None:
        yield required(f"{at}.volumeClaimTemplate")
        return
    yield from template_metadata(claim.get("metadata") or {}, f"{at}.volumeClaimTemplate.metadata")
    yield from claim_spec(claim.get("spec") or {}, f"{at}.volumeClaimTemplate.spec")


def nfs(source: Tree, at: str) -> Iterator[Cause]:
    yield from needs("server", "path")(source, at)
    if source.get("path") and not source["path"].startswith("/"):
        yield wrong(f"{at}.path", source["path"], "must be an absolute path")


_RULES: dict[str, Callable[[Tree, str], Iterable[Cause]]] = {
    "emptyDir": _empty,
    "hostPath": host_path,
    "gitRepo": needs("repository"),
    "gcePersistentDisk": needs("pdName"),
    "awsElasticBlockStore": needs("volumeID"),
    "secret": _named("secretName"),
    "configMap": _named("name"),
    "nfs": nfs,
    "iscsi": needs("targetPortal", "iqn"),
    "glusterfs": needs("endpoints", "path"),
    "persistentVolumeClaim": _claimed,
    "rbd": needs("monitors", "image"),
    "cinder": needs("volumeID"),
    "cephfs": needs("monitors"),
    "downwardAPI": _downward,
    "flexVolume": needs("driver"),
    "azureFile": needs("secretName", "shareName"),
    "azureDisk": needs("diskName", "diskURI"),
    "vsphereVolume": needs("volumePath"),
    "projected": _projected,
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": needs("driver"),
    "ephemeral": _ephemeral,
}

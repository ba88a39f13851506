"""Rules for the containers of a pod: names, ports, variables, mounts, probes, hooks, resources, rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.resources import requirements
from kubesim.rules.variables import variable_entry, variable_sources
from kubesim.schema.values import (
    as_struct,
    below,
    chosen,
    duplicate,
    each,
    header,
    identity,
    label,
    needed,
    not_negative,
    not_there,
    one_of,
    port,
    port_name,
    port_number,
    too_many,
)
from kubesim.store.versions import Tree

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGES = ("File", "FallbackToLogsOnError")
_PULLS = ("Always", "IfNotPresent", "Never")
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_RESTARTS = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_MOST_RULES = 20
_RIGHTS = (
    "Capabilities",
    "Privileged",
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "ReadOnlyRootFilesystem",
    "AllowPrivilegeEscalation",
    "ProcMount",
    "SeccompProfile",
    "AppArmorProfile",
)


class Surroundings(Struct, frozen=True):
    """What a container finds in its pod."""

    volumes: dict[str, Tree]
    claims: tuple[str, ...]
    grace: int | None
    restart: str
    host_users: bool


def containers(found: list[Tree], around: Surroundings, at: str) -> Iterator[Cause]:
    if not found:
        yield required(at)
        return
    names: list[str] = []
    for index, container in enumerate(found):
        path = f"{at}[{index}]"
        yield from common(container, around, path)
        name = container.get("name") or ""
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.append(name)
        yield from _life(container, around, path)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            yield from _restarts(container, path)
    yield from _host_ports(found, at)


def init_containers(found: list[Tree], regular: list[Tree], around: Surroundings, at: str) -> Iterator[Cause]:
    names = [container.get("name") or "" for container in regular]
    for index, container in enumerate(found):
        path = f"{at}[{index}]"
        yield from common(container, around, path)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            yield from _restarts(container, path)
        name = container.get("name") or ""
        if name in names:
            yield duplicate(f"{path}.name", name)
        elif name:
            names.append(name)
        yield from _host_ports([container], at)
        if container.get("restartPolicy") == "Always":
            yield from _life(container, around, path)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                yield not_allowed(f"{path}.{key}", _ONLY_SIDECARS)


def common(container: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    """What holds for containers of any sort."""
    yield from needed(label, container.get("name"), f"{at}.name")
    if not container.get("image"):
        yield required(f"{at}.image")
    yield from one_of(container.get("terminationMessagePolicy"), _MESSAGES, f"{at}.terminationMessagePolicy")
    if ports := container.get("ports"):
        yield from _ports(ports, f"{at}.ports")
    if env := container.get("env"):
        for index, entry in enumerate(env):
            yield from variable_entry(entry, f"{at}.env[{index}]")
    if sources := container.get("envFrom"):
        yield from variable_sources(sources, f"{at}.envFrom")
    mounts, devices = container.get("volumeMounts") or [], container.get("volumeDevices") or []
    if mounts:
        yield from _mounts(mounts, devices, around, f"{at}.volumeMounts")
    if devices:
        yield from _devices(devices, mounts, around, f"{at}.volumeDevices")
    yield from one_of(container.get("imagePullPolicy"), _PULLS, f"{at}.imagePullPolicy")
    if resources := container.get("resources"):
        yield from requirements(resources, around.claims, f"{at}.resources")
    if rights := container.get("securityContext"):
        yield from _rights(rights, around, f"{at}.securityContext")


def _ports(found: list[Tree], at: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, entry in enumerate(found):
        path = f"{at}[{index}]"
        if name := entry.get("name"):
            problems = each(port_name, name, f"{path}.name")
            if not problems and name in names:
                problems = [duplicate(f"{path}.name", name)]
            yield from problems
            names.append(name)
        number = entry.get("containerPort") or 0
        yield from port_number(number, f"{path}.containerPort") if number else [required(f"{path}.containerPort")]
        if entry.get("hostPort"):
            yield from port_number(entry["hostPort"], f"{path}.hostPort")
        yield from one_of(entry.get("protocol"), PROTOCOLS, f"{path}.protocol")


def _host_ports(found: list[Tree], at: str) -> Iterator[Cause]:
    """Ports of the host that are asked for twice."""
    taken: list[str] = []
    for index, container in enumerate(found):
        for number, entry in enumerate(container.get("ports") or []):
            if entry.get("hostPort"):
                used = f"{entry.get('protocol')}/{entry.get('hostIP') or ''}/{entry['hostPort']}"
                if used in taken:
                    yield duplicate(f"{at}[{index}].ports[{number}].hostPort", used)
                taken.append(used)


# Mounts


def _mounts(mounts: list[Tree], devices: list[Tree], around: Surroundings, at: str) -> Iterator[Cause]:
    paths: list[str] = []
    for index, mount in enumerate(mounts):
        path = f"{at}[{index}]"
        name, target = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{path}.name")
        if name not in around.volumes:
            yield not_there(f"{path}.name", name)
        if not target:
            yield required(f"{path}.mountPath")
        if target in paths:
            yield wrong(f"{path}.mountPath", target, "must be unique")
        paths.append(target)
        if any(device.get("name") == name for device in devices):
            yield wrong(f"{path}.name", name, "must not already exist in volumeDevices")
        if any(device.get("devicePath") == target for device in devices):
            yield wrong(f"{path}.mountPath", target, "must not already exist as a path in volumeDevices")
        if mount.get("subPath"):
            yield from below(mount["subPath"], f"{at}.subPath")
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                text = "subPathExpr and subPath are mutually exclusive"
                yield wrong(f"{path}.subPathExpr", mount["subPathExpr"], text)
            yield from below(mount["subPathExpr"], f"{at}.subPathExpr")
        modes = ("Bidirectional", "HostToContainer", "None")
        yield from chosen(mount.get("mountPropagation"), modes, f"{at}.mountPropagation")


def _devices(devices: list[Tree], mounts: list[Tree], around: Surroundings, at: str) -> Iterator[Cause]:
    names: list[str] = []
    paths: list[str] = []
    for index, device in enumerate(devices):
        path = f"{at}[{index}]"
        name, target = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            yield required(f"{path}.name")
        if name in names:
            yield wrong(f"{path}.name", name, "must be unique")
        volume = around.volumes.get(name)
        if volume is None:
            yield not_there(f"{path}.name", name)
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield wrong(f"{path}.name", name, text)
        if not target:
            yield required(f"{path}.devicePath")
        if target in paths:
            yield wrong(f"{path}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield wrong(f"{path}.devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.append(target)
        if any(mount.get("name") == name for mount in mounts):
            yield wrong(f"{path}.name", name, "must not already exist in volumeMounts")
        if any(mount.get("mountPath") == target for mount in mounts):
            yield wrong(f"{path}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.append(name)


# Probes and hooks


def _life(container: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    if hooks := container.get("lifecycle"):
        for key in ("postStart", "preStop"):
            if hooks.get(key) is not None:
                yield from _handler(hooks[key], around, f"{at}.lifecycle.{key}")
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is None:
            continue
        path = f"{at}.{key}"
        yield from _probe(probe, around, path)
        if key == "readinessProbe":
            if probe.get("terminationGracePeriodSeconds") is not None:
                text = "must not be set for readinessProbes"
                yield wrong(f"{path}.terminationGracePeriodSeconds", probe["terminationGracePeriodSeconds"], text)
        elif probe.get("successThreshold") != 1:
            yield wrong(f"{path}.successThreshold", probe.get("successThreshold"), "must be 1")


def _probe(probe: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    yield from _handler(probe, around, at)
    for key in _PROBE_NUMBERS:
        yield from not_negative(probe, key, at)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield wrong(f"{at}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _handler(handler: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    """What a probe or hook does: one thing."""
    kinds = [key for key in _HANDLERS if handler.get(key) is not None]
    if not kinds:
        yield required(at, "must specify a handler type")
        return
    first, *others = kinds
    yield from _action(first, handler[first], around, f"{at}.{first}")
    for key in others:
        yield not_allowed(f"{at}.{key}", "may not specify more than 1 handler type")


def _action(kind: str, action: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required(f"{at}.command")
        case "httpGet":
            yield from port(action.get("port", 0), f"{at}.port")
            yield from chosen(action.get("scheme"), ("HTTP", "HTTPS"), f"{at}.scheme")
            for entry in action.get("httpHeaders") or []:
                yield from each(header, entry.get("name") or "", f"{at}.httpHeaders")
        case "sleep":
            seconds = action.get("seconds") or 0
            if around.grace is not None and not 0 <= seconds <= around.grace:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({around.grace})"
                yield wrong(at, seconds, text)
        case _:
            yield from port(action.get("port", 0), f"{at}.port")


def _restarts(container: Tree, at: str) -> Iterator[Cause]:
    """When a container is started again by rules of its own."""
    policy: Any = container.get("restartPolicy")
    rules = container.get("restartPolicyRules") or []
    if policy is None:
        yield required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _RESTARTS:
        yield unsupported(f"{at}.restartPolicy", policy, _RESTARTS)
    if len(rules) > _MOST_RULES:
        yield too_many(f"{at}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        path = f"{at}.restartPolicyRules[{index}]"
        if rule.get("action") not in _ACTIONS:
            yield unsupported(f"{path}.action", rule.get("action") or "", _ACTIONS)
        if rule.get("exitCodes") is None:
            yield required(f"{path}.exitCodes", "must be specified")
        elif rule["exitCodes"].get("operator") not in ("In", "NotIn"):
            operator = rule["exitCodes"].get("operator") or ""
            yield unsupported(f"{path}.exitCodes.operator", operator, ("In", "NotIn"))


# Rights


def _rights(rights: Tree, around: Surroundings, at: str) -> Iterator[Cause]:
    for key in ("runAsUser", "runAsGroup"):
        if rights.get(key) is not None:
            yield from identity(rights[key], f"{at}.{key}")
    mount = rights.get("procMount")
    yield from chosen(mount, ("Default", "Unmasked"), f"{at}.procMount")
    if mount == "Unmasked" and around.host_users:
        yield wrong(f"{at}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from seccomp(rights.get("seccompProfile"), f"{at}.seccompProfile")
    if rights.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and"
        if rights.get("privileged"):
            yield wrong(at, as_struct(rights, *_RIGHTS), f"{text} `privileged` to true")
        if "CAP_SYS_ADMIN" in ((rights.get("capabilities") or {}).get("add") or []):
            yield wrong(at, as_struct(rights, *_RIGHTS), f"{text} `capabilities.Add` CAP_SYS_ADMIN")


def seccomp(profile: Tree | None, at: str) -> Iterator[Cause]:
    """Which calls of the kernel are allowed; a file of the node says it, or the runtime."""
    if profile is None:
        return
    kind, path = profile.get("type") or "", profile.get("localhostProfile")
    if kind not in _SECCOMP:
        yield (
            unsupported(f"{at}.type", kind, _SECCOMP)
            if kind
            else required(f"{at}.type", "type is required when seccompProfile is set")
        )
    if kind == "Localhost":
        if path is None:
            yield required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from below(path, f"{at}.localhostProfile")
    elif path is not None:
        shown = as_struct(profile, "Type", "LocalhostProfile")
        yield wrong(f"{at}.localhostProfile", shown, "can only be set when seccomp type is Localhost")

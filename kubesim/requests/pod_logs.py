"""What the containers of a pod say.

No program runs in the embedded cluster, so a log is the life of its container as the pod's status tells it: started,
ready, asked to stop, ended, each with the time. Reading and following go by the rules of the server and of a kubelet:
a pod that is on no node has nothing to say, one whose container has not started is refused.

Nothing connects to a container: `exec`, `attach` and `portforward` are refused with 501, which the real server never
does, in a sentence that says why.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.api.verbs import Verbs
from kubesim.errors import Cause, StatusError, bad_request, invalid, not_allowed, quoted, wrong
from kubesim.kinds.registry import PODS
from kubesim.store.versions import Tree

CONNECTIONS = ("attach", "exec", "portforward")
_OPTIONS = Resource("", "v1", "", "PodLogOptions")
_FALSE = ("", "0", "false")
_FOLLOWED_SECONDS = 4 * 3600.0
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class Line(Struct, frozen=True):
    """One thing that a container said."""

    time: str
    text: str

    def printed(self, *, timestamps: bool) -> bytes:
        return (f"{self.time} {self.text}\n" if timestamps else f"{self.text}\n").encode()


class Options(Struct, frozen=True):
    """What of a log is wanted."""

    container: str = ""
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    most_bytes: int | None = None
    since: str = ""
    """The time before which nothing is shown."""


def refuse_connection(pod: Tree, subresource: str) -> StatusError:
    """Why nobody can be connected with a container."""
    name = pod["metadata"]["name"]
    if not pod["spec"].get("nodeName"):
        return bad_request(f"pod {name} does not have a host assigned")
    why = f"no program runs in pod {name} of the embedded cluster, so that {subresource} has nothing to connect to"
    return StatusError(501, "", why)


def options_of(query: Mapping[str, str], name: str) -> Options:
    """The options in a query, checked."""
    numbers = {key: _number(query[key]) for key in ("limitBytes", "sinceSeconds", "tailLines") if query.get(key)}
    since = query.get("sinceTime", "")
    if since:
        _checked_time(since)
    if causes := list(_causes(query, numbers)):
        raise invalid(_OPTIONS, name, causes)
    if "sinceSeconds" in numbers:
        since = (clock.now() - timedelta(seconds=numbers["sinceSeconds"])).strftime("%Y-%m-%dT%H:%M:%SZ")
    previous, timestamps = (query.get(key, "").lower() not in _FALSE for key in ("previous", "timestamps"))
    return Options(
        query.get("container", ""), previous, timestamps, numbers.get("tailLines"), numbers.get("limitBytes"), since
    )


def _number(text: str) -> int:
    if not text.lstrip("+-").isdecimal():
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    return int(text)


def _checked_time(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        why = f'parsing time {quoted(text)} as "2006-01-02T15:04:05Z07:00": cannot parse {quoted(text)} as "2006"'
        raise bad_request(why) from None


def _causes(query: Mapping[str, str], numbers: Mapping[str, int]) -> Iterator[Cause]:
    if numbers.get("tailLines", 0) < 0:
        yield wrong("tailLines", numbers["tailLines"], "must be greater than or equal to 0")
    if numbers.get("limitBytes", 1) < 1:
        yield wrong("limitBytes", numbers["limitBytes"], "must be greater than 0")
    if "sinceSeconds" in numbers and query.get("sinceTime"):
        yield not_allowed("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield wrong("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0")
    if query.get("stream"):
        yield not_allowed("stream", "may not be specified")


def read(pod: Tree, options: Options) -> bytes | None:
    """The log as text; None when nobody keeps one for the pod yet."""
    container = _container(pod, options.container)
    if not pod["spec"].get("nodeName"):
        return None
    return _shown(_lines(pod, container, previous=options.previous), options)


def _shown(lines: list[Line], options: Options) -> bytes:
    kept = [line for line in lines if line.time >= options.since]
    if options.tail is not None:
        kept = kept[len(kept) - min(options.tail, len(kept)) :]
    return b"".join(line.printed(timestamps=options.timestamps) for line in kept)[: options.most_bytes]


def _container(pod: Tree, wanted: str) -> str:
    """The container that is meant; a pod with one needs no name, whatever came before it and was put into it."""
    names = [each["name"] for key in _LISTS for each in pod["spec"].get(key) or ()]
    name, usual = pod["metadata"]["name"], pod["spec"]["containers"]
    if not wanted:
        if len(usual) > 1:
            raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")
        return str(usual[0]["name"])
    if wanted not in names:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _lines(pod: Tree, container: str, *, previous: bool) -> list[Line]:
    """What a container has said in its life, or in the one before."""
    status = _status(pod, container)
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    place = f"container {quoted(container)} in pod {quoted(pod['metadata']['name'])}"
    if previous:
        if last is None:
            raise bad_request(f"previous terminated {place} not found")
        return list(_ended(status, last))
    if "running" in state:
        return list(_running(pod, status, state["running"]))
    if "terminated" in state:
        return list(_ended(status, state["terminated"]))
    if last is not None:
        return list(_ended(status, last))
    reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
    raise bad_request(f"{place} is waiting to start: {reason}")


def _status(pod: Tree, container: str) -> Tree:
    status = pod.get("status") or {}
    entries = (each for key in _STATUSES for each in status.get(key) or ())
    return next((each for each in entries if each.get("name") == container), {})


def _started(status: Tree, time: str) -> Line:
    return Line(time, f"container {status['name']} of image {status.get('image', '')} started")


def _running(pod: Tree, status: Tree, running: Tree) -> Iterator[Line]:
    began = running.get("startedAt") or ""
    yield _started(status, began)
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready: Tree = next((each for each in conditions if each.get("type") == "Ready"), {})
    if status.get("ready") and ready.get("status") == "True":
        yield Line(max(began, ready.get("lastTransitionTime") or ""), "ready")
    until = pod["metadata"].get("deletionTimestamp")
    if until:
        yield Line(until, f"asked to stop before {until}")


def _ended(status: Tree, ended: Tree) -> Iterator[Line]:
    yield _started(status, ended.get("startedAt") or "")
    reason = f": {ended['reason']}" if ended.get("reason") else ""
    yield Line(ended.get("finishedAt") or "", f"exited with code {ended.get('exitCode', 0)}{reason}")


class Follow:
    """A log that is sent as it grows, until its container ends."""

    def __init__(self, verbs: Verbs, namespace: str, name: str, options: Options) -> None:
        found = verbs.writes.current(verbs.registry.kind(PODS), namespace, name)
        self._options = options
        self._pod = found.tree()
        self._container = _container(self._pod, options.container)
        if self._pod["spec"].get("nodeName"):  # else the log ends as it begins
            _lines(self._pod, self._container, previous=options.previous)
        fields, since = f"metadata.name={name}", str(found.revision)
        self._watcher = verbs.watch(PODS, since, namespace=namespace, fields=fields, lag=(0.0, 0.0))
        self.warnings: list[str] = []

    def close(self) -> None:
        self._watcher.close()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Everything so far, then each new line; it ends with the container, the pod, or `close`."""
        try:
            if not self._pod["spec"].get("nodeName"):
                return
            told = _lines(self._pod, self._container, previous=self._options.previous)
            yield _shown(told, self._options)
            until = clock.monotonic() + _FOLLOWED_SECONDS
            while self._goes_on(self._pod):
                event = await self._watcher.next(until)
                if event is None or event.type == "DELETED":
                    return
                self._pod = event.new.tree()
                for line in _lines(self._pod, self._container, previous=self._options.previous):
                    if line not in told:
                        told.append(line)
                        yield line.printed(timestamps=self._options.timestamps)
        finally:
            self.close()

    def _goes_on(self, pod: Tree) -> bool:
        state = _status(pod, self._container).get("state") or {}
        return "running" in state and not self._options.previous

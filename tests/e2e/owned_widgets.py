"""A definition that the operator owns beside others, and how it is registered in scenarios."""

from __future__ import annotations

from fairlead.contracts.apiversions.kinds import CA_MANAGER, CONVERTIBLE, CRD_OWNER, CRD_REVISION, MANAGER
from fairlead.core.act import EventNote
from fairlead.engine.assembly import assemble
from fairlead.engine.certificates.authority import Publication
from fairlead.engine.contract import Contract, Room
from fairlead.engine.decide.owned_definitions import DefinitionOwner
from fairlead.engine.decide.registration import ConversionWebhook, Tree
from fairlead.engine.decide.replicas import ReplicaQuestion
from fairlead.engine.kinds.registration import Owned, Registration
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.part import Part, PartContext
from kubeloop.caches import Caches
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import Transport
from kubesim.pki import Authority
from tests.contracts.apiversions.decide.definitions import V1, V2, a_definition, a_version
from tests.e2e.clusters import Site
from tests.engine.alone import caches_of, rounds_of
from tests.engine.world import Log

AUTHORITY = Authority()
REVISION = "3"
CONTROLLER = "widget-definitions"
"""Not that of environments, whose rounds are decided otherwise."""


def widgets(*versions: Tree, revision: str = REVISION) -> Tree:
    """As the operator has it compiled in."""
    tree = a_definition(*(versions or (a_version("v1", V1), a_version("v2", V2, storage=True))))
    tree["metadata"]["annotations"] = {CRD_REVISION: revision}
    del tree["status"], tree["spec"]["conversion"]
    return tree


class Installation:
    """An operator that registers the widgets; each `registration` is a start of it."""

    def __init__(self, site: Site, *, service: str = "fairlead", takes_over: bool = False) -> None:
        self.site = site
        self.log = Log()
        self.told: list[EventNote] = []
        self.publication = Publication(3600.0)
        self.publication.offer(AUTHORITY.certificate)
        self.webhook: ConversionWebhook | None = ConversionWebhook(name=service, namespace=site.namespace)
        self.owner = DefinitionOwner(
            manager=MANAGER,
            ca_manager=CA_MANAGER,
            namespace=site.namespace,
            owner_key=CRD_OWNER,
            revision_key=CRD_REVISION,
            takes_over=takes_over,
        )
        self.replicas = ReplicaQuestion(site.namespace, service, CONVERTIBLE)

    def registration(self, *trees: Tree, caches: Caches | None = None) -> Registration:
        return Registration(
            self.site.client,
            caches or caches_of(self.site.client, self.log.logger()),
            trees or (widgets(),),
            self.webhook,
            self.publication,
            self.log.logger(),
            manager=MANAGER,
            name=CONTROLLER,
            owned=Owned(owner=self.owner, replicas=self.replicas, tell=self._tell),
        )

    async def registered(self, *trees: Tree) -> None:
        await self.registration(*trees).register()

    async def kept(self, *trees: Tree) -> None:
        """Registers, and repairs until the end of the scenario."""
        caches = caches_of(self.site.client, self.log.logger())
        registration = self.registration(*trees, caches=caches)
        await registration.register()
        self.site.start(caches.run())
        rounds = rounds_of(registration.controller, self.site.client, self.log.logger(), self._tell, caches)
        self.site.start(rounds.run())

    async def __call__(self, transport: Transport) -> None:
        """A process with nothing else to do: call it with a transport to run it."""
        made = Contract(name="widgets", about="widgets", part=Room(__name__, "part"), registers=True, lease="widgets")
        parts = (PartOptions(made, self),)
        options = OperatorOptions(process="fairlead", parts=parts, identity="operator", lease="fairlead-operator")
        try:
            manager = await assemble(options, self.site.namespace, transport, Metrics(), self.log.logger())
            await manager.run()
        finally:
            close = getattr(transport, "close", None)
            if close is not None:
                await close()

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.told]

    def _tell(self, note: EventNote) -> None:
        self.told.append(note)
        self.site.history.wake()


def part(context: PartContext, installation: Installation) -> Part:
    """What the process runs: the definition is there before the rounds of this part, and of no other."""
    lease = Ref(LEASES, context.home, "fairlead-operator")
    registration = Registration(
        context.client,
        context.caches,
        (widgets(),),
        installation.webhook,
        installation.publication,
        context.log,
        manager=MANAGER,
        name=CONTROLLER,
        owned=Owned(owner=installation.owner, replicas=installation.replicas, tell=context.tell, lease=lease),
    )
    return Part(name="widgets", controllers=(registration.controller,), before_rounds=(registration.register,))

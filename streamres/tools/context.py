"""What a tool is given beside its arguments: outputs to write to, progress, questions, who calls and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from streamres.protocol.calls import declares_tasks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from streamres.model import Audience, Kind
    from streamres.model.json_value import JsonValue
    from streamres.sources.resource import Resource
    from streamres.tools.asking import Foreign, Question


class About(TypedDict, total=False):
    """What an output is, beside its name and kind."""

    mime_type: str | None
    title: str | None
    description: str | None
    audience: Collection[Audience]


class Call(Protocol):
    """The call that a context belongs to."""

    async def output(
        self, name: str, kind: Kind, uri: str | None, about: About, value: JsonValue = None
    ) -> Resource:
        """Makes an output."""
        ...

    async def link(self, resource: Resource) -> None:
        """Names a resource of somebody else's."""
        ...

    async def tell(self, value: float, total: float | None, message: str | None) -> None:
        """Tells how far it is."""
        ...

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Asks its caller."""
        ...

    async def pass_on(self, questions: Mapping[str, Foreign], state: str) -> dict[str, Any]:
        """Asks what another server asks."""
        ...

    async def become_task(self) -> None:
        """Goes on as a task."""
        ...


class Context:
    """One call, as its tool sees it. A parameter of this type is filled in, and is no argument of the tool."""

    def __init__(
        self,
        call: Call,
        *,
        basis: str | None,
        capabilities: Mapping[str, Any],
        responses: Mapping[str, Any],
        state: str | None,
    ) -> None:
        self._call = call
        self.basis = basis
        """The cursor that the caller had seen when it called, or answered last; None if it did not say."""
        self.capabilities = capabilities
        """What the client declared: `elicitation`, `sampling`, `roots` are what it can be asked."""
        self.responses = responses
        """What came with the call as `inputResponses`; most tools get it from `ask`."""
        self.state = state
        """What came with it as `requestState`, for a tool that `passes_on`."""

    @property
    def takes_tasks(self) -> bool:
        """Says whether the caller takes tasks, and so can wait for as long as it takes."""
        return declares_tasks(self.capabilities)

    async def text(
        self,
        name: str = "output",
        *,
        uri: str | None = None,
        mime_type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        audience: Collection[Audience] = (),
    ) -> Resource:
        """Makes a text that readers follow while the tool works; the call names it at once, and in its result.

        It is sealed when the tool ends: `complete` where it returns, `aborted` where it fails or is cancelled.
        `name` is unique in the call. `uri` is for one that others know; by default nobody can guess it.

        Raises:
            ResourceExists: the URI is taken.
            LimitExceeded: one resource too many.
        """
        about: About = {
            "mime_type": mime_type,
            "title": title,
            "description": description,
            "audience": audience,
        }
        return await self._call.output(name, "text", uri, about)

    async def blob(
        self,
        name: str = "output",
        *,
        uri: str | None = None,
        mime_type: str | None = None,
        title: str | None = None,
        description: str | None = None,
        audience: Collection[Audience] = (),
    ) -> Resource:
        """Makes an output of bytes; see `text`."""
        about: About = {
            "mime_type": mime_type,
            "title": title,
            "description": description,
            "audience": audience,
        }
        return await self._call.output(name, "blob", uri, about)

    async def json(
        self,
        name: str = "output",
        value: JsonValue = None,
        *,
        uri: str | None = None,
        title: str | None = None,
        description: str | None = None,
        audience: Collection[Audience] = (),
    ) -> Resource:
        """Makes an output that is a document, `value` at first; see `text`."""
        about: About = {"title": title, "description": description, "audience": audience}
        return await self._call.output(name, "json", uri, about, value)

    async def link(self, resource: Resource) -> None:
        """Names a resource as an output that goes on when the call ends, and is not sealed with it."""
        await self._call.link(resource)

    async def progress(self, value: float, total: float | None = None, message: str | None = None) -> None:
        """Tells a caller that listens how far the work is; `value` grows. Of a task, `message` is its status."""
        await self._call.tell(value, total, message)

    async def ask(self, key: str, question: Question) -> dict[str, Any]:
        """Asks the caller and gives the response.

        A plain call ends here with the question, and the tool begins anew when the response is there: ask first,
        then work. A task waits here. `key` names the question, for good.

        Raises:
            MissingCapability: the client has not declared that it can be asked this.
            InvalidParams: the key was used before.
        """
        return dict((await self._call.ask({key: question}))[key])

    async def ask_all(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Asks several things at once and gives the responses by their keys; see `ask`."""
        return await self._call.ask(questions)

    async def pass_on(self, questions: Mapping[str, Foreign], state: str) -> dict[str, Any]:
        """Asks what another server asks, for a tool that `passes_on`, and gives the responses by their keys.

        A plain call ends here, and comes again with `responses` and `state` in the context, however often the keys
        were used. A task waits here, and each key is to be new.

        Raises:
            MissingCapability: the client has not declared that it can be asked this.
            InvalidParams: a key was used before in the task.
        """
        return await self._call.pass_on(questions, state)

    async def become_task(self) -> None:
        """Goes on as a task from here, where the client takes tasks; else, and for one that is a task, nothing."""
        await self._call.become_task()

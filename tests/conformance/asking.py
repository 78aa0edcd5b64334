"""The suite's tools that ask their caller before they answer (SEP-2322)."""

from __future__ import annotations

from typing import Any, Final

from streamres import Server
from streamres.tools import Context, Elicit, Roots, Sample
from streamres.tools.asking import Question

CAPITAL: Final = Sample(prompt="What is the capital of France?", max_tokens=100)


def form(message: str, **types: str) -> Elicit:
    """A form with a field of each name, all of which are to be filled in."""
    properties = {name: {"type": of} for name, of in types.items()}
    return Elicit(
        message=message, schema={"type": "object", "properties": properties, "required": list(properties)}
    )


NAME: Final = form("What is your name?", name="string")
CONFIRM: Final = form("Please confirm", ok="boolean")


def filled_in(response: dict[str, Any], name: str) -> object:
    """What the user put into a field; None where the form was declined."""
    return response.get("content", {}).get(name)


def offer_questions(server: Server) -> None:
    """Offers a tool for each kind of question."""

    @server.tool()
    async def test_input_required_result_elicitation(context: Context) -> str:
        """Asks the user."""
        return f"Hello, {filled_in(await context.ask('user_name', NAME), 'name')}!"

    @server.tool()
    async def test_input_required_result_sampling(context: Context) -> str:
        """Asks the client's model."""
        return f"The model said: {(await context.ask('capital_question', CAPITAL))['content']['text']}"

    @server.tool()
    async def test_input_required_result_list_roots(context: Context) -> str:
        """Asks for the client's folders."""
        roots = (await context.ask("client_roots", Roots()))["roots"]
        return "The roots are " + ", ".join(root["uri"] for root in roots)

    @server.tool()
    async def test_input_required_result_capabilities(context: Context) -> str:
        """Asks only what the client declared."""
        askable: dict[str, Question] = {"elicitation": NAME, "sampling": CAPITAL, "roots": Roots()}
        questions = {key: question for key, question in askable.items() if key in context.capabilities}
        return "Answered: " + ", ".join(await context.ask_all(questions))


def offer_states(server: Server) -> None:
    """Offers the tools that are about what goes through the client's hands between two rounds."""

    @server.tool()
    async def test_input_required_result_request_state(context: Context) -> str:
        """Asks, and knows its own state again."""
        await context.ask("confirm", CONFIRM)
        return "state-ok"

    @server.tool()
    async def test_input_required_result_tampered_state(context: Context) -> str:
        """Asks, and knows a state that is not its own."""
        await context.ask("confirm", CONFIRM)
        return "The state was as it was given."

    @server.tool()
    async def test_input_required_result_multiple_inputs(context: Context) -> str:
        """Asks three things at once."""
        greeting = Sample(prompt="Generate a greeting", max_tokens=50)
        said = await context.ask_all({"user_name": NAME, "greeting": greeting, "client_roots": Roots()})
        return "Answered: " + ", ".join(said)

    @server.tool()
    async def test_input_required_result_multi_round(context: Context) -> str:
        """Asks one thing after the other."""
        name = filled_in(await context.ask("step1", form("Step 1: what is your name?", name="string")), "name")
        color = filled_in(await context.ask("step2", form("Step 2: which colour?", color="string")), "color")
        return f"{name} likes {color}."

"""The built-in agents, which a test that empties the tables sweeps away with everything else."""

from apps.agents.models import Agent

COLOURS = {"random": 8, "expert": 3, "human": 2}


def built_in(name: str) -> Agent:
    """The agent called `name`, made again if it is gone."""
    return Agent.objects.get_or_create(slug=name, defaults={"name": name, "kind": name, "colour": COLOURS[name]})[0]

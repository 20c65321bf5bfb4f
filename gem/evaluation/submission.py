"""A submission of a person: one specification for one agent or several, and how the jobs are filed.

The form, `POST /api/v1/jobs` and `gemweb submit spec.json` take the same document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from gem.errors import UsageError
from gem.evaluation import selection
from gem.evaluation.spec import EvaluationSpec
from gem.validation.messages import refused

MAX_AGENTS = 20
MAX_NAME, MAX_NOTES, MAX_TAGS, MAX_TAG = 120, 4000, 12, 40
Priority = Literal["low", "normal", "high"]
FORMER_FIELDS = frozenset({"spec", "name", "visibility"})
"""The fields of a request as earlier versions took it: the specification was a field of its own."""
AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
"""The short name of an agent."""
NO_AGENT = "There is no such agent: {}. A short name has small letters, digits and hyphens."


class Submission(EvaluationSpec):
    """Evaluations to submit together: the fields of an `EvaluationSpec`, and for several agents one job for each.

    `env_ids` may have patterns, such as `game:*-v0-easy`. All limits and budgets hold for each job.
    """

    agent: str = ""
    """The short name of the agent; or leave it out and name `agents`."""
    agents: Annotated[tuple[str, ...], Field(validate_default=True)] = ()
    """The short names of the agents. Each plays in a job of its own."""
    without: tuple[tuple[str, str], ...] = ()
    """Combinations that are not played: pairs of an agent and an environment, or a pattern."""
    name: Annotated[str, Field(max_length=MAX_NAME)] = ""
    notes: Annotated[str, Field(max_length=MAX_NOTES)] = ""
    """Its purpose, for everybody who can see the job."""
    tags: tuple[str, ...] = ()
    """Words to find the jobs by."""
    priority: Priority = "normal"
    """Which of one's own waiting jobs is served first. It has no effect on the jobs of others."""
    visibility: Literal["public", "unlisted", "private"] | None = None
    """The visibility of the jobs; by default that of the account."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        """Take `agent` for `agents`, expand the patterns of `env_ids`, and accept the form of earlier versions."""
        if not isinstance(data, dict):
            return data
        if isinstance(data.get("spec"), dict) and data.keys() <= FORMER_FIELDS:
            data = {**data["spec"], **{name: value for name, value in data.items() if name != "spec"}}
        data = dict(data)
        if data.get("agent") and data.get("agents"):
            data["agents"] = UsageError("Name one agent in agent, or all agents in agents, and not both.")
        elif isinstance(data.get("agent"), str) and data["agent"]:
            data["agents"] = [data["agent"]]
        env_ids = data.get("env_ids")
        if isinstance(env_ids, list | tuple) and all(isinstance(env_id, str) for env_id in env_ids):
            try:
                data["env_ids"] = selection.expand(env_ids)
            except UsageError as error:
                data["env_ids"] = error
        return data

    @field_validator("agents", "env_ids", mode="before")
    @classmethod
    def _refuse(cls, value: Any) -> Any:
        """Refuse what `_read` could not read."""
        if isinstance(value, UsageError):
            raise refused(str(value)) from value
        return value

    @field_validator("agent")
    @classmethod
    def _check_agent(cls, agent: str) -> str:
        if agent and not AGENT.fullmatch(agent):
            raise refused(NO_AGENT.format(repr(agent[:80])))
        return agent

    @field_validator("agents")
    @classmethod
    def _check_agents(cls, agents: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "agent" not in info.data:
            return agents  # it is refused already
        if not agents:
            raise refused("Choose an agent.")
        for agent in agents:
            if not AGENT.fullmatch(agent):
                raise refused(NO_AGENT.format(repr(agent[:80])))
        if len(set(agents)) != len(agents):
            raise refused("An agent is chosen twice.")
        if len(agents) > MAX_AGENTS:
            raise refused(f"Choose at most {MAX_AGENTS} agents; you chose {len(agents)}.")
        return agents

    @field_validator("without")
    @classmethod
    def _check_without(cls, without: tuple[tuple[str, str], ...], info: ValidationInfo) -> tuple[tuple[str, str], ...]:
        if not {"agents", "env_ids"} <= info.data.keys():
            return without
        if without and info.data.get("benchmark"):
            raise refused("Every agent plays the whole benchmark; leave without out, or choose environments.")
        for agent, pattern in without:
            if agent not in info.data["agents"]:
                raise refused(f"{agent[:80]!r} leaves something out, but it is not one of the agents.")
            if not set(selection.matching(pattern)).intersection(info.data["env_ids"]):
                raise refused(f"{agent} leaves {pattern[:120]!r} out, but that is not one of the environments.")
        for agent in info.data["agents"]:
            if info.data["env_ids"] and not _left(info.data["env_ids"], agent, without):
                raise refused(f"Nothing is left for {agent} to play. Leave the agent out.")
        return without

    @field_validator("tags")
    @classmethod
    def _check_tags(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if len(tags) > MAX_TAGS:
            raise refused(f"Give at most {MAX_TAGS} tags; you gave {len(tags)}.")
        for tag in tags:
            if not 0 < len(tag.strip()) <= MAX_TAG or "," in tag or not tag.isprintable():
                raise refused(
                    f"{tag[:80]!r} is not a tag. A tag has 1 to {MAX_TAG} characters that can be seen, and no comma."
                )
        return tuple(dict.fromkeys(tag.strip() for tag in tags))

    @property
    def specs(self) -> list[EvaluationSpec]:
        """The specification of each job, in the order of the agents."""
        return [self.spec_of(agent) for agent in self.agents]

    def spec_of(self, agent: str) -> EvaluationSpec:
        """The specification of the job of this agent."""
        fields = {name: getattr(self, name) for name in EvaluationSpec.model_fields}
        fields |= {"agent": agent, "env_ids": _left(self.env_ids, agent, self.without)}
        plain = EvaluationSpec.model_construct(**fields)
        if not plain.multi_seat_env_ids:
            fields["opponent"] = None
        return EvaluationSpec.model_validate(fields)

    def plain(self) -> dict[str, Any]:
        """The shortest document that says the same, with patterns for environments."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        for name in ("agent", "agents", "benchmark_version"):
            data.pop(name, None)
        players = {"agent": self.agents[0]} if len(self.agents) == 1 else {"agents": list(self.agents)}
        if self.benchmark:
            for name in ("env_ids", "episodes_per_env", "seed"):
                data.pop(name, None)
        else:
            data["env_ids"] = selection.compact(self.env_ids)
        return {**players, **data}


def _left(env_ids: tuple[str, ...], agent: str, without: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The environments that an agent does not leave out."""
    dropped = {env_id for name, pattern in without if name == agent for env_id in selection.matching(pattern)}
    return tuple(env_id for env_id in env_ids if env_id not in dropped)


def is_document(data: Mapping[str, Any]) -> bool:
    """Whether plain data name an agent or a benchmark or environments, so that they are an evaluation's."""
    return not {"agent", "agents", "benchmark", "env_ids"}.isdisjoint(data)

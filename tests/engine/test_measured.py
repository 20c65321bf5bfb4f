"""What the catalog shows of every registered environment has been measured: baselines and badges."""

import gem
from gem.agents import has_expert
from gem.benchmarks import baseline, baselines, check_result

NOT_MEASURED: dict[str, str] = {}
"""Environments without a baseline or a check, and why: nothing else may lack one."""


def lacking(env_id: str, version: int) -> list[str]:
    """What there is not of an environment's present version."""
    wanted = ["random", *(["expert"] if has_expert(env_id) else [])]
    rows = {agent: baseline(env_id, agent) for agent in wanted}
    missing = [f"{agent}'s baseline" for agent, row in rows.items() if row is None or row.env_version != version]
    return missing + ([] if check_result(env_id, version) else ["check"])


def own() -> list[gem.registry.EnvSpec]:
    """Our own environments; those of other packages and of tests are for their authors to measure."""
    return [spec for spec in gem.registry.specs() if str(spec.entry_point).startswith("gem.")]


def test_every_environment_has_baselines_and_was_checked() -> None:
    found = {spec.id: lack for spec in own() if (lack := lacking(spec.id, spec.version))}
    unknown = {env_id: lack for env_id, lack in found.items() if env_id not in NOT_MEASURED}
    assert not unknown, f"Measure them with python -m bench.baselines ID and python -m bench.checks ID: {unknown}"
    assert set(NOT_MEASURED) <= set(found), "what has been measured by now need not be excused"


def test_nothing_is_shown_of_environments_that_are_gone() -> None:
    registered = {spec.id for spec in gem.registry.specs()}
    assert {row.env_id for row in baselines()} <= registered


def test_nobody_is_called_an_expert_who_is_not_one() -> None:
    """A baseline of an expert is of a solver that plays by what can be seen (`tests/engine/contracts`)."""
    assert all(has_expert(row.env_id) for row in baselines() if row.agent == "expert")
    assert {row.agent for row in baselines()} == {"random", "expert"}


def test_no_check_found_a_broken_promise() -> None:
    found = {spec.id: check_result(spec.id, spec.version) for spec in own()}
    wrong = {env_id: one.findings for env_id, one in found.items() if one and "wrong" in one.findings.values()}
    assert not wrong

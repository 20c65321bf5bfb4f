"""Whatever an agent writes, tools answer or leave it; nothing is raised, and the record replays."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gem
from gem.check import check
from gem.records import Identity, TurnRecord
from gem.registry import ENV_REGISTRY
from gem.replay import verify
from gem.tools import ToolEnvWrapper, register_tool
from gem.tools.kinds import TOOLS
from tests.engine.tools.own import Bomb, Mirror, Scale, WordCount

GUESS = "game:GuessTheNumber-v0-easy"
OWN = {"count": WordCount, "scale": Scale, "bomb": Bomb, "mirror": Mirror}
PIECES = [
    "<count>", "</count>", "<scale>", "</scale>", "<bomb>x</bomb>", "<mirror>ab</mirror>", "<tool_call>",
    "</tool_call>", '{"name": "scale", "arguments": {"what": "wool", "grams": 3}}', '{"name": "count"',
    "<tool_name>count</tool_name>", "<arguments>{}</arguments>", "\\boxed{3}",
    "smoke", "\0", "\ud800", "{", "[", '"', "\n", "9" * 400,
]  # fmt: skip
actions = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)


@pytest.fixture(autouse=True, scope="module")
def _registered() -> Any:
    for name, tool in OWN.items():
        register_tool(name, tool)
    yield
    for name in OWN:
        del TOOLS[name]


@pytest.mark.parametrize("form", ["tags", "native"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=st.lists(actions, max_size=12))
def test_any_text_is_answered_and_replays(form: str, plan: list[str]) -> None:
    kwargs = {"tools": list(OWN), "tool_format": form, "max_tool_uses": 6}
    env = gem.make(GUESS, **kwargs)
    assert isinstance(env, ToolEnvWrapper)
    observation, first_info = env.reset(seed=3)
    turns = []
    for action in plan:
        told, reward, terminated, truncated, info = env.step(action)
        turns.append(TurnRecord(action, told, reward, info))
        assert bool(info.get("tool_calls")) == info["use_tool"]
        assert len(turns) <= env.max_turns
        if terminated or truncated:
            break
    identity = Identity(GUESS, 1, 3, env_kwargs=kwargs)
    assert verify(identity, turns, first_observation=observation, first_info=first_info) is None


@pytest.mark.parametrize("form", ["tags", "native"])
def test_an_environment_with_tools_keeps_the_contract(form: str) -> None:
    env_id = f"game:GuessWithTools-v0-{form}"
    gem.register(
        env_id, "gem.envs.games.guess_the_number:GuessTheNumber", tools=list(OWN), tool_format=form, max_number=10
    )
    try:
        findings = list(check(env_id))
    finally:
        del ENV_REGISTRY[env_id]
    assert [finding for finding in findings if finding.status == "wrong"] == []
    assert sum(finding.status == "ok" for finding in findings) > 8


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_vectors_use_tools_wherever_they_are_stepped(backend: Any) -> None:
    vector = gem.make_vec([GUESS] * 4, async_mode=backend, seed=1, tools=["python"], max_tool_uses=2)
    try:
        vector.reset()
        observations, _, _, _, infos = vector.step([f"<python>print({number} ** 2)</python>" for number in range(4)])
        assert observations == [f"Code execution result: {number**2}\n\n" for number in range(4)]
        assert [info["tool_calls"][0]["tool"] for info in infos] == ["python"] * 4
    finally:
        vector.close()

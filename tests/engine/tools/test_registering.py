"""Tools by name: as an argument of make, in a registration, as GEM's wrappers."""

from collections.abc import Iterator

import pytest

import gem
from gem.errors import InvalidArgument, UsageError
from gem.registry import ENV_REGISTRY
from gem.tools import BaseTool, ToolEnvWrapper
from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.search_tool import SearchTool
from gem.wrappers import WRAPPER_FACTORY, describe, get_wrapper_fns, wrap

GUESS = "game:GuessTheNumber-v0-easy"
WITH_TOOLS = "game:GuessWithTools-v0"


@pytest.fixture
def _registered() -> Iterator[None]:
    gem.register(
        WITH_TOOLS,
        "gem.envs.games.guess_the_number:GuessTheNumber",
        tools=["python", {"name": "search", "index": "wiki"}],
        max_tool_uses=4,
        min_number=1,
        max_number=10,
    )
    yield
    del ENV_REGISTRY[WITH_TOOLS]


@pytest.mark.usefixtures("_registered")
def test_a_registered_environment_carries_its_tools() -> None:
    spec = gem.spec(WITH_TOOLS)
    assert (spec.tools, spec.replay, spec.cost) == (("python", "search"), "taped", "slow")
    env = gem.make(WITH_TOOLS)
    assert isinstance(env, ToolEnvWrapper)
    assert (env.max_tool_uses, [type(tool) for tool in env.tools]) == (4, [PythonCodeTool, SearchTool])
    assert env.spec == spec
    assert env.env_kwargs == {}
    assert describe(env) == []


@pytest.mark.usefixtures("_registered")
def test_the_tools_of_a_registration_can_be_left_out() -> None:
    bare = gem.make(WITH_TOOLS, tools=[])
    assert not isinstance(bare, ToolEnvWrapper)
    assert "python" not in bare.reset(seed=1)[0].lower()


def test_any_environment_can_be_made_with_tools() -> None:
    env = gem.make(GUESS, tools=["python"], tool_format="native", max_tool_uses=2, seed=3)
    observation, _ = env.reset()
    assert '"name": "python"' in observation
    assert env.seed == 3
    with pytest.raises(InvalidArgument, match="Did you mean tools"):
        gem.make(GUESS, tool=["python"])


def test_each_environment_of_a_vector_has_tools_of_its_own() -> None:
    vector = gem.make_vec([GUESS] * 2, wrappers=get_wrapper_fns("python_tool_no_int_reward,concat"), seed=1)
    observations, _ = vector.reset()
    assert all("<python>" in observation for observation in observations)
    observations, rewards, *_, infos = vector.step(["<python>print(6*7)</python>", "\\boxed{3}"])
    assert "Code execution result: 42" in observations[0]
    assert [info["use_tool"] for info in infos] == [True, False]
    assert rewards[0] == 0
    vector.close()


@pytest.mark.parametrize(
    ("name", "reward", "success"),
    [
        ("python_tool", 0.05, 0.25),
        ("python_tool_no_int_reward", 0.0, 0.0),
        ("python_tool_no_int_reward_last_line_error", 0.0, 0.0),
        ("search_tool", 0.3, 0.0),
        ("search_tool_no_int_reward", 0.0, 0.0),
        ("mcp_tool", 0.05, 0.25),
        ("mcp_tool_no_int_reward", 0.0, 0.0),
    ],
)
def test_gems_names_give_gems_rewards_and_describe_themselves(name: str, reward: float, success: float) -> None:
    env = WRAPPER_FACTORY[name](gem.make(GUESS))
    assert isinstance(env, ToolEnvWrapper)
    assert (env.tool_reward, env.tool_success_reward, env.max_tool_uses) == (reward, success, 5)
    described = describe(env)
    assert described == [{"name": name}]
    again = wrap(gem.make(GUESS), described)
    assert isinstance(again, ToolEnvWrapper)
    assert again._arguments() == env._arguments()


def test_a_budget_without_a_limit_survives_its_description() -> None:
    env = wrap(gem.make(GUESS), [{"name": "tools", "tools": ["python"], "max_tool_uses": None}])
    again = wrap(gem.make(GUESS), describe(env))
    assert isinstance(again, ToolEnvWrapper)
    assert again.max_tool_uses is None


def test_gems_import_paths_lead_here() -> None:
    from gem.tools.base_tool import BaseTool  # type: ignore[import-not-found]

    from gem.tools.mcp_tool import MCPTool

    assert issubclass(MCPTool, BaseTool)
    assert issubclass(PythonCodeTool, BaseTool)


class Unwritten(BaseTool):
    """Is said to do something."""

    name = "unwritten"


def test_a_tool_that_does_nothing_is_its_authors_to_mend() -> None:
    with pytest.raises(UsageError, match="Unwritten says nowhere what it does"):
        gem.make(GUESS, tools=[Unwritten()]).reset(seed=1)
    with pytest.raises(UsageError, match="Define its method run"):
        Unwritten().run("anything")

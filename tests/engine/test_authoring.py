"""docs/add-an-environment.md works as it is written."""

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from gem.check.pictures import expect_drawable
from gem.registry import ENV_REGISTRY
from tests.engine.contracts.test_view import check_offers, check_they_are_understood
from tests.engine.episodes import random_episode, random_turns

PAGE = Path(__file__).parents[2] / "docs" / "add-an-environment.md"


@pytest.fixture
def coin_row() -> Iterator[types.ModuleType]:
    """The module of the tutorial, registered while the test runs."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    module = types.ModuleType("coin_row")
    sys.modules["coin_row"] = module
    exec(compile(blocks[0], str(PAGE), "exec"), module.__dict__)
    yield module
    for env_id in [env_id for env_id in ENV_REGISTRY if "CoinRow" in env_id]:
        del ENV_REGISTRY[env_id]
    del sys.modules["coin_row"]


def test_the_environment_of_the_tutorial_keeps_the_contract(coin_row: types.ModuleType) -> None:
    env = gem.make("game:CoinRow-v0")
    solved = 0
    for seed in range(20):
        episode = random_episode(env, seed)
        assert episode == random_episode(env.spawn(), seed)
        assert len(episode) == 5
        solved += episode[-1][5]["success"]
        env.reset(seed=seed)
        expect_drawable(env.view())
        check_offers(env)
        check_they_are_understood(env)
        other = env.spawn(same_state=True)
        assert list(random_turns(other)) == episode[1:]
    assert 0 < solved < 20
    assert len(gem.make("game:CoinRow-v0-hard").reset(seed=1)[1]["suffix"].split()) == 23


def test_the_documentation_has_the_headings_of_the_catalog_page() -> None:
    for spec in gem.registry.specs():
        text = sys.modules[spec.load().__module__].__doc__ or ""
        for heading in ("Rules:", "Actions:", "Rewards:", "Source:"):
            assert f"\n{heading}\n" in text, (spec.id, heading)

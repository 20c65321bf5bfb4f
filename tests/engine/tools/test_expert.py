"""The expert uses the tool that an environment offers, and does without where there is none."""

import gem
from gem.agents import make_agent
from gem.replay import verify
from gem.rollout import EpisodeRequest, rollout

SEARCH = "qa:HotpotQA-search"


def test_the_expert_searches_before_it_answers() -> None:
    for record in rollout(make_agent("expert"), [EpisodeRequest(seed, SEARCH, seed) for seed in range(20)]):
        first, last = record.turns
        assert first.info["tool_calls"][0]["tool"] == "search"
        assert "Doc 1(Title: " in first.observation
        assert record.success
        assert last.info["tool_use_counter"] == 1
        assert verify(record.identity, record.turns, first_observation=record.first_observation) is None


def test_without_the_tool_it_answers_at_once() -> None:
    [record] = rollout(make_agent("expert"), [EpisodeRequest(0, SEARCH, 0, env_kwargs={"tools": []})])
    assert (record.turn_count, record.success) == (1, True)
    assert gem.spec(SEARCH).tools == ("search",)

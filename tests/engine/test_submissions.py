"""A submission: several agents, patterns of environments, and every error at its field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gem import registry
from gem.client.schemas import NewEvaluation
from gem.errors import InvalidArgument, UnknownEnvironment
from gem.evaluation import selection, wrapping
from gem.evaluation.spec import EvaluationSpec
from gem.evaluation.submission import Submission
from gem.validation.messages import field_errors

EASY, DUEL = "game:GuessTheNumber-v0-easy", "duel:TicTacToe-v0"


def submission(**more: Any) -> Submission:
    return Submission.model_validate(
        {"agents": ["random", "expert"], "env_ids": [EASY, DUEL], "opponent": "random", **more}
    )


def problems(data: dict[str, Any], model: type[Submission] = Submission) -> dict[str, str]:
    with pytest.raises(ValidationError) as refusal:
        model.model_validate(data)
    return dict(field_errors(refusal.value, model))


def test_each_agent_has_a_specification_of_its_own_without_what_it_leaves_out() -> None:
    first, second = submission(without=[["expert", "duel:*"]], seed=7).specs
    assert (first.agent, first.env_ids, first.opponent, first.seed) == ("random", (EASY, DUEL), "random", 7)
    assert (second.agent, second.env_ids, second.opponent) == ("expert", (EASY,), None), (
        "no seat for an opponent is left"
    )
    assert all(type(spec) is EvaluationSpec for spec in (first, second))


def test_patterns_stand_for_what_they_match() -> None:
    easy = [spec.id for spec in registry.specs() if spec.category == "game" and spec.difficulty == "easy"]
    assert selection.expand(["game:*-v0-easy"]) == easy
    assert selection.expand([EASY, "game:*-v0-easy"])[0] == EASY
    assert len(selection.expand([EASY, "game:*-v0-easy"])) == len(easy)
    assert selection.expand([EASY, EASY]) == [EASY, EASY], "ids are refused by whoever reads them"
    assert selection.matching("game:Guess?heNumber-v0-easy") == [], "only the star stands for anything"
    with pytest.raises(UnknownEnvironment, match="No environment matches 'chess:\\*'"):
        selection.expand(["chess:*"])


@pytest.mark.parametrize(
    "patterns", [["rg:*"], ["game:*-v0-hard", "duel:*"], ["game:*-v0-easy", EASY, DUEL], ["*"], [EASY], []]
)
def test_a_short_list_says_the_same(patterns: list[str]) -> None:
    ids = selection.expand(patterns)
    short = selection.compact(ids)
    assert sorted(selection.expand(short)) == sorted(ids)
    assert len(short) <= max(len(patterns), 1) or patterns == ["*"]


def test_the_shortest_document_says_the_same() -> None:
    one = submission(
        agents=["random"], env_ids=["rg:*"], opponent=None, tags=["b", "a"], wrappers=[{"name": "compact"}]
    )
    assert one.plain() == {
        "agent": "random",
        "env_ids": ["rg:*"],
        "tags": ["b", "a"],
        "wrappers": [{"name": "compact"}],
    }
    for written in (one, submission(without=[["expert", DUEL]], retries=2, notes="n"), submission(priority="low")):
        assert Submission.model_validate(written.plain()).specs == written.specs
    ranked = Submission.model_validate({"agent": "random", "benchmark": "games"})
    assert ranked.plain() == {"agent": "random", "benchmark": "games"}


def test_every_wrong_field_is_named_at_once() -> None:
    found = problems(
        {
            "agents": ["random", "Bad Agent"], "env_ids": ["chess:*"], "seed": -1, "repeats": 99, "num_envs": 0,
            "tools": ["hammer"], "wrappers": [{"name": "cape"}], "retries": -1, "tags": ["a,b"], "priority": "now",
            "name": "n" * 121, "colour": "red", "backend": "gpu", "count_as_failed": ["lateness"],
        }
    )  # fmt: skip
    assert set(found) == {
        "agents", "env_ids", "seed", "repeats", "num_envs", "tools", "wrappers", "retries", "tags", "priority", "name",
        "colour", "backend", "count_as_failed.0",
    }  # fmt: skip
    assert found["env_ids"] == "No environment matches 'chess:*'."


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"agents": []}, "agents", "Choose an agent."),
        ({"agent": "random"}, "agents", "Name one agent in agent, or all agents in agents, and not both."),
        ({"agents": ["random", "random"]}, "agents", "An agent is chosen twice."),
        ({"agents": [f"a{i}" for i in range(21)]}, "agents", "Choose at most 20 agents; you chose 21."),
        ({"without": [["bob", EASY]]}, "without", "'bob' leaves something out, but it is not one of the agents."),
        ({"without": [["expert", "rg:*"]]}, "without", "expert leaves 'rg:*' out, but that is not one of"),
        ({"without": [["expert", "*"]]}, "without", "Nothing is left for expert to play. Leave the agent out."),
        ({"opponent": None}, "opponent", "duel:TicTacToe-v0 has several seats"),
        ({"tags": ["x" * 41]}, "tags", "is not a tag"),
        ({"tags": list("abcdefghijklm")}, "tags", "Give at most 12 tags; you gave 13."),
        ({"wrappers": [{"name": "scale_reward"}]}, "wrappers", "Evaluations have no wrapper 'scale_reward'."),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(change: dict[str, Any], field: str, sentence: str) -> None:
    found = problems({"agents": ["random", "expert"], "env_ids": [EASY, DUEL], "opponent": "random", **change})
    assert sentence in found[field]


@pytest.mark.parametrize(
    "field", [{"wrappers": [{"name": "compact"}]}, {"retries": 1}, {"count_as_failed": ["unanswered"]}]
)
def test_a_benchmark_is_played_as_everybody_plays_it(field: dict[str, Any]) -> None:
    found = problems({"agent": "random", "benchmark": "games", "seed": -1, **field})
    assert set(found) == {"benchmark", "seed"}
    with pytest.raises(ValidationError, match="whole benchmark"):
        Submission.model_validate({"agents": ["random", "expert"], "benchmark": "games", "without": [["expert", "*"]]})


def test_a_request_as_earlier_versions_sent_it_still_is_one_and_its_errors_have_its_places() -> None:
    spec = {"agent": "random", "env_ids": [EASY], "seed": 3}
    former = NewEvaluation.model_validate({"spec": spec, "name": "old", "visibility": "private"})
    assert (former.agents, former.seed, former.name, former.visibility) == (("random",), 3, "old", "private")
    found = problems({"spec": {**spec, "seed": -1, "agent": "Random!"}, "name": 7}, NewEvaluation)
    assert set(found) == {"spec.seed", "spec.agent", "name"}


def test_wrappers_have_one_order_and_few_settings() -> None:
    chosen = wrapping.check([{"name": "concat", "max_history_length": 3}, {"name": "normalize_action"}])
    assert [wrapper["name"] for wrapper in chosen] == ["normalize_action", "concat"]
    around = wrapping.around([{"name": "time_limit"}], chosen, [{"name": "tools"}])
    assert [wrapper["name"] for wrapper in around] == ["time_limit", "normalize_action", "tools", "concat"]
    assert [wrapping.of_word(wrapping.as_word(wrapper)) for wrapper in chosen] == list(chosen)
    for wrong, sentence in (
        ([{"name": "compact"}, {"name": "concat"}], "Choose one of compact"),
        ([{"name": "compact"}, {"name": "compact"}], "named twice"),
        ([{"name": "concat", "tokenizer": "x"}], "has no setting 'tokenizer'"),
        ([{"name": "concat", "max_history_length": True}], "a whole number from 1 to 1,000, not true"),
        ([{"name": "compact", "answer": "yes"}], 'true or false, not "yes"'),
        ([{}], "Evaluations have no wrapper ''"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=sentence):
            wrapping.check(wrong)

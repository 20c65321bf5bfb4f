"""The shop, its customers and what counts as serving them well."""

import json
import re

import pytest

import gem
from gem.agents import Request, make_agent
from gem.envs.dialogues import shop as shops
from gem.envs.dialogues.retail_tasks import EASY, HARD, TEMPLATES
from gem.errors import InvalidArgument
from gem.rollout import EpisodeRequest, rollout

EXPERT, RANDOM = make_agent("expert"), make_agent("random")
ID = "dialogue:Retail-v0"


def begun(template: str, seed: int = 0, *, hard: bool = False) -> gem.Env:
    env = gem.make(ID, template=template, hard=hard)
    env.reset(seed=seed)
    return env


def say(env: gem.Env, text: str) -> str:
    return env.step(f"\\boxed{{say {text}}}")[0].removeprefix("The customer: ")


def serve(env: gem.Env) -> bool:
    """Let the expert go on to the end; whether that is a success."""
    while not env.over:
        *_, info = env.step(EXPERT.act([Request(env, "", {}, 1)])[0].action)
    return info["success"]


def identify(env: gem.Env) -> None:
    email = env.shop["customers"][env._caller]["email"]
    env.step(f"\\boxed{{find_customer email={email}}}")


def test_there_are_at_least_twenty_templates() -> None:
    assert len(EASY) >= 10
    assert len(HARD) >= 15
    assert len(TEMPLATES) == len(EASY) + len(HARD)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_expert_serves_every_customer(template: str, hard: bool) -> None:
    slots = [EpisodeRequest(seed, ID, seed, {"template": template, "hard": hard}) for seed in range(10)]
    records = list(rollout(EXPERT, slots))
    assert all(record.success and record.total_reward == 1 for record in records)
    assert len({tuple(turn.observation for turn in record.turns) for record in records}) == len(records)


@pytest.mark.parametrize("template", TEMPLATES)
def test_doing_nothing_serves_nobody(template: str) -> None:
    env = begun(template)
    identify(env)
    observation = ""
    while not env.over:
        observation, reward, *_, info = env.step("\\boxed{say Is there anything else?}")
    assert "Goodbye" in observation
    assert (reward, info["success"]) == (0.0, False)


def test_another_change_than_the_wanted_one_is_no_success() -> None:
    env = begun("status", seed=4)
    other = env.spawn(same_state=True)
    assert serve(env)
    identify(other)
    pending = next(one for one, found in other.shop["orders"].items() if found["status"] == "pending")
    other.step(f"\\boxed{{cancel_order order={pending} reason=no longer needed}}")
    assert not serve(other)


def test_a_customer_who_was_not_identified_was_not_served_well() -> None:
    env = begun("price", seed=1)
    named = re.search(r"about the ([\w -]+)\.", say(env, "Which item is it?"))[1]
    cents = next(
        one["price"] for found in env.shop["products"].values() for one in found.values() if one["name"] == named
    )
    other = env.spawn(same_state=True)
    identify(other)
    for one, success in ((env, False), (other, True)):
        say(one, f"It costs {shops.format_money(cents)}.")
        *_, info = one.step("\\boxed{say Anything else?}")
        assert info["success"] is success


def test_facts_are_told_when_they_are_asked_for() -> None:
    env = begun("cancel")
    assert "W" not in env.messages[0][1].partition("want")[0]
    answer = say(env, "Which order is it, and what is the reason?")
    assert re.search(r"It is order W\d{4}\. I .* (more|mistake)\.", answer), answer
    assert re.search(r"e-mail address is|name is", say(env, "Who are you, please?"))
    hard = begun("cancel", hard=True)
    assert "not have the number" in say(hard, "What is the order number?")


def test_a_refusal_leads_to_what_the_customer_falls_back_on() -> None:
    env = begun("shipped_then_cancel")
    assert say(env, "Unfortunately that cannot be done.").startswith("Then I want to cancel another order")


def test_customers_lose_patience_each_after_its_own_time() -> None:
    borne = set()
    for seed in range(20):
        env = begun("cancel", seed)
        turns = 0
        while not env.over:
            answer = say(env, "Nice weather today.")
            turns += 1
        assert answer == "This leads nowhere. Goodbye."
        borne.add(turns)
    assert borne == {2, 4, 5}


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("dance", "There is no tool dance"),
        ("show_order number=3", "show_order is written so"),
        ("show_order", "show_order is written so"),
        ("show_order order=W1", "There is no order W1"),
        ("find_customer email=nobody@example.org", "No customer has"),
        ("show_product product=anvil", "There is no product anvil; there is desk lamp"),
        ("escalate reason=boredom", "The reason is one of"),
        ("say", "You say nothing"),
    ],
)
def test_what_a_tool_cannot_do_is_answered_in_words(action: str, said: str) -> None:
    env = begun("cancel")
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{action}}}")
    assert said in observation
    assert (reward, terminated, truncated, info["error"]) == (0.0, False, False, "rule")


def test_texts_of_tools_may_be_quoted_and_hold_spaces() -> None:
    env = begun("move")
    before = json.dumps(env.shop["orders"])
    for written in ('address="7 Elm Row, Morgate" customer=C101', "customer=C101 address=7 Elm Row, Morgate"):
        env.step(f"\\boxed{{change_profile {written}}}")
        assert env.shop["customers"]["C101"]["address"] == "7 Elm Row, Morgate"
        env.shop["customers"]["C101"]["address"] = ""
    assert json.dumps(env.shop["orders"]) == before


def test_the_tools_keep_to_what_is_possible() -> None:
    shop, caller = shops.draw_shop(__import__("random").Random(3))
    by_status: dict[str, str] = {}
    for number in shop["customers"][caller]["orders"]:
        by_status.setdefault(shop["orders"][number]["status"], number)
    pending, shipped, delivered = (by_status[status] for status in ("pending", "shipped", "delivered"))
    item = shop["orders"][delivered]["items"][0]["item"]
    for refused in (
        lambda: shops.cancel_order(shop, shipped, "no longer needed"),
        lambda: shops.cancel_order(shop, pending, "bored"),
        lambda: shops.change_address(shop, delivered, "1 Elm Row"),
        lambda: shops.return_item(shop, pending, item, "gift card"),
        lambda: shops.return_item(shop, delivered, item, "cash"),
        lambda: shops.exchange_item(shop, delivered, item, "no-such-1"),
    ):
        before = json.dumps(shop)
        with pytest.raises(shops.ToolRefusal):
            refused()
        assert json.dumps(shop) == before
    shops.return_item(shop, delivered, item, "gift card")
    with pytest.raises(shops.ToolRefusal, match="return requested already"):
        shops.return_item(shop, delivered, item, "gift card")


def test_the_expert_does_not_know_what_nobody_told_it() -> None:
    env = begun("swap_and_redirect", seed=2)
    compared = 0
    while not env.over:
        other = env.spawn()
        state = env.get_state()
        other.set_state({**state, "wanted": {}, "left": [], "untold": ["x"], "caller": "C101", "patience": 1})
        decision = EXPERT.act([Request(env, "", {}, 1)])
        assert EXPERT.act([Request(other, "", {}, 1)]) == decision
        env.step(decision[0].action)
        compared += 1
    assert compared > 5


def test_random_assistants_fail() -> None:
    for env_id in (f"{ID}-easy", f"{ID}-hard"):
        records = list(rollout(RANDOM, [EpisodeRequest(seed, env_id, seed) for seed in range(50)]))
        assert sum(bool(record.success) for record in records) <= 2


def test_an_unknown_template_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no template 'steal'"):
        gem.make(ID, template="steal")

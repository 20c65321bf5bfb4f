"""What people type, as actions."""

import gem
from gem.views.typed import as_action


def test_words_are_said_and_searched_for_and_run() -> None:
    for env_id, text, action in (
        ("dialogue:Retail-v0", "Hello", "\\boxed{say Hello}"),
        ("shop:WebShop-v0", "red mug ", "\\boxed{search[red mug]}"),
        ("shop:WebShop-v0", "search[red mug]", "search[red mug]"),
        ("game:GuessTheNumber-v0", "7", "7"),
        ("shop:WebShop-v0", "[", "["),
    ):
        env = gem.make(env_id)
        env.reset(seed=1)
        assert as_action(env, text) == action


def test_nothing_is_searched_for_where_there_is_no_field() -> None:
    env = gem.make("shop:WebShop-v0")
    env.reset(seed=1)
    env.step("search[mug]")
    assert as_action(env, "red mug") == "red mug"

"""What people type, as actions."""

import pytest

import gem
from gem.views.typed import as_action, without_outer_block


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


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("```python\n```python\nprint(1)\n```\n```", "```python\nprint(1)\n```"),
        ("```python\n\n```\nprint(1)\n```\n```", "```\nprint(1)\n```"),
        ("```python\nHere it is:\n```python\nprint(1)\n```\n```", "Here it is:\n```python\nprint(1)\n```"),
        ("```python\nprint(1)\n```\nor\n```python\nprint(2)\n```", None),
        ("```python\nprint(1)\n```", None),
        ("no block", None),
    ],
)
def test_a_block_within_a_block_loses_the_outer_one(typed: str, sent: str | None) -> None:
    assert without_outer_block(typed) == (typed if sent is None else sent)


def test_a_program_that_was_pasted_with_its_fences_is_run() -> None:
    env = gem.make("code:Taco8k", dataset="sample:code")
    env.reset(seed=7)
    assert as_action(env, "```python\n```python\nprint(1)\n```\n```") == "```python\nprint(1)\n```"

"""Tests that commit empty the database behind them, and the next test finds it as it was."""

import pytest


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", ["before it was emptied", "after it was emptied"])
def test_the_built_in_agents_are_there(turn: str) -> None:
    from apps.accounts.models import User
    from apps.agents.models import Agent

    assert set(Agent.objects.values_list("slug", flat=True)) == {"random", "expert", "human"}
    assert not User.objects.exists()
    User.objects.create_user("ada")

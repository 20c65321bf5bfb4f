"""Tests that commit empty the database behind them, and the next test finds it as it was."""

import pytest

from tests.emptying import FEW_ROWS


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("people", [1, FEW_ROWS + 1, "and a decision"])
def test_the_next_one_finds_what_the_migrations_wrote(people: int | str) -> None:
    from django.contrib.auth.models import Permission
    from django.contrib.contenttypes.models import ContentType

    from apps.accounts.models import User
    from apps.agents.models import Agent
    from apps.moderation.models import Decision

    assert set(Agent.objects.values_list("slug", "visibility")) == {
        (slug, "public") for slug in ("random", "expert", "human")
    }
    assert not User.objects.exists()
    assert not Decision.objects.exists()
    assert Permission.objects.filter(content_type=ContentType.objects.get_for_model(User)).count() == 4
    count = people if isinstance(people, int) else 2
    ann, *_ = User.objects.bulk_create(User(username=f"person {number}") for number in range(count))
    Agent.objects.filter(slug="human").update(visibility="private", owner=ann)
    Agent.objects.filter(slug="random").delete()
    Agent.objects.create(slug="more", name="more", kind="random", colour=1, owner=ann)
    if people == "and a decision":
        Decision.objects.create(verb=Decision.Verb.HIDE, kind="episode", key="abc", by="ann")

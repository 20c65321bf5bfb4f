"""Whatever is played through the web comes out the same when it is re-executed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

import gem
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from gem import registry
from gem.seats import rewards
from gem.validation.values import MAX_SEED
from tests.apps.play.people import Person
from tests.engine.ids import played

SPECS = [registry.spec(env_id) for env_id in played()]
IDS = [spec.id for spec in SPECS if spec.cost == "fast" and spec.replay == "exact"]

typed = st.text(max_size=40) | st.sampled_from(["\\boxed{1}", "\\boxed{reveal 9 9}", "\\boxed{up}", "\\boxed{\x00}"])


def seated(env_id: str, seed: int) -> tuple[list[Person], Episode]:
    """An episode with a person in each seat."""
    people = [Person() for _ in range(gem.spec(env_id).seats)]
    if len(people) == 1:
        return people, people[0].begin(env_id, seed)
    episode = people[0].begin(env_id, opponent="person", seat="0")
    people[1].sit_down(people[0].link(episode))
    return people, episode


class AnyEpisode(TestCase):
    """Hypothesis needs a transaction for each example."""

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(env_id=st.sampled_from(IDS), seed=st.integers(0, MAX_SEED), plan=st.lists(st.none() | typed, max_size=12))
    def test_it_replays(self, env_id: str, seed: int, plan: list[str | None]) -> None:
        people, episode = seated(env_id, seed)
        for text in plan:
            episode.refresh_from_db()
            if episode.over:
                break
            action = restore(episode).sample_random_action() if text is None else text
            answer = people[episode.acting].send(episode, action, as_written="1")
            assert answer.status_code in {200, 422}, answer.content
        episode.refresh_from_db()
        turns = list(episode.turns.order_by("number"))
        assert [turn.number for turn in turns] == list(range(1, episode.turn_count + 1))
        for seat in episode.seats.all():
            total = sum(rewards(turn.reward, turn.info)[seat.number] for turn in turns)
            assert seat.total_reward == pytest.approx(total)
        assert operations.verify(episode) is None
        if not episode.over:
            self.assert_the_cache_is_the_replay(episode)

    def assert_the_cache_is_the_replay(self, episode: Episode) -> None:
        """The cached state and a re-execution go on alike."""
        cached = restore(episode)
        episode.state = None
        replayed = restore(episode)
        assert cached.get_state() == replayed.get_state()
        action = cached.sample_random_action()
        assert cached.step(action) == replayed.step(action)
        assert gem.spec(episode.env_id).version == episode.env_version

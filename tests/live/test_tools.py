"""Tools in the browser: the turn is accepted by the web process, and a host lets the tool answer."""

from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.models import Episode
from tests.apps.play.people import Person
from tests.html import tight
from tests.live.processes import Fleet, wait_for
from tests.packages import skip_without

skip_without("bm25s")

SEARCH = "qa:HotpotQA-search"


def played(episode: Episode, turns: int) -> None:
    wait_for(lambda: episode.turns.count() == turns, f"{turns} turns")


def test_a_person_uses_a_tool_and_then_answers(fleet: Fleet, agents: dict[str, Agent]) -> None:
    person = Person()
    episode = person.begin(SEARCH, 3)
    assert "&lt;search&gt;" in person.page(episode)
    fleet.host()
    assert person.send(episode, "<search>Carl Linnaeus</search>").status_code == 202
    played(episode, 1)
    page = person.page(episode)
    assert '<p class="query">' in page
    assert '<div class="results"' in page
    assert person.send(episode, "<answer>nobody knows</answer>").status_code == 202
    played(episode, 2)
    episode.refresh_from_db()
    assert episode.status == Episode.Status.ENDED
    assert operations.verify(episode) is None
    assert "</svg>search</code>" in tight(person.page(episode))  # the replay's history


def test_tools_that_were_added_answer_people_and_agents_alike(fleet: Fleet, agents: dict[str, Agent]) -> None:
    person = Person()
    tools = {"tool": ["search:wikigame"], "max_tool_uses": "2"}
    own = person.begin("game:GuessTheNumber-v0-easy", 3, **tools)
    asked = {"env_id": "game:GuessTheNumber-v0-easy", "seed": "3", "agent": "expert", "pace": "0.25", **tools}
    answer = person.client.post("/play/watch/new/", asked)
    watched = Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])
    fleet.host()
    assert person.send(own, "<search>tea</search>").status_code == 202
    played(own, 1)
    assert '<p class="query">' in person.page(own)
    assert own.turns.get().info["tool_calls"][0]["details"]["index"]
    wait_for(lambda: Episode.objects.get(pk=watched.pk).over, "the show to end")
    watched.refresh_from_db()
    assert watched.success
    assert watched.wrappers == own.wrappers
    assert operations.verify(watched) is None

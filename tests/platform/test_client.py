"""The client and its commands against a real stack: what it does there is what the engine does here."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import gem
from gem import benchmarks
from gem.agents import Request, make_agent
from gem.cli import main
from gem.client import AsyncClient, Client, Retries
from gem.client.errors import Conflict, Forbidden, NotAuthenticated, NotFound, Unacceptable
from gem.client.remote_env import RemoteEnv
from gem.core import Env
from gem.errors import EpisodeOver, InvalidArgument, MissingMethod, UsageError
from tests.model_server import model_server
from tests.platform.api_access import make_token
from tests.services import Stack

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def client(stack: Stack, token: str) -> Iterator[Client]:
    """A client with this token."""
    with Client(stack.url, token, retries=Retries(tries=3)) as client:
        yield client


@pytest.fixture
def run(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `gemweb` in an empty folder without credentials."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GEMWEB_URL", "GEMWEB_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run_here(*words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return (code, *capsys.readouterr())

    return run_here


# ------------------------------------------------------------------ episodes as environments


def _play(env: Env, seed: int, actions: list[str]) -> list[Any]:
    steps: list[Any] = [env.reset(seed=seed)]
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


@pytest.mark.parametrize(
    ("env_id", "arguments", "actions"),
    [
        ("game:GuessTheNumber-v0", {}, ["\\boxed{25}", "\\boxed{99}", "\\boxed{10}", "nothing"]),
        ("game:Sokoban-v0-easy", {}, ["\\boxed{up}", "\\boxed{left}", ""]),
        ("duel:KuhnPoker-v0", {"opponent": "random", "seat": 0}, ["\\boxed{check}", "\\boxed{fold}", "\\boxed{fold}"]),
        ("duel:KuhnPoker-v0", {"opponent": "expert", "seat": 1}, ["\\boxed{check}", "\\boxed{call}", "\\boxed{fold}"]),
    ],
)
def test_an_episode_on_the_server_is_that_of_the_engine(
    client: Client, env_id: str, arguments: dict[str, Any], actions: list[str]
) -> None:
    env, here = client.make(env_id, **arguments), gem.make(env_id, **arguments)
    assert _play(env, 7, actions) == _play(here, 7, actions)
    assert (env.seed, env.max_turns, env.seats) == (here.seed, here.max_turns, here.seats)
    env.close()


def test_an_agent_plays_there_unchanged_and_its_record_holds(client: Client) -> None:
    agent, env = make_agent("random"), client.make("game:GuessTheNumber-v0-easy")
    observation, info = env.reset(seed=3)
    terminated = truncated = False
    turn = 0
    while not (terminated or truncated):
        turn += 1
        decision = agent.act([Request(env, observation, info, turn)])[0]  # type: ignore[union-attr]
        observation, _, terminated, truncated, info = env.step(decision.action)
    with pytest.raises(EpisodeOver):
        env.step("\\boxed{1}")
    assert env.episode is not None
    assert client.episodes.verify(env.episode.id).holds
    assert [turn.turn for turn in client.episodes.turns(env.episode.id)] == list(range(1, turn + 1))


def test_an_episode_that_is_left_is_abandoned(client: Client) -> None:
    env = client.make("game:Sokoban-v0-easy", visibility="private")
    env.reset(seed=1)
    assert env.episode is not None
    first = env.episode.id
    env.reset(seed=2)
    env.close()
    assert client.episodes.get(first).outcome == "abandoned"
    assert env.episode is None


def test_what_is_no_environment_there_is_refused_in_words(client: Client) -> None:
    with pytest.raises(InvalidArgument, match="takes opponent, seat"):
        client.make("game:Sokoban-v0-easy", max_turns=3)
    with pytest.raises(Unacceptable, match="Did you mean game:Sokoban-v0"):
        client.make("game:Sokobann-v0").reset()
    for no_seed in (-1, "7", True, 7.0, 2**63):
        with pytest.raises(InvalidArgument, match="A seed is an integer from 0"):  # as in the engine
            client.make("game:Sokoban-v0").reset(seed=no_seed)  # type: ignore[arg-type]
    duel = client.make("duel:KuhnPoker-v0", opponent="random")
    duel.reset()
    with pytest.raises(MissingMethod, match="drawn by a copy"):
        duel.sample_random_action()
    with pytest.raises(MissingMethod, match="fork"):
        duel.get_state()
    assert isinstance(duel.spawn(seat=1), RemoteEnv)
    duel.close()


# ------------------------------------------------------------------ resources


def test_a_turn_is_played_once_however_often_it_is_sent(client: Client) -> None:
    begun = client.episodes.begin("game:GuessTheNumber-v0", seed=7)
    result = client.episodes.take_turn(begun.id, "\\boxed{25}", expected_seq=begun.seq)
    assert [turn.action for turn in result.turns] == ["\\boxed{25}"]
    with pytest.raises(Conflict, match="been played"):
        client.episodes.take_turn(begun.id, "\\boxed{26}", expected_seq=begun.seq)
    assert client.episodes.hint(begun.id).action
    assert client.episodes.undo(begun.id).turn_count == 0
    fork = client.episodes.fork(begun.id, 1)
    assert (fork.turn_count, fork.parent) == (1, begun.id)
    assert client.episodes.set_visibility(fork.id, "private").visibility == "private"
    with Client(client.url, "") as guest, pytest.raises(NotFound):
        guest.episodes.get(fork.id)
    assert client.episodes.abandon(fork.id).outcome == "abandoned"


def test_an_agent_is_made_changed_and_deleted(client: Client) -> None:
    made = client.agents.create("of the client", {"url": "http://127.0.0.1:9/v1", "model": "m"}, key="sk-1")
    assert (made.mine, made.has_key, made.kind) == (True, True, "endpoint")
    assert client.agents.change(made.slug, key="").has_key is False
    assert made.slug in [agent.slug for agent in client.agents.list(kind="endpoint", mine=True)]
    client.agents.delete(made.slug)
    with pytest.raises(NotFound):
        client.agents.get(made.slug)


def test_an_upload_arrives_piece_by_piece(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "weights.zip"
    path.write_bytes(b"no archive" * 30_000)
    seen: list[tuple[int, int | None]] = []
    upload = client.uploads.send(path, name="of the client", progress=lambda done, total: seen.append((done, total)))
    assert (upload.name, upload.state) == ("of the client", "waiting")
    assert client.uploads.get(upload.slug).slug in [each.slug for each in client.uploads.list()]
    assert seen[-1] == (300_000, 300_000)
    assert len(seen) > 3
    with pytest.raises(UsageError, match="cannot be read"):
        client.uploads.send(tmp_path / "nowhere.zip")


def test_a_show_is_followed_to_its_end(client: Client) -> None:
    show = client.episodes.show("game:GuessTheNumber-v0-easy", "expert", seed=5, pace=0.1)
    names = [event.event for event in client.episodes.events(show.id)]
    assert (names[0], names[-1]) == ("episode.started", "episode.ended")
    assert client.episodes.get(show.id).success


def test_the_rest_of_the_resources(client: Client) -> None:
    assert client.environments.get("game:Sokoban-v0-easy").family
    assert len(list(client.environments.variants("game:Sokoban-v0"))) > 2
    assert [benchmark.name for benchmark in client.benchmarks.list()] == benchmarks.names()
    assert client.benchmarks.get("games").entries
    assert client.leaderboards.get("games").benchmark == "games"
    assert client.account.quotas().items
    assert [token.name for token in client.account.tokens().items]
    training = client.trainings.submit("guess-easy", {"updates": 1}, name="of the client")
    assert client.trainings.get(training.id).updates == 1
    assert list(client.trainings.checkpoints(training.id)) == []
    assert client.trainings.cancel(training.id).state == "cancelled"
    names = [event.event for event in client.trainings.events(training.id)]
    assert (names[0], names[-1]) == ("training.queued", "training.ended")


def test_what_people_do_on_pages_is_done_here_too(client: Client, tmp_path: Path) -> None:
    account = client.account.get()
    assert client.account.set_visibility(agent_visibility="unlisted").agent_visibility == "unlisted"
    assert client.account.set_visibility(account.default_visibility).default_visibility == account.default_visibility
    begun = client.episodes.begin("duel:TicTacToe-v0", opponent="person", seat=1)
    with pytest.raises(Conflict, match="already have the other seat"):
        client.episodes.join(begun.invitations[0])
    with pytest.raises(InvalidArgument, match="no link to a seat"):
        client.episodes.join(begun.url)
    client.account.report("episode", begun.id, "It shows a secret.")
    ranked = client.leaderboards.play("games")
    assert ranked.env_id in {entry.env_id for entry in client.benchmarks.get("games").entries}
    trial = client.agents.try_endpoint({"url": "http://127.0.0.1:1/v1", "model": "m"})
    assert (trial.status, bool(trial.sentence)) == (0, True)
    archive = tmp_path / "mine.zip"
    archive.write_bytes(b"".join(client.account.export()))
    with ZipFile(archive) as mine:
        assert mine.testzip() is None


async def test_the_other_client_plays_and_follows_too(stack: Stack, token: str) -> None:
    async with AsyncClient(stack.url, token) as client:
        begun = await client.episodes.begin("game:GuessTheNumber-v0", seed=7)
        result = await client.episodes.take_turn(begun.id, "\\boxed{25}", expected_seq=begun.seq)
        await client.episodes.abandon(begun.id)
        events = [event.event async for event in client.episodes.events(begun.id)]
        turns = [turn.turn async for turn in client.episodes.turns(begun.id)]
    assert result.episode.turn_count == 1
    assert events == ["episode.started", "episode.turn", "episode.ended"]
    assert turns == [1]


def test_without_a_token_one_reads_and_no_more(stack: Stack) -> None:
    with Client(stack.url, "") as guest:
        assert next(guest.environments.list())
        with pytest.raises(NotAuthenticated, match="needs an account"):
            guest.episodes.begin("game:Sokoban-v0")
    with Client(stack.url, "gw_nobody") as unknown, pytest.raises(NotAuthenticated, match="does not exist"):
        unknown.account.get()


# ------------------------------------------------------------------ commands


def test_login_keeps_the_token_where_only_its_owner_reads_it(
    stack: Stack, token: str, run: Run, tmp_path: Path
) -> None:
    code, out, _ = run("login", stack.url, "--token", token)
    path = tmp_path / "config" / "gemweb" / "credentials.json"
    assert (code, stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0, 0o600, 0o700)
    assert "as ann" in out
    assert token not in out
    assert json.loads(run("whoami", "--json")[1])["name"] == "ann"
    assert "scopes read, play, submit, answer, manage" in run("whoami")[1]
    assert run("logout")[0] == 0
    assert token not in path.read_text()
    assert "gemweb login saves a token" in run("whoami", "--url", stack.url)[2]
    code, _, err = run("logout")
    assert (code, "not logged in" in err) == (2, True)


def test_a_wrong_token_is_not_kept(stack: Stack, run: Run, tmp_path: Path) -> None:
    code, _, err = run("login", stack.url, "--token", "gw_wrong")
    assert code == 2
    assert "does not exist" in err
    assert not (tmp_path / "config").exists()


def test_a_token_may_do_what_its_scopes_say_until_it_is_revoked(stack: Stack, run: Run) -> None:
    reader = make_token(stack, "ann", "--scope", "read", "--days", "1")
    with Client(stack.url, reader) as client:
        assert client.account.get().name == "ann"
        with pytest.raises(Forbidden, match="has no scope play"):
            client.episodes.begin("game:Sokoban-v0")
        run("login", stack.url, "--token", reader)
        assert "revoked" in run("logout", "--revoke")[1]
        with pytest.raises(NotAuthenticated):
            client.account.get()


@pytest.fixture
def logged_in(stack: Stack, token: str, run: Run) -> Run:
    """Runs `gemweb` with the token."""
    assert run("login", stack.url, "--token", token)[0] == 0
    return run


def test_a_job_is_submitted_followed_fetched_and_replayed(logged_in: Run, tmp_path: Path) -> None:
    wanted = ("--agent", "expert", "--env", "game:Wordle-v0-easy", "--episodes", "3")
    code, out, err = logged_in("submit", *wanted, "--name", "of a test", "--key", "once", "--json")
    assert code == 0, err
    job = json.loads(out)["id"]
    assert json.loads(logged_in("submit", *wanted, "--name", "of a test", "--key", "once", "--json")[1])["id"] == job
    code, out, _ = logged_in("logs", "-f", job)
    assert (code, "all episodes are done" in out) == (0, True)
    assert [json.loads(line)["text"] for line in logged_in("logs", job, "--json")[1].splitlines()][-1] in out
    assert "3 of 3" in logged_in("jobs", job)[1]
    assert job in logged_in("jobs")[1]
    assert job in [entry["id"] for entry in json.loads(logged_in("jobs", "--state", "done", "--json")[1])]
    code, out, err = logged_in("pull", job)
    assert (code, "3 lines" in out) == (0, True), err
    assert "3 of 3 episodes identical" in logged_in("replay", f"job-{job}.jsonl")[1]
    code, out, err = logged_in("compare", job, f"job-{job}.jsonl")
    assert (code, "0 / 3 / 0" in out) == (0, True), err
    assert "Caution" not in out, "an evaluation and its own episodes were played alike"
    assert logged_in("eval", *wanted, "--max-turns", "9", "--out", "fewer.jsonl")[0] == 0
    out = logged_in("compare", job, "fewer.jsonl")[1]
    assert {line.split(":")[1].strip() for line in out.splitlines() if line.startswith("Caution")} == {
        "The environments were wrapped differently",
        "The turn limits differ",
    }
    Path("fewer.jsonl").unlink()
    episode = json.loads((tmp_path / f"job-{job}.jsonl").read_text().splitlines()[0])["id"]
    assert logged_in("pull", episode, "--out", "one.jsonl")[0] == 0
    assert "1 of 1 episode identical" in logged_in("replay", "one.jsonl")[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config", f"job-{job}.jsonl", "one.jsonl"]


def test_jobs_are_compared_by_their_ids_and_stop_when_that_is_decided(logged_in: Run, client: Client) -> None:
    wanted = ("--env", "game:GuessTheNumber-v0-easy", "--episodes", "100")
    code, out, err = logged_in("submit", "--agent", "random", "--agent", "expert", *wanted, "--show", "0.03")
    assert (code, "A difference of 3.0 points takes" in out) == (0, True), err
    random = json.loads(logged_in("submit", "--agent", "random", *wanted, "--json")[1])["id"]
    assert logged_in("logs", "-f", random)[0] == 0
    with model_server() as server:  # an endpoint's episodes are recorded one by one, and looked at each time
        bisect = client.agents.create("bisect", {"url": server.url, "model": "bisect"}).slug
        asked = ("submit", "--agent", bisect, *wanted, "--stop-against", random, "--json")
        job = json.loads(logged_in(*asked)[1])["id"]
        code, out, _ = logged_in("logs", "-f", job)
    assert (code, "stopped. Decided after" in out) == (0, True), "to stop so is to succeed"
    decision = client.jobs.get(job).decision
    assert decision is not None
    assert (decision.against, decision.planned, decision.is_decided) == (random, 100, True)

    code, out, err = logged_in("compare", random, job)
    assert code == 0, err
    assert f"Caution: {bisect} stopped as soon as a comparison was decided" in out
    assert f"What is valid: {decision.sentence}" in out
    assert "Only" in out
    data = json.loads(logged_in("compare", random, job, "--json", "--measure", "return")[1])
    here = {(seed["env_id"], seed["seed"]): (seed["first"], seed["second"]) for seed in data["pairs"][0]["seeds"]}
    there = [{row.seed: row.reached for row in client.jobs.episodes(key)} for key in (random, job)]
    assert here == {
        ("game:GuessTheNumber-v0-easy", seed): (there[0][seed], reached) for seed, reached in there[1].items()
    }
    assert "an evaluation that you may see" in logged_in("compare", random, "000000000000")[2]


def test_a_cancelled_job_that_was_followed_is_no_success(logged_in: Run) -> None:
    wanted = ("--agent", "random", "--env", "game:Sokoban-v0-hard", "--episodes", "5000")
    job = json.loads(logged_in("submit", *wanted, "--json")[1])["id"]
    assert "from the next episode" in logged_in("jobs", "pace", job, "2", "1")[1]
    assert "2 episodes at a time, at most 1 worker" in logged_in("logs", job)[1]
    assert "is paused" in logged_in("jobs", "pause", job)[1]
    assert "continues" in logged_in("jobs", "resume", job)[1]
    assert "cancelled" in logged_in("jobs", "cancel", job)[1]
    assert logged_in("logs", "-f", job)[0] == 1


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["submit", "--agent", "expert", "--env", "game:Sokobann-v0"], 2, "Did you mean game:Sokoban-v0"),
        (["submit"], 2, "Name what to submit"),
        (["submit", "nowhere.json"], 2, "nowhere.json cannot be read"),
        (["submit", "--recipe", "guess-easy", "--agent", "expert"], 2, "This is a training"),
        (["jobs", "cancel"], 2, "gemweb jobs cancel JOB"),
        (["jobs", "pace", "000000000000"], 2, "gemweb jobs pace JOB EPISODES [WORKERS]"),
        (["jobs", "requeue", "000000000000", "x"], 2, "'x' is not a whole number"),
        (["jobs", "cancel-episode", "000000000000", "1", "maybe"], 2, "Say count"),
        (["jobs", "skip", "000000000000", "game:Sokoban-v0"], 2, "There is no job 000000000000"),
        (["jobs", "stop", "000000000000"], 2, "with one of cancel, pause"),
        (["jobs", "000000000000"], 2, "There is no job 000000000000"),
        (["logs", "000000000000"], 2, "There is no job 000000000000"),
        (["pull", "000000000000"], 2, "that you may see"),
        (["leaderboard", "nothing"], 2, "nothing"),
        (["jobs", "--all", "--url", "http://127.0.0.1:9"], 3, "No connection to http://127.0.0.1:9"),
        (["whoami", "--url", "ftp://example.org"], 2, "is not an address"),
        (["login", "http://me:secret@example.org"], 2, "Give the address of the server alone"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(logged_in: Run, words: list[str], code: int, sentence: str) -> None:
    found, out, err = logged_in(*words)
    assert (found, out) == (code, "")
    assert sentence in err
    assert len(err.splitlines()) == 1

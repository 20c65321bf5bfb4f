"""Books that are never below those of the server, and budgets that no request exceeds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem.agents.endpoint import EndpointAgent, EndpointSpec
from gem.agents.endpoint import agent as agent_module
from gem.agents.endpoint.amounts import Amount, amount_of, bound_of
from gem.agents.endpoint.completion import Usage
from gem.agents.endpoint.ledger import Account, Entry, Ledger, Limits, MemoryStore, StoreHangs, Verdict, judge
from gem.agents.endpoint.spec import Prices
from gem.errors import AgentStopped, BudgetUsedUp, EpisodeLimitReached
from gem.rollout import EpisodeRequest, rollout
from tests.model_server import ModelServer

HARD = "game:GuessTheNumber-v0-hard"
AgentOf = Callable[..., EndpointAgent]


def play(agent: EndpointAgent, store: MemoryStore, *, episodes: int, num_envs: int) -> tuple[list[Any], Ledger]:
    """Play with the agent until the budget is used up; the records and the ledger, which is closed."""
    with Ledger(store) as ledger:
        agent.ledger = ledger

        def requests() -> Any:
            for number in range(episodes):
                yield EpisodeRequest(number, HARD, seed=number)
                if ledger.refusal:
                    return

        return list(rollout(agent, requests(), num_envs=num_envs)), ledger


def test_the_budget_of_the_issue_is_kept_to_the_token(agent_of: AgentOf, server: ModelServer) -> None:
    """Budget 15,000, 32 episodes at a time: the server has served what the books say, and not more than that."""
    store = MemoryStore(Limits(tokens=15_000))
    records, ledger = play(agent_of("bisect", max_tokens=200, concurrency=32), store, episodes=500, num_envs=32)
    served = server.tokens_in + server.tokens_out
    assert store.total.booked.tokens == served <= 15_000
    assert (store.total.requests, store.total.estimated) == (len(server.requests), Amount())
    assert "The budget of 15,000 tokens is used up." in ledger.refusal
    assert not store.reserved
    finished = [record for record in records if record.failed_by != "budget"]
    assert 0 < len(finished) < 500
    assert all(record.success for record in finished), "an episode that is cut off is no result"
    assert served > 13_000, "what may be used is used"


@pytest.mark.parametrize(("model", "more", "requests", "is_estimated"), [
    ("500", {"tries": 2, "on_failure": "forfeit"}, 2, True),
    ("400", {"tries": 2, "on_failure": "forfeit"}, 1, False),
    ("503", {"tries": 2, "on_failure": "forfeit"}, 2, False),
    ("reset", {"tries": 1, "on_failure": "forfeit"}, 1, True),
    ("broken-off", {"tries": 1, "on_failure": "forfeit"}, 1, True),
    ("hang", {"tries": 1, "on_failure": "forfeit"}, 1, True),
    ("uncounted", {}, 1, True),
])  # fmt: skip
def test_what_was_sent_is_booked_whatever_becomes_of_it(
    agent_of: AgentOf, model: str, more: dict[str, Any], requests: int, is_estimated: bool
) -> None:
    store = MemoryStore()
    agent = agent_of(model, max_tokens=70, timeout=1, **more)
    with Ledger(store) as ledger:
        agent.ledger = ledger
        record = next(
            rollout(agent, [EpisodeRequest(7, HARD, seed=1, wrappers=[{"name": "time_limit", "max_turns": 1}])])
        )
    books = store.accounts[Account(7)]
    assert (books.requests, not store.reserved) == (requests, True)
    assert books.booked == books.estimated
    assert (books.booked.tokens_out, books.booked.tokens_in > 0) == (
        (70 * requests, True) if is_estimated else (0, False)
    )
    assert record.turns[0].extra.get("tokens_estimated", 0) == books.estimated.tokens


def test_nothing_is_booked_where_nothing_was_sent(agent_of: AgentOf) -> None:
    store = MemoryStore()
    spec = EndpointSpec(url="http://127.0.0.1:1/v1", model="m", tries=1, on_failure="forfeit", patience=1)
    with Ledger(store) as ledger:
        list(rollout(EndpointAgent(spec, ledger=ledger), [EpisodeRequest(0, HARD, seed=1)]))
    assert (store.total.requests, store.total.booked, store.reserved) == (0, Amount(), {})


def test_cancelled_requests_are_booked_as_estimated(agent_of: AgentOf, server: ModelServer) -> None:
    store = MemoryStore()
    server.delay = 5.0

    async def cancel() -> None:
        agent = agent_of("bisect", max_tokens=10)
        with Ledger(store) as ledger:
            agent.ledger = ledger
            task = asyncio.create_task(agent.decide(_request()))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(ledger.flush)
            await agent.close()

    asyncio.run(cancel())
    assert store.total.requests == 1
    assert store.total.booked == store.total.estimated
    assert store.total.booked.tokens_out == 10
    assert not store.reserved


def _request() -> Any:
    import gem
    from gem.agents.agent import Request

    env = gem.make(HARD)
    observation, info = env.reset(seed=1)
    return Request(env, observation, info, 1, episode=0)


def test_whoever_waits_for_room_goes_on_when_there_is_some_and_leaves_nothing_if_cancelled() -> None:
    store = MemoryStore(Limits(tokens=100))

    async def ask() -> None:
        with Ledger(store) as ledger:
            first = await ledger.reserve(Account(0), Usage(50, 30))
            second = asyncio.create_task(ledger.reserve(Account(1), Usage(10, 30)))
            third = asyncio.create_task(ledger.reserve(Account(2), Usage(1, 1)))
            await asyncio.sleep(0.05)
            assert not second.done(), "80 and 40 are more than 100"
            assert not third.done(), "nobody overtakes"
            third.cancel()
            first.settle(Usage(20, 10))
            (await second).settle(Usage(10, 20))
            with pytest.raises(BudgetUsedUp, match="60 are booked, and the next request may need 41"):
                await ledger.reserve(Account(3), Usage(40, 1))
            with pytest.raises(BudgetUsedUp):
                await ledger.reserve(Account(3), Usage(1, 1))

    asyncio.run(ask())
    assert store.total.booked == Amount(30, 30)
    assert (store.total.requests, store.reserved) == (2, {})


def test_the_limit_of_an_episode_counts_all_its_agents() -> None:
    async def ask() -> None:
        with Ledger(MemoryStore(), Limits(tokens=100)) as ledger:
            (await ledger.reserve(Account(0, "agent"), Usage(20, 20))).settle(Usage(20, 20))
            (await ledger.reserve(Account(0, "opponent"), Usage(20, 20))).lose()
            with pytest.raises(EpisodeLimitReached, match="80 are booked, and the next request may need 21"):
                await ledger.reserve(Account(0, "agent"), Usage(20, 1))
            (await ledger.reserve(Account(1, "agent"), Usage(50, 50))).release()

    asyncio.run(ask())


def test_the_money_of_an_episode_is_limited_too() -> None:
    prices = Prices(tokens_in=0.1, tokens_out=0.3)

    async def ask() -> None:
        with Ledger(MemoryStore(), Limits(money=Decimal("0.0000012"))) as ledger:
            for _ in range(2):
                (await ledger.reserve(Account(0), Usage(3, 1), prices)).settle(Usage(3, 1))
            with pytest.raises(EpisodeLimitReached, match="The money limit of the episode is reached") as reached:
                await ledger.reserve(Account(0), Usage(1, 0), prices)
            assert reached.value.limit == "money"
            (await ledger.reserve(Account(1), Usage(6, 2), prices)).release()

    asyncio.run(ask())


def test_a_budget_of_money_is_exact() -> None:
    prices = Prices(tokens_in=0.1, tokens_out=0.3)
    assert amount_of(Usage(3, 1), prices).money == Decimal("0.0000006")
    limits = Limits(money=Decimal("0.0000012"))
    bounds = [amount_of(Usage(3, 1), prices)] * 3
    assert judge(limits, Amount(), Amount(), bounds) == Verdict(2)
    assert judge(limits, bounds[0], Amount(), bounds[:2]).granted == 1
    assert judge(limits, bounds[0].plus(bounds[1]), Amount(), bounds[:1]).refusal.startswith("The money budget")


def test_a_store_that_fails_fails_those_that_ask_and_keeps_what_is_to_be_booked() -> None:
    class Failing(MemoryStore):
        fails = False

        def write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict:
            if self.fails:
                raise OSError("away")
            return super().write(closed, asked)

    store = Failing()

    async def ask() -> None:
        with Ledger(store) as ledger:
            one = await ledger.reserve(Account(0), Usage(1, 1))
            store.fails = True
            one.settle(Usage(1, 1))
            with pytest.raises(OSError, match="away"):
                await ledger.reserve(Account(0), Usage(1, 1))
            with pytest.raises(OSError, match="away"):
                ledger.flush()
            store.fails = False

    asyncio.run(ask())
    assert store.total.booked == Amount(1, 1)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=300), st.text(max_size=60), st.integers(1, 5))
def test_a_prompt_has_at_most_as_many_tokens_as_the_bound_says(text: str, system: str, turns: int) -> None:
    """Bytes are the most that any byte-level tokenizer makes of a text, in a template with roles and ends."""
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": text} for _ in range(turns))]
    plain = sum(len(str(one["content"]).encode("utf-8", "surrogatepass")) for one in messages)
    bound = bound_of({"messages": messages, "max_tokens": 5})
    assert bound.tokens_out == 5
    assert bound.tokens_in >= plain + 4 * len(messages)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_module, "BACKOFF_SECONDS", (0.001, 0.01))


FATES = st.lists(st.sampled_from(["bisect", "500", "reset", "uncounted", "broken-off"]), min_size=1, max_size=4)


def check_any_server(server: ModelServer, fates: list[str], budget: int, num_envs: int, max_tokens: int) -> None:
    """Play with a server that answers each request in one of these ways, and compare its books with ours."""
    server.tokens_in = server.tokens_out = 0
    server.counts_bytes = True
    server.requests.clear()
    server.fates = fates
    store = MemoryStore(Limits(tokens=budget))
    spec = EndpointSpec(url=server.url, model="fated", max_tokens=max_tokens, tries=2, timeout=5, concurrency=num_envs,
                        on_failure="forfeit", stream=False)  # fmt: skip
    with suppress(AgentStopped):
        play(EndpointAgent(spec), store, episodes=8, num_envs=num_envs)
    while server.busy:
        time.sleep(0.01)
    served = server.tokens_in + server.tokens_out
    assert served <= store.total.booked.tokens <= budget
    assert store.total.requests == len(server.requests)
    assert not store.reserved
    if set(fates) == {"bisect"}:
        assert (served, Amount()) == (store.total.booked.tokens, store.total.estimated)


@pytest.mark.usefixtures("short_pauses")
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FATES, st.integers(0, 20_000), st.integers(1, 16), st.integers(20, 300))
def test_no_server_gets_more_than_the_budget(
    server: ModelServer, fates: list[str], budget: int, num_envs: int, max_tokens: int
) -> None:
    check_any_server(server, fates, budget, num_envs, max_tokens)


@pytest.mark.long
@pytest.mark.usefixtures("short_pauses")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FATES, st.integers(0, 60_000), st.integers(1, 64), st.integers(20, 300))
def test_no_server_gets_more_than_any_budget(
    server: ModelServer, fates: list[str], budget: int, num_envs: int, max_tokens: int
) -> None:
    check_any_server(server, fates, budget, num_envs, max_tokens)


def test_a_store_that_hangs_is_an_error_and_no_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gem.agents.endpoint.ledger.FLUSH_SECONDS", 0.01)
    goes_on = threading.Event()

    class Hanging(MemoryStore):
        def write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict:
            goes_on.wait()
            return super().write(closed, asked)

    store = Hanging()
    store.reserved[1] = Amount(1, 1)
    ledger = Ledger(store)
    with ledger:
        ledger.book(Entry(1, Account(0), Amount(1, 1), Amount(1, 1)))
        with pytest.raises(StoreHangs, match="not written within"):
            ledger.flush()
    goes_on.set()
    ledger._thread.join()
    assert store.total.booked == Amount(1, 1), "it is written when the store answers"

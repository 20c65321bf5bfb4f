"""The host of live episodes: one event loop that owns hundreds of shows and plays each at its pace.

Everything it knows is in Postgres. It may be killed at any moment: its leases run out, and another host goes on
after the last turn. Run it with `python -m workers.play`; as many as you like, on any machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
    django.setup()

from django.conf import settings
from django.db import Error as DatabaseError

from apps.agents import players
from apps.agents.models import Agent
from apps.agents.players import Place
from apps.episodes import handovers
from apps.episodes.errors import EpisodeEnded, Refusal
from apps.holders import new_token
from apps.leases import Heartbeat, LeaseLost, expire_leases_of_the_dead
from apps.live.publisher import channel_of
from apps.live.subscriber import listen
from apps.live.threads import DatabaseThreads
from apps.play import pending
from apps.play.shows import operations as shows
from apps.play.shows import show_leases, showcase
from apps.play.shows.operations import HOSTS
from apps.queue import beat
from gem.agents import AnyAgent, AsyncAgent, Decision, Exchange, Request
from gem.agents.endpoint.client import EndpointConnections
from gem.agents.isolated_agent import IsolatedAgent
from gem.core import Step
from gem.errors import AgentFailure, AgentStopped, EnvironmentFailure, Failure, GemError, MissingDependency, failure_of
from gem.grading import judge
from gem.net.http import GuardedClient
from gem.sandbox import turns
from gem.seats import observation_for_seat
from workers.pending_turns import RETRY_SECONDS, PendingTurnRunner, step_within
from workers.playing.agent_threads import AgentThreads
from workers.playing.cpu import CpuLedger

logger = logging.getLogger(__name__)

SHOWS_AT_MOST = 500
TURNS_AT_MOST, TURNS_IN_ALL = 8, 64
"""Pending turns at a time that have just begun, and those that have gone on for some seconds included, so that quick
ones do not wait for them; each may be a process with a gigabyte of its own."""
SWEEP_SECONDS = 1.0
HANGING_AT_MOST = 6
"""Agents that exceed their time leave a thread behind; with more of them the host ends and is started anew."""
LOADING_SECONDS = 180.0
"""How long a trained policy may take to be loaded, its libraries included."""
STOP_SECONDS = 1.5
TURNS_STAY = "The episode ends here; its turns stay."
GENTLE_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShowFailed(Exception):
    """A failure that ends one show."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ShowRunner:
    """One show: think ahead, wait for the turn's time, record it."""

    def __init__(self, host: Host, plan: show_leases.ShowPlan) -> None:
        self.episode_id = plan.episode_id
        self._host = host
        self._due = 0.0
        self._changed = asyncio.Event()
        self.follow(plan)
        self.task = asyncio.create_task(self._play(), name=f"show {plan.episode_id}")

    def follow(self, plan: show_leases.ShowPlan) -> None:
        """Take over what the show's row says now."""
        self._due = asyncio.get_running_loop().time() + plan.wait
        self._changed.set()

    async def _play(self) -> None:
        """Play to the end; whatever breaks ends this show and no other."""
        while True:
            try:
                await self._play_on()
                return
            except (LeaseLost, EpisodeEnded) as lost:
                logger.info("Show %s is not played here any longer: %s", self.episode_id, lost)
                return
            except DatabaseError as error:
                logger.warning("Show %s waits for Postgres: %s", self.episode_id, error)
                await asyncio.sleep(RETRY_SECONDS)
            except AgentFailure as error:
                if await self._end(show_leases.rest, f"{error} The turn was not played, and nothing is lost."):
                    return
            except Exception as error:  # noqa: BLE001 (whatever breaks ends this show and no other)
                failure = self._failure(error)
                if await self._end(partial(show_leases.fail, side=failure.side), failure.message):
                    return

    async def _play_on(self) -> None:
        start = await self._host.in_thread(show_leases.begin_again, self.episode_id)
        async with self._host.agent_threads.closing(start.env):
            await self._play_from(start)

    async def _play_from(self, start: show_leases.ResumedShow) -> None:
        place = Place(self.episode_id, "live episode")
        agents = await self._host.in_thread(self._host.askable, start.agents, place)
        for agent in agents.values():
            await self._load(agent, start.owner_id)
        number, observation, info = start.episode.turn_count + 1, start.observation, start.info
        while (seat := start.env.to_act[0]) in agents:
            reading, own = observation_for_seat(seat, observation, info)
            told = start.told.pop(seat, "")
            reading = handovers.before(told, reading)
            past = start.past.setdefault(seat, [])
            request = Request(start.env, reading, own, number, seat, past=past)
            decision = await self._decide(agents[seat], request, start.owner_id)
            taken = await self._take(start, number, decision, told)
            if taken is None or taken.over:
                return
            past.append(Exchange(reading, own, decision.action))
            number, observation, info = taken.turn.number + 1, taken.turn.observation, taken.turn.info

    async def _load(self, agent: AnyAgent, owner_id: int | None) -> None:
        """A policy is loaded before its first turn: that is no thinking."""
        if not isinstance(agent, IsolatedAgent):
            return
        try:
            await self._host.agent_threads.run(self._host.ledger.metered(owner_id, agent.load), LOADING_SECONDS)
        except TimeoutError as error:
            sentence = f"The agent {agent.name} was not loaded within {LOADING_SECONDS:g} s."
            raise ShowFailed(Failure("agent", sentence)) from error
        except GemError as error:
            raise ShowFailed(failure_of(error, "agent")) from error

    async def _decide(self, agent: AnyAgent, request: Request, owner_id: int | None) -> Decision:
        limit = settings.TURN_SECONDS
        try:
            if isinstance(agent, AsyncAgent):  # it waits for a server, has limits of its own, and blocks nobody
                return await agent.decide(request)
            act = self._host.ledger.metered(owner_id, lambda: agent.act([request])[0])
            return await self._host.agent_threads.run(act, limit)
        except TimeoutError as error:
            sentence = f"The agent {agent.name} took more than {limit:g} s for turn {request.turn}. {TURNS_STAY}"
            raise ShowFailed(Failure("agent", sentence)) from error
        except AgentFailure:
            raise  # the show pauses, and the agent may be asked again
        except GemError as error:
            raise ShowFailed(failure_of(error, "agent")) from error
        except Exception as error:  # an agent may raise anything; its page says so
            logger.exception("The agent %s failed in show %s", agent.name, self.episode_id)
            side, message = failure_of(error, "agent")
            sentence = f"The agent {agent.name} failed at turn {request.turn}: {message}. {TURNS_STAY}"
            raise ShowFailed(Failure(side, sentence)) from error

    async def _take(
        self, start: show_leases.ResumedShow, number: int, decision: Decision, told: str
    ) -> show_leases.Taken | None:
        """Record the turn when it is due; None if no turn is wanted any longer."""
        while True:
            await self._until_due()
            answer: Step | None = None
            if start.episode.slow:
                due = await self._host.in_thread(show_leases.is_due, self.episode_id, self._host.token)
                if due is False:
                    return None
                if due is not True:
                    self._due = asyncio.get_running_loop().time() + due
                    continue
                answer = await self._step(start, number, decision)
            record = partial(show_leases.take_turn, told=told)
            taken = await self._host.in_thread(
                record, self.episode_id, self._host.token, start.env, number, decision, answer
            )
            wait = taken.wait if isinstance(taken, show_leases.Taken) else taken
            self._due = asyncio.get_running_loop().time() + (wait or 0.0)
            if not isinstance(taken, float):
                return taken

    async def _step(self, start: show_leases.ResumedShow, number: int, decision: Decision) -> Step:
        """The answer of a slow environment, which is stepped outside any transaction."""
        limit = settings.TURN_SECONDS
        try:
            take = partial(step_within, limit, start.episode, start.env, decision.action)
            return await self._host.agent_threads.run(self._host.ledger.metered(start.owner_id, take), limit)
        except TimeoutError as error:
            sentence = f"{start.episode.env_id} took more than {limit:g} s for turn {number}. {TURNS_STAY}"
            raise ShowFailed(Failure("environment", sentence)) from error

    async def _until_due(self) -> None:
        while (left := self._due - asyncio.get_running_loop().time()) > 0:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                return

    def _failure(self, error: Exception) -> Failure:
        """Whose failure the error is, and the sentence for the episode's page."""
        if isinstance(error, ShowFailed):
            return error.failure
        if isinstance(error, AgentStopped):
            return failure_of(error, "agent")  # while the agent was made
        if isinstance(error, EnvironmentFailure):
            return failure_of(error, "environment")
        if isinstance(error, Refusal):
            return Failure("ours", str(error))
        logger.error("Show %s cannot go on", self.episode_id, exc_info=error)
        return Failure("ours", f"This episode cannot go on: {type(error).__name__}: {error}")

    async def _end(self, how: Callable[[str, uuid.UUID, str], None], sentence: str) -> bool:
        """End or pause the episode with `sentence`; False if Postgres is away."""
        try:
            await self._host.in_thread(how, self.episode_id, self._host.token, sentence)
        except (LeaseLost, EpisodeEnded):
            return True
        except DatabaseError as error:
            logger.warning("Show %s waits for Postgres: %s", self.episode_id, error)
            await asyncio.sleep(RETRY_SECONDS)
            return False
        return True


class Host:
    """The shows and the pending turns of this process, under one lease token."""

    def __init__(self) -> None:
        self.token = new_token()
        self.agent_threads = AgentThreads()
        self.ledger = CpuLedger()
        self.in_thread = DatabaseThreads(6, "play").run
        self._hosts = EndpointConnections(GuardedClient(players.guard()))
        self._shows: dict[str, ShowRunner] = {}
        self._turns: dict[str, PendingTurnRunner] = {}
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Play until `stop`."""
        logger.info("Playing live episodes as %s", self.token)
        duties: list[asyncio.Task[None]] = [
            asyncio.create_task(duty) for duty in (self._listen(), self._sweep_always(), self._renew_always())
        ]
        stopped: asyncio.Task[object] = asyncio.create_task(self._stopped.wait())
        await asyncio.wait([*duties, stopped], return_when=asyncio.FIRST_COMPLETED)
        ended = [duty for duty in duties if duty.done()]
        theirs = [runner.task for runner in self._shows.values()]
        theirs += [runner.task for runner in self._turns.values()]
        for task in (*duties, *theirs):
            task.cancel()
        await self._release_all()
        for duty in ended:
            duty.result()  # a duty never ends by itself: raise what ended it

    def askable(self, agents: Mapping[int, tuple[Agent, dict[str, Any] | None]], place: Place) -> dict[int, AnyAgent]:
        """Somebody to ask for each seat; endpoint agents share this process's connections and limits."""
        return {
            seat: players.player(row, set_up, hosts=self._hosts, place=place) for seat, (row, set_up) in agents.items()
        }

    def stop(self) -> None:
        """Let go of all shows and end."""
        self._stopped.set()

    # ------------------------------------------------------------------ duties

    async def _listen(self) -> None:
        await listen(channel_of(shows.HOSTS), lambda _: self._woken.set(), self._look)

    async def _look(self) -> None:
        self._woken.set()

    async def _sweep_always(self) -> None:
        has_recovered = False
        while True:
            self._woken.clear()
            try:
                if not has_recovered:  # this host may stand in for one that was killed
                    await self.in_thread(expire_leases_of_the_dead)
                    has_recovered = True
                await self._sweep()
            except DatabaseError as error:
                logger.warning("Postgres is away, trying again: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            if self.agent_threads.hanging > HANGING_AT_MOST:
                raise RuntimeError(f"{self.agent_threads.hanging} agents hang; a new process has to go on.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), SWEEP_SECONDS)

    async def _renew_always(self) -> None:
        await self.in_thread(beat, HOSTS)
        await Heartbeat(self._renew, name=f"host {self.token}").run(self.in_thread)

    def _renew(self) -> bool:
        """Say that this host is there, and keep what it has; a host that has nothing goes on."""
        beat(HOSTS)
        show_leases.renew(self.token)
        pending.renew(self.token)
        self.ledger.record()
        return True

    async def _sweep(self) -> None:
        """Compare the rows with the runners: begin, follow, let go."""
        await self._take_turns()
        self._shows = {key: runner for key, runner in self._shows.items() if not runner.task.done()}
        watched = await self.in_thread(showcase.is_watched)
        if watched:
            await self._go_on()
        room = SHOWS_AT_MOST - len(self._shows)
        if room:
            await self.in_thread(show_leases.claim, self.token, room, showcase=watched)
        plans = await self.in_thread(show_leases.plans, self.token, showcase=watched)
        wanted = {plan.episode_id: plan for plan in plans if not plan.idle}
        for episode_id in self._shows.keys() - wanted.keys():
            self._shows.pop(episode_id).task.cancel()
        idle = [plan.episode_id for plan in plans if plan.idle]
        if idle:
            await self.in_thread(show_leases.release, self.token, idle)
        for episode_id, plan in wanted.items():
            if episode_id in self._shows:
                self._shows[episode_id].follow(plan)
            else:
                self._shows[episode_id] = ShowRunner(self, plan)

    async def _take_turns(self) -> None:
        """Begin to play the turns that people wait for."""
        self._turns = {key: runner for key, runner in self._turns.items() if not runner.task.done()}
        quick = sum(runner.is_quick for runner in self._turns.values())
        room = min(TURNS_AT_MOST - quick, TURNS_IN_ALL - len(self._turns))
        claimed = await self.in_thread(pending.claim, self.token, room) if room > 0 else []
        self._turns |= {episode_id: PendingTurnRunner(self, episode_id) for episode_id in claimed}

    async def _go_on(self) -> None:
        """Begin the next episode of the showcase when it is time."""
        try:
            await self.in_thread(showcase.go_on)
        except DatabaseError:
            raise
        except Exception:  # whatever an environment raises at its beginning must not end the other shows
            logger.exception("The showcase cannot go on")

    async def _release_all(self) -> None:
        try:
            await asyncio.wait_for(self.in_thread(show_leases.release, self.token), STOP_SECONDS)
            await asyncio.wait_for(self.in_thread(pending.release, self.token), STOP_SECONDS)
            await asyncio.wait_for(self.in_thread(self.ledger.record), STOP_SECONDS)
        except (TimeoutError, DatabaseError) as error:
            logger.warning("The leases could not be returned; they run out by themselves: %s", error)


def _start_judge() -> None:
    """Start a process that grades formulas now, because on a busy site the first answer would wait for it."""
    with suppress(MissingDependency, EnvironmentFailure):
        judge.start()


async def main() -> None:
    """Play until SIGTERM or Ctrl-C."""
    turns.take_turns()
    if not settings.LOCAL_MODE:
        threading.Thread(target=_start_judge, name="judge", daemon=True).start()
    host = Host()
    loop = asyncio.get_running_loop()
    for number in GENTLE_SIGNALS:
        loop.add_signal_handler(number, host.stop)
    await host.run()


if __name__ == "__main__":
    code = 1
    try:
        asyncio.run(main())
        code = 0
    except Exception:  # whatever ends the host is logged before os._exit, which tells nobody
        logger.exception("The host of live episodes ends")
    finally:
        logging.shutdown()
        os._exit(code)  # a thread that hangs in an agent must not keep the process

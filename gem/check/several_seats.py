"""The promise about several seats: the info has the observation, reward and success of each, and `to_act` is right."""

from __future__ import annotations

from gem.check.pictures import offers
from gem.check.promise import SEEDS, BrokenPromise, Promise, Subject, play_on, shorten
from gem.core import Env, Info


def tells_every_seat(subject: Subject) -> None:
    env = subject.make()
    if env.seats == 1:
        return
    for seed in SEEDS:
        _, info = env.reset(seed=seed)
        _expect_seat_infos(f"The reset of seed {seed}", env, info)
        for number, (*_, terminated, truncated, info) in enumerate(play_on(env), start=1):
            place = f"Turn {number} of seed {seed}"
            _expect_seat_infos(place, env, info)
            is_over = terminated or truncated
            if bool(env.to_act) == is_over:
                raise BrokenPromise(
                    f"{place}: to_act is {env.to_act}, and the episode {'is over' if is_over else 'goes on'}."
                )
            for seat, seat_info in enumerate(info["seats"]):
                if is_over != isinstance(seat_info.get("success"), bool):
                    raise BrokenPromise(f'{place}: info["seats"][{seat}]["success"] is {seat_info.get("success")!r}.')


def _expect_seat_infos(place: str, env: Env, info: Info) -> None:
    seat_infos = info.get("seats")
    if not isinstance(seat_infos, list) or len(seat_infos) != env.seats:
        raise BrokenPromise(f'{place}: info["seats"] is {shorten(seat_infos)}, and there are {env.seats} seats.')
    for seat, seat_info in enumerate(seat_infos):
        if not isinstance(seat_info.get("observation"), str):
            observation = shorten(seat_info.get("observation"))
            raise BrokenPromise(f"{place}: what seat {seat} reads is {observation}, which is not a string.")
        if not isinstance(seat_info.get("reward"), int | float):
            raise BrokenPromise(f"{place}: the reward of seat {seat} is {seat_info.get('reward')!r}.")
        if seat not in env.to_act and offers(env.view(seat)):
            raise BrokenPromise(f"{place}: the picture of seat {seat} offers actions, and it is not its turn.")


PROMISES: tuple[Promise, ...] = (
    Promise(
        "Every seat is told what it reads, earns and reached.",
        tells_every_seat,
        'With several seats, info["seats"] holds one dictionary for each (see gem.seats), and to_act says who is '
        "awaited, nobody after the end. A gem.envs.multiagent.MultiAgentEnv does it for you.",
    ),
)

"""The promise about several seats: each is told what it reads, earns and reached, and who is awaited is known."""

from __future__ import annotations

from gem.check.pictures import offers
from gem.check.promise import SEEDS, Broken, Promise, Subject, play_on, short
from gem.core import Env, Info


def tells_every_seat(subject: Subject) -> None:
    env = subject.make()
    if env.seats == 1:
        return
    for seed in SEEDS:
        _, info = env.reset(seed=seed)
        _expect_told(f"The reset of seed {seed}", env, info)
        for number, (*_, terminated, truncated, info) in enumerate(play_on(env), start=1):
            where = f"Turn {number} of seed {seed}"
            _expect_told(where, env, info)
            ended = terminated or truncated
            if bool(env.to_act) == ended:
                raise Broken(f"{where}: to_act is {env.to_act}, and the episode {'is over' if ended else 'goes on'}.")
            for seat, own in enumerate(info["seats"]):
                if ended != isinstance(own.get("success"), bool):
                    raise Broken(f'{where}: info["seats"][{seat}]["success"] is {own.get("success")!r}.')


def _expect_told(where: str, env: Env, info: Info) -> None:
    told = info.get("seats")
    if not isinstance(told, list) or len(told) != env.seats:
        raise Broken(f'{where}: info["seats"] is {short(told)}, and there are {env.seats} seats.')
    for seat, own in enumerate(told):
        if not isinstance(own.get("observation"), str):
            raise Broken(f"{where}: what seat {seat} reads is {short(own.get('observation'))}, which is no text.")
        if not isinstance(own.get("reward"), int | float):
            raise Broken(f"{where}: the reward of seat {seat} is {own.get('reward')!r}.")
        if seat not in env.to_act and offers(env.view(seat)):
            raise Broken(f"{where}: the picture of seat {seat} offers actions, and it is not its turn.")


PROMISES: tuple[Promise, ...] = (
    Promise(
        "Every seat is told what it reads, earns and reached.",
        tells_every_seat,
        'With several seats, info["seats"] holds one dictionary for each (see gem.seats), and to_act says who is '
        "awaited, nobody after the end. A gem.envs.multiagent.MultiAgentEnv does it for you.",
    ),
)

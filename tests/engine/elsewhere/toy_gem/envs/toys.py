"""Each class breaks the promise that its `breaks` names, and no other one."""

import copy
import os
import random
import threading
from random import Random

_shared = {"secret": 0}


class Good:
    """Guess a secret number from 1 to 9."""

    breaks = ""
    registered = {}

    def __init__(self, max_turns=5):
        self.max_turns = max_turns
        self.over = True

    def reset(self, seed=None):
        self.rng = Random(seed)
        self.secret, self.turn, self.over = self.draw(), 0, False
        return f"Guess from 1 to 9. A hint: {self.rng.random()}", {"suffix": "Your guess?"}

    def draw(self):
        return self.rng.randint(1, 9)

    def step(self, action):
        if self.over:
            raise RuntimeError("Call reset() first.")
        self.turn += 1
        solved = action == f"\\boxed{{{self.secret}}}"
        terminated, truncated = solved, not solved and self.turn >= self.max_turns
        self.over = terminated or truncated
        return f"{self.rng.random()}", float(solved), terminated, truncated, {"suffix": "Your guess?"}

    def sample_random_action(self):
        return f"\\boxed{{{random.randint(1, 9)}}}"

    def get_state(self):
        return copy.deepcopy(vars(self))

    def spawn(self, same_state=False, **arguments):
        return type(self)(**arguments)


class CannotBeMade(Good):
    breaks = "is_made"

    def __init__(self):
        raise ValueError("no")


class NoRandomActions(Good):
    breaks = "has_random_actions"

    def sample_random_action(self):
        raise NotImplementedError


class Malformed(Good):
    breaks = "random_actions_are_understood"

    def step(self, action):
        if action.startswith("\\boxed"):
            return super().step(action)
        self.over = True
        return "What?", -0.1, True, False, {"suffix": ""}

    def sample_random_action(self):
        return f"{random.randint(1, 9)}"


class OneTurn(Good):
    """A wrong answer costs something and ends the episode, as it may."""

    breaks = ""

    def __init__(self, max_turns=1):
        super().__init__(max_turns)

    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        self.over = True
        return observation, reward if terminated else -1.0, True, False, info


class BothEnds(Good):
    breaks = "ends_in_one_way"

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, truncated, info


class GoesOnAfterTheEnd(Good):
    breaks = "refuses_turns_after_the_end"

    def step(self, action):
        self.over = self.over and not hasattr(self, "secret")
        return super().step(action)


class BeforeReset(Good):
    breaks = "refuses_turns_before_the_first_reset"

    def __init__(self, max_turns=5):
        super().__init__(max_turns)
        del self.over


class NoLimit(Good):
    breaks = "plays_to_its_end"

    def step(self, action):
        self.turn = 0
        return super().step("x")


class PaysWords(Good):
    breaks = "plays_to_its_end"

    def step(self, action):
        observation, _, *rest = super().step(action)
        return (observation, "1.0", *rest)


class SaysLessAtFirst(Good):
    breaks = "says_the_same_kinds_of_things"

    def reset(self, seed=None):
        return super().reset(seed)[0], {}


class TwoStarts(Good):
    breaks = "has_several_starts"

    def reset(self, seed=None):
        super().reset(seed)
        return f"Guess from 1 to 9. A hint: {self.secret % 2}", {"suffix": "Your guess?"}


class ReadsFiles(Good):
    breaks = "resets_without_reading_files"

    def reset(self, seed=None):
        with open("/etc/hostname" if os.path.exists("/etc/hostname") else "/etc/passwd") as file:
            file.read()
        return super().reset(seed)


class IgnoresTheSeed(Good):
    breaks = "repeats_a_seed"

    def reset(self, seed=None):
        return super().reset(None)


class SeedsEverybody(Good):
    breaks = "leaves_the_generators_alone"

    def draw(self):
        random.seed(self.rng.random())
        return super().draw()


class SharesItsSecret(Good):
    breaks = "is_undisturbed_by_others"

    def reset(self, seed=None):
        result = super().reset(seed)
        _shared["secret"] = self.secret
        return result

    def step(self, action):
        self.secret = _shared["secret"]
        return super().step(action)


class Wears(Good):
    breaks = "repeats_after_many_episodes"
    resets = 0

    def draw(self):
        self.resets += 1
        return super().draw() + (self.resets > 500)

    def reset(self, seed=None):
        super().reset(seed)
        return f"Guess from 1 to {9 + (self.resets > 500)}. A hint: {self.rng.random()}", {"suffix": "Your guess?"}


class OrderOfASet(Good):
    breaks = "repeats_in_other_processes"

    numbers = {"1", "2", "3", "4", "5", "6", "7", "8", "9"}

    def draw(self):
        return self.rng.choice(list(self.numbers))

    def reset(self, seed=None):
        super().reset(seed)
        return f"Guess one of {' '.join(self.numbers)}. A hint: {self.rng.random()}", {"suffix": "Your guess?"}


class CannotBeCopied(Good):
    breaks = "can_be_copied"

    def spawn(self, same_state=False, **arguments):
        raise NotImplementedError


class DrawsUntilItFits(Good):
    breaks = "large_arguments_come_back"

    def __init__(self, max_turns=5, numbers=3):
        super().__init__(max_turns)
        chosen = set()
        while len(chosen) < numbers:
            chosen.add(random.randint(1, 9))


class TakesAnything(Good):
    breaks = "its_arguments_are_known"
    registered = {"max_trns": 3}

    def __init__(self, max_turns=5, **_):
        super().__init__(max_turns)


class EndsTheProcess(Good):
    breaks = "begins"

    def reset(self, seed=None):
        os._exit(11)


class LoopsForever(Good):
    breaks = "plays_to_its_end"

    def step(self, action):
        while True:
            pass


class WaitsForever(Good):
    breaks = "begins"

    def reset(self, seed=None):
        threading.Event().wait()

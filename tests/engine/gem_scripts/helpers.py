r"""The small functions of GEM that trainers import.

Prints:
    \boxed{\frac{1}{2}}
    \frac{1}{2}
    None
    ({'formatted': True}, 1.0)
    ({'formatted': False}, 0.0)
    (True, '3\n', '')
    True
    text\n
    True
"""

from gem.__about__ import __version__
from gem.utils.constants import BASE_IMPORTS
from gem.utils.math_grader import boxed_reward_fn
from gem.utils.parsing import last_boxed_only_string, remove_boxed
from gem.utils.sandbox import run_python
from gem.utils.seeding import np_random

from gem.wrappers.observation_wrapper import maybe_add_new_line

print(last_boxed_only_string("So it is \\boxed{\\frac{1}{2}}, or 0.5."))
print(remove_boxed("\\boxed{\\frac{1}{2}}"))
print(remove_boxed(None))
print(boxed_reward_fn("\\boxed{0.5}", "\\frac{1}{2}"))
print(boxed_reward_fn("0.5", "\\frac{1}{2}"))
print(run_python(f"{BASE_IMPORTS}\nprint(len(deque([1, 2, 3])))", "none"))
generator, seed = np_random(5)
print(seed == 5 and generator.integers(1000) == np_random(5)[0].integers(1000))
print(maybe_add_new_line("text").replace("\n", "\\n"))
print(bool(__version__))

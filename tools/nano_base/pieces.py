"""Random play as pieces of text: what was read and what was done, by turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem import registry
from gem.core import Env
from gem.envs.problems.drawn_code import NUMBER as SIGNED_NUMBER
from gem.envs.problems.drawn_code import RANDOM_PROGRAMS
from gem.factory import make_wrapped
from gem.rng import SplitMix64, choice, randbelow, randint, sample
from gem.training.policy.prompts import board_text, observation_text
from tools.nano_base.source import Piece, Source
from tools.nano_base.spans import NUMBER, TOKEN, draw_words

BOARDS_OF_AN_EPISODE = 3
SPOKEN = ("game", "duel", "dialogue", "rg")
"""Categories whose environments, in every difficulty, the tokenizer has seen."""
EPISODES_TO_READ = 12
"""How many episodes of each of those the tokenizer is learned from."""
MOST_WORDS, MOST_OF_A_SPAN = 3, 2
"""Words of a random answer or query."""


def play(source: Source, count: int, seed: int) -> Iterator[Piece]:
    """What was read and done in random episodes."""
    wrappers = [dict(pairs) for pairs in source.wrappers]
    env = make_wrapped(source.env_id, dict(source.kwargs), wrappers)
    for number in range(source.episodes * count // 1000):
        draw = SplitMix64(seed, number)
        yield from _episode(env, source, randbelow(draw, 2**53), draw)
    env.close()


def play_everything(seed: int) -> Iterator[Piece]:
    """A few random episodes of every environment that can be played here."""
    for spec in registry.specs():
        if spec.category in SPOKEN and not spec.missing_packages():
            opponent = (("opponent", "random"),) if spec.seats > 1 else ()
            source = Source(spec.id, EPISODES_TO_READ, transcripts=True, kwargs=opponent)
            yield from play(source, 1000, seed)


def _episode(env: Env, source: Source, seed: int, draw: SplitMix64) -> list[Piece]:
    if source.answers == "of another seed":
        return [_question(env, seed, randbelow(draw, 2**53))]
    observation, info = env.reset(seed=seed)
    if source.answers in ("unjudged", "program"):
        tale = [observation_text(observation, info), ""]
        tale[-1] = _action(env, source, tale, draw)
        return [[*tale, ""]]
    spec = env.unwrapped.spec
    assert spec is not None
    tale = []
    boards: list[Piece] = []
    is_over = False
    while not is_over:
        shown = board_text(spec.family, observation, info, env.view())
        tale += [observation_text(observation, info), ""]
        tale[-1] = action = _action(env, source, tale, draw)
        observation, _, terminated, truncated, info = env.step(action)
        is_over = terminated or truncated
        boards.append([shown, action, observation_text(observation, info)])
    if not source.transcripts:
        return sample(draw, boards, min(len(boards), BOARDS_OF_AN_EPISODE))
    names_the_answer = source.answers is not None and not isinstance(source.answers, tuple)
    return [[*tale, "" if names_the_answer else observation_text(observation, info)]]


def _question(env: Any, seed: int, other_seed: int) -> Piece:
    """A question with the answer to another one. What is said of it is left out, for it names the right answer."""
    env.reset(seed=other_seed)
    action = env.unwrapped.reference_action() or env.sample_random_action()
    return [observation_text(*env.reset(seed=seed)), action, ""]


def _action(env: Env, source: Source, tale: Piece, draw: SplitMix64) -> str:
    """A random action.

    Args:
        tale: what was said and done so far.
    """
    match source.answers:
        case (low, high):
            return f"\\boxed{{{randint(draw, low, high)}}}"
        case "from the text":
            return _word_answer(tale, draw) if "<answer>" in tale[0] else _number_answer(tale, draw)
        case "with Python":
            if _stops(tale, draw):
                return _number_answer(tale, draw, copies=source.copies)
            return f"<python>print({_expression(tale, draw, copies=source.copies)})</python>"
        case "with search":
            if _stops(tale, draw):
                return _word_answer(tale, draw, copies=source.copies)
            read = _task(tale) if source.copies else tale[0]
            return f"<search>{draw_words(read, draw, MOST_WORDS)}</search>"
        case "span":
            return _span(tale, draw)
        case "program":
            return _program(tale, draw)
        case _:
            return env.sample_random_action()


def _stops(tale: Piece, draw: SplitMix64) -> bool:
    """Whether no more tools are used: one in six uses none, five in six have enough after one."""
    return randbelow(draw, 6) < (1 if len(tale) <= 2 else 5)


def _task(tale: Piece) -> str:
    """The first line of what was said: the task, without what is said about tools."""
    return tale[0].partition("\n")[0]


def _number_answer(tale: Piece, draw: SplitMix64, *, copies: bool = False) -> str:
    """A number that was said last, or before, or, unless it `copies`, never."""
    last, said = NUMBER.findall(tale[-2]), NUMBER.findall(_task(tale))
    if copies:
        numbers = NUMBER.findall(_task(tale[-2:])) if randbelow(draw, 4) else said
    else:
        numbers = (last, said, [str(randbelow(draw, 1000))])[randbelow(draw, 3)]
    return f"\\boxed{{{choice(draw, numbers or ['0'])}}}"


def _expression(tale: Piece, draw: SplitMix64, *, copies: bool = False) -> str:
    """Numbers of the task, or others unless it `copies`, with signs between them."""
    said = NUMBER.findall(_task(tale)) or ["1"]

    def operand() -> str:
        return choice(draw, said) if copies or randbelow(draw, 4) else str(randbelow(draw, 100))

    parts = [operand()]
    for _ in range(1 if copies else randint(draw, 1, 2)):
        parts += [choice(draw, ("+", "-", "*", "*")), operand()]
    return " ".join(parts)


def _word_answer(tale: Piece, draw: SplitMix64, *, copies: bool = False) -> str:
    """Words of what was said last, or, more seldom, of the task."""
    last = tale[-2].rpartition("Title:")[2] if copies else tale[-2]
    first = _task(tale) if copies else tale[0]
    return f"<answer>{draw_words(last if randbelow(draw, 4) else first, draw, MOST_WORDS)}</answer>"


def _span(tale: Piece, draw: SplitMix64) -> str:
    """A query of words of the task, or an answer of words of the last page or, more seldom, of the task."""
    if not _stops(tale, draw):
        return f"<search>{draw_words(_task(tale), draw, MOST_OF_A_SPAN, TOKEN)}</search>"
    is_of_page = len(tale) > 2 and randbelow(draw, 8)
    read = tale[-2].rpartition("Title:")[2] if is_of_page else _task(tale)
    return f"<answer>{draw_words(read, draw, MOST_OF_A_SPAN, TOKEN)}</answer>"


def _program(tale: Piece, draw: SplitMix64) -> str:
    """A random program with numbers of the task."""
    body, numbers = choice(draw, RANDOM_PROGRAMS), SIGNED_NUMBER.findall(_task(tale)) or ["1"]
    for _ in range(body.count("{}")):
        body = body.replace("{}", choice(draw, numbers), 1)
    return f"```python\n{body}\n```"

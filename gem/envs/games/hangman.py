r"""Find a secret word letter by letter, or all at once.

Rules:
    The secret is an English word of `word_length` letters: a common word, or with `hardcore` any word of a large list.
    A letter that the word has is shown in all its places. You may guess the whole word at any time. The episode is
    solved when you have guessed the word or all its letters are shown. A letter that was guessed before, a word of
    another length and a wrong guess use up a turn.

Actions:
    `\boxed{L}` for a letter, for example `\boxed{e}`; `\boxed{WORD}` for the word. Upper and lower case do not
    matter.

Rewards:
    0.5 / `word_length` for each place that a letter reveals, and 0.5 more for the letter that reveals the last place.
    Guessing the word earns 0.5 / `word_length` for each place not yet shown, and 0.5 more. So a solved word earns 1 in
    all. 0 for any other guess. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Hangman-v0`. Words: see gem/data/words/README.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.data import words
from gem.envs.game import Game, PlayResult
from gem.envs.games.keyboard import draw_keyboard
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randbelow
from gem.views import Cell, Compose, Gallows, LettersView, Tone

RANDOM_PARAMETERS = [(3, 10), (5, 15), (7, 20)]
"""Pairs of word length and turn limit from which the `random` difficulty draws."""
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
HIDDEN = "_"
TONES: dict[str, tuple[Tone, str]] = {"+": ("hit", "in the word"), "-": ("miss", "not in the word")}
MAX_STAGE = 6
"""The stage of the complete gallows."""


@dataclass(frozen=True, slots=True)
class Config:
    """If `word_length` or `max_turns` is None, both are drawn for each episode, as in the `random` difficulty."""

    word_length: int | None
    max_turns: int | None
    hardcore: bool


class Hangman(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([a-zA-Z]+)}", re.IGNORECASE | re.ASCII)
    prompt = "Enter your guess."

    def __init__(
        self,
        word_length: int | None = 3,
        max_turns: int | None = 10,
        hardcore: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        max_length = words.MAX_LENGTH if hardcore else words.MAX_COMMON_LENGTH
        if word_length is not None and not words.MIN_LENGTH <= word_length <= max_length:
            raise InvalidArgument(f"word_length must be from {words.MIN_LENGTH} to {max_length}, not {word_length}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(word_length, max_turns, hardcore)
        self.max_turns = 0 if word_length is None else max_turns or 0
        self.data_hash = words.WORDS_HASH if hardcore else words.COMMON_HASH
        self.word_length = 0
        self.secret = ""
        self.letters = ""
        """The letters guessed so far, in upper case and in the order of the guesses."""
        self.wrong_words: list[str] = []
        self.visible_letters: list[str] = []
        """The visible word: each letter that was revealed, HIDDEN for the others."""

    def _draw(self) -> None:
        config = self.config
        if config.word_length is None or config.max_turns is None:
            self.word_length, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            self.word_length, self.max_turns = config.word_length, config.max_turns
        self.secret = choice(self.rng, self.possible_words()).upper()
        self.letters = ""
        self.wrong_words = []
        self.visible_letters = [HIDDEN] * self.word_length

    def possible_words(self) -> tuple[str, ...]:
        """The list from which the secret is drawn, in lower case."""
        length = self.word_length
        return words.all_words(length, length) if self.config.hardcore else words.common(length)

    def _instructions(self) -> str:
        return (
            f"I have a secret English word of {self.word_length} letters. Guess one letter at a time, or the whole "
            f"word, in at most {self.max_turns} turns. A letter that the word has is shown in all its places; '_' "
            "stands for a place that is not known. You win by guessing the word or by showing all its letters.\n"
            "Put your guess into \\boxed{}: a letter, for example \\boxed{E}, or a word, for example "
            f"\\boxed{{{self.possible_words()[0].upper()}}}."
        )

    def _play(self, match: str) -> PlayResult:
        guess = match.upper()
        if len(guess) > 1:
            return self._play_word(guess)
        if guess in self.letters:
            return f"You have guessed {guess} before.", 0.0, "rule"
        self.letters += guess
        secret, visible_letters = self.secret, self.visible_letters
        if guess not in secret:
            return f"The word has no {guess}.", 0.0, None
        reward = secret.count(guess) / self.word_length * 0.5
        for index, letter in enumerate(secret):
            if letter == guess:
                visible_letters[index] = guess
        if HIDDEN not in visible_letters:
            self.over = self.solved = True
            return f"All letters are shown: the word is {secret}.", reward + 0.5, None
        return f"The word has the letter {guess}.", reward, None

    def _play_word(self, guess: str) -> PlayResult:
        if guess == self.secret:
            self.over = self.solved = True
            reward = self.visible_letters.count(HIDDEN) / self.word_length * 0.5 + 0.5
            self.visible_letters = list(guess)
            return f"{guess} is the word.", reward, None
        if len(guess) != self.word_length:
            return f"The word has {self.word_length} letters; your guess has {len(guess)}.", 0.0, "rule"
        if guess in self.wrong_words:
            return f"You have guessed {guess} before.", 0.0, "rule"
        self.wrong_words.append(guess)
        return f"{guess} is not the word.", 0.0, None

    def _suffix(self) -> str:
        return f"The word: {' '.join(self.visible_letters)}\n{self.prompt}"

    def _format_help(self) -> str:
        return "There is no guess in your answer. Write it as \\boxed{E} or \\boxed{WORD}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        guess = choice(rng, self.possible_words()).upper() if randbelow(rng, 2) else choice(rng, ALPHABET)
        return f"\\boxed{{{guess}}}"

    def _get_own_state(self) -> State:
        return {
            "word_length": self.word_length,
            "secret": self.secret,
            "letters": self.letters,
            "wrong_words": list(self.wrong_words),
            "shown": "".join(self.visible_letters),
        }

    def _set_own_state(self, state: State) -> None:
        self.word_length, self.secret = state["word_length"], state["secret"]
        self.letters, self.wrong_words = state["letters"], list(state["wrong_words"])
        self.visible_letters = list(state["shown"])

    def view(self, seat: int = 0) -> LettersView:
        """The letters revealed so far, the gallows, and a keyboard on which the guessed letters are marked."""
        absent_letters = [letter for letter in self.letters if letter not in self.visible_letters]
        num_wrong = len(absent_letters) + len(self.wrong_words)
        is_lost = self.over and not self.solved
        turns_left = self.max_turns - self.turn
        stage = MAX_STAGE if is_lost else min(MAX_STAGE - 1, MAX_STAGE * num_wrong // self.max_turns)
        guesses, turns = "guess" if num_wrong == 1 else "guesses", "turn" if turns_left == 1 else "turns"
        view = LettersView(
            kind="letters",
            name=f"Hangman, {self.word_length} letters",
            rows=[],
            slots=[self._slot(index) for index in range(self.word_length)],
            gallows=Gallows(stage=stage, label=f"{num_wrong} wrong {guesses}, {turns_left} {turns} left"),
            keys=draw_keyboard(
                {letter: "-" if letter in absent_letters else "+" for letter in self.letters},
                TONES,
                playable=not self.over,
            ),
            facts=[("Wrong guesses", str(num_wrong)), ("Wrong words", ", ".join(self.wrong_words) or "none")],
            legend=[("A to Z", "type a letter or the word"), ("Enter", "guess"), ("Backspace", "delete")],
        )
        if not self.over:
            view["compose"] = Compose(
                picks=["key"] * self.word_length,
                prompts=["Type a letter, or the whole word"] + ["Enter, or type on"] * (self.word_length - 1),
                before="\\boxed{",
                between="",
                after="}",
                confirm=True,
                fewest=1,
            )
        return view

    def _slot(self, index: int) -> Cell:
        letter = self.visible_letters[index]
        if letter != HIDDEN:
            cell = Cell(tone="open", label=f"Letter {index + 1}: {letter}", text=letter)
            if not self.over and self.letters.endswith(letter):
                cell["last"] = True
            return cell
        if self.over:
            return Cell(tone="miss", label=f"Letter {index + 1} was {self.secret[index]}", text=self.secret[index])
        return Cell(tone="blank", label=f"Letter {index + 1}: not known")


register("game:Hangman-v0", Hangman, cost="fast")
register("game:Hangman-v0-easy", Hangman, cost="fast", word_length=3, max_turns=10, hardcore=False)
register("game:Hangman-v0-hard", Hangman, cost="fast", word_length=7, max_turns=20, hardcore=False)
register("game:Hangman-v0-random", Hangman, cost="fast", word_length=None, max_turns=None, hardcore=False)

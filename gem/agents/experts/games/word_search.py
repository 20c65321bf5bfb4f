"""The expert for WordSearch: it reads every row and column and looks for the words of the list."""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.word_search import WordSearch


def read_lines(env: WordSearch) -> Decision:
    """Mark the first word of the list that has not been found yet."""
    size = env.size
    word = next(word for index, word in enumerate(env.words) if index not in env.found_words)
    for line in range(size):
        column = env.board[line * size : (line + 1) * size].find(word)
        if column >= 0:
            return Decision(
                f"\\boxed{{{line} {column} {line} {column + len(word) - 1}}}", f"{word} reads along row {line}."
            )
        row = env.board[line::size].find(word)
        if row >= 0:
            return Decision(
                f"\\boxed{{{row} {line} {row + len(word) - 1} {line}}}", f"{word} reads down column {line}."
            )
    raise AssertionError(f"{word} is on the list but not on the board")

"""The demonstrated defects of GEM's environments, each with the promise that has to tell it.

Those of vectors, wrappers, tools and imports are no environments' and stand elsewhere (docs/differences-from-gem.md).
"""

from __future__ import annotations

from typing import NamedTuple

GUESS, FIFTEEN, CROSSWORDS = "game:GuessTheNumber-v0-easy", "game:FifteenPuzzle-v0-easy", "game:Crosswords-v0-easy"
MINES, HANGMAN, SUDOKU = "game:Minesweeper-v0-easy", "game:Hangman-v0-easy", "game:Sudoku-v0-easy"
WORDLE, TILES, PACKAGE, LEGS = "game:Wordle-v0-easy", "game:Game2048-v0-easy", "package", "rg:leg_counting"


class Defect(NamedTuple):
    """One defect."""

    number: str
    """Its number, by which `reproductions` demonstrates it."""
    what: str
    env_id: str
    """The environment that is checked, or `package` for the package as a whole."""
    key: str
    """The promise that it breaks."""


DEFECTS = (
    Defect("01", "the README makes an id that does not exist", PACKAGE, "ids_in_its_description_exist"),
    Defect("03", "FifteenPuzzle-v0-random cannot be made", "game:FifteenPuzzle-v0-random", "is_made"),
    Defect("04", "Crosswords-v0-random cannot be made", "game:Crosswords-v0-random", "is_made"),
    Defect("05", "reset(seed) seeds the whole program's generator", GUESS, "leaves_the_generators_alone"),
    Defect("06", "another environment changes the episode (2048)", TILES, "is_undisturbed_by_others"),
    Defect("25", "games have neither spawn nor get_state", GUESS, "can_be_copied"),
    Defect("27", "a step before the first reset fails inside", LEGS, "refuses_turns_before_the_first_reset"),
    Defect("27b", "ReasoningGym has no random actions", LEGS, "has_random_actions"),
    Defect("28", "a seed means another question after 600 resets", LEGS, "repeats_after_many_episodes"),
    Defect("29", "the guess 0 is a format error", GUESS, "a_number_out_of_range_is_no_format_error"),
    Defect("31", "revealing every safe cell does not end Minesweeper", MINES, "revealing_every_safe_cell_ends_it"),
    Defect("31b", "a flag does not protect its cell", MINES, "a_flag_protects_its_cell"),
    Defect("31c", "too many mines: an endless loop", MINES, "large_arguments_come_back"),
    Defect("32", "revealing every letter does not end Hangman", HANGMAN, "revealing_every_letter_ends_it"),
    Defect("32b", "the examples of a letter and a word are swapped", HANGMAN, "its_examples_are_of_what_they_say"),
    Defect("33", "random actions are never valid", FIFTEEN, "random_actions_are_understood"),
    Defect("34", "a legal number counts as a violation of Sudoku", SUDOKU, "a_legal_number_is_no_violation"),
    Defect("35", "clues counts the cells that are removed", SUDOKU, "clues_are_cells_that_are_filled"),
    Defect("36", "reset gives no suffix", "game:Mastermind-v0-easy", "says_the_same_kinds_of_things"),
    Defect("37", "feedback is a list of Python", WORDLE, "its_feedback_is_text"),
    Defect("38", "words that are none are accepted", WORDLE, "words_that_are_none_are_refused"),
    Defect("39", "a move from tower A to tower A counts", "game:TowerofHanoi-v0-easy", "a_move_has_two_towers"),
    Defect("40", "a step after the end is accepted", GUESS, "refuses_turns_after_the_end"),
    Defect("41", "the turn limit terminates and truncates", GUESS, "ends_in_one_way"),
    Defect("43", "threads corrupt each other's levels", "game:Sokoban-v0-easy", "plays_the_same_in_threads"),
    Defect("48", "mathematics cannot be graded in a thread", PACKAGE, "mathematics_is_graded_in_threads"),
    Defect("50", "programs need a dataset with a known name", PACKAGE, "programs_are_graded_on_any_dataset"),
    Defect("50b", "a problem without tests is a crash", PACKAGE, "problems_without_tests_are_handled"),
    Defect("51", "questions ask for tags and are graded by boxes", PACKAGE, "questions_are_graded_as_they_are_asked"),
    Defect("55", "a misspelt argument is ignored", "game:Sokoban-v0-random", "its_arguments_are_known"),
    Defect("56", "the last turn pays for a repeated guess", GUESS, "a_repeated_guess_earns_nothing"),
    Defect("59", "problems with pictures cannot be graded", PACKAGE, "pictures_are_graded"),
    Defect("61", "two starts of FifteenPuzzle-v0-easy", FIFTEEN, "has_several_starts"),
    Defect("62", "2048-hard cannot be won", "game:Game2048-v0-hard", "it_can_be_won"),
    Defect("64", "a repeated word is not named", HANGMAN, "a_repeated_word_is_named"),
    Defect("65", "each reset reads the list of words anew", "game:WordSearch-v0-hard", "resets_without_reading_files"),
    Defect("67", "no argument limits the time of a program", PACKAGE, "time_limits_can_be_chosen"),
    Defect("70", "clues contain their answers", CROSSWORDS, "no_clue_contains_its_answer"),
)

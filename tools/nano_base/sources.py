"""What `nano-base` and `nano-wide` have seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tools.nano_base.source import Source

BASE_SOURCES = (
    Source("game:GuessTheNumber-v0-easy", 4000, transcripts=True),
    Source("game:GuessTheNumber-v0-hard", 3000, transcripts=True),
    Source("game:Mastermind-v0-easy", 1200, transcripts=True),
    Source("game:Hangman-v0-easy", 800, transcripts=True),
    Source("game:Wordle-v0-easy", 400, transcripts=True),
    Source("game:FifteenPuzzle-v0-easy", 1000, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 1000, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 500, transcripts=False, kwargs=(("num_disks", 2),)),
    Source("game:Minesweeper-v0-easy", 500, transcripts=False),
    Source("game:Sudoku-v0-easy", 600, transcripts=False),
    Source("game:Game2048-v0-easy", 300, transcripts=False),
    Source("game:Sokoban-v0-easy", 600, transcripts=False),
    Source("duel:TicTacToe-v0-vs-random", 1500, transcripts=False),
    Source(
        "rg:chain_sum",
        4000,
        transcripts=True,
        kwargs=(("config", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}),),
        answers=(-9, 18),
    ),
)
"""What `nano-base` has seen."""

ANSWERED = (
    *("chain_sum", "basic_arithmetic", "products", "gcd", "lcm", "count_bits", "count_primes", "power_function"),
    *(
        "decimal_arithmetic",
        "decimal_chain_sum",
        "fraction_simplification",
        "prime_factorization",
        "bitwise_arithmetic",
    ),
    *("simple_equations", "number_sequence", "number_format", "number_filtering", "number_sorting", "leg_counting"),
    "bitwise_arithmetic",
    *("dice", "calendar_arithmetic", "time_intervals", "coin_flip", "letter_counting", "spell_backward", "ab"),
    *("binary_alternation", "base_conversion", "caesar_cipher", "isomorphic_strings", "ransom_note", "syllogism"),
    *("knights_knaves", "propositional_logic", "self_reference", "circuit_logic", "family_relationships", "aiw"),
    *("course_schedule", "largest_island", "game_of_life_halting", "rotten_oranges", "quantum_lock", "needle_haystack"),
    *("simple_geometry", "color_cube_rotation", "tsumego", "word_sequence_reversal", "palindrome_generation"),
)
"""Datasets of ReasoningGym whose questions and answers are short."""


def _small(name: str, **config: Any) -> Source:
    return Source(f"rg:{name}", 800, transcripts=True, kwargs=(("config", config),), answers="of another seed")


WIDE_SOURCES = (
    *(replace(source, episodes=source.episodes // 2) for source in BASE_SOURCES),
    Source("game:Crosswords-v0-easy", 300, transcripts=False),
    Source("game:WordSearch-v0-easy", 300, transcripts=False),
    Source("game:WikiGame-v0-easy", 300, transcripts=True),
    Source("shop:WebShop-v0-easy", 300, transcripts=True),
    Source("duel:ConnectFour-v0-vs-random", 500, transcripts=False),
    Source("duel:KuhnPoker-v0-vs-random", 800, transcripts=True),
    Source("duel:Negotiation-v0-vs-random", 500, transcripts=True),
    Source("duel:PrisonersDilemma-v0-vs-random", 400, transcripts=True),
    *(Source(f"rg:{name}", 500, transcripts=True, answers="of another seed") for name in ANSWERED),
    *(Source(f"logic:RuleTaker-d{depth}", 500, transcripts=True, answers="of another seed") for depth in (0, 1, 2)),
    Source("math:Drawn-v0-easy", 500, transcripts=True, answers="of another seed"),
    _small("products", min_terms=2, max_terms=2, min_digits=1, max_digits=1),
    _small("chain_sum", min_terms=2, max_terms=2, min_digits=2, max_digits=2),
    _small("basic_arithmetic", min_terms=2, max_terms=2, min_digits=1, max_digits=1),
)
"""What `nano-wide` has seen."""

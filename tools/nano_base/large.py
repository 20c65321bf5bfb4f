"""What `nano-large` has seen: more games, more questions, tools, programs."""

from __future__ import annotations

from typing import Any

from tools.nano_base.source import Source
from tools.nano_base.tool_use import TOOLS

GAMES = (
    Source("game:GuessTheNumber-v0-easy", 2000, transcripts=True),
    Source("game:GuessTheNumber-v0-hard", 4000, transcripts=True),
    Source("game:Mastermind-v0-easy", 4000, transcripts=True),
    Source("game:Hangman-v0-easy", 3000, transcripts=True),
    Source("game:Wordle-v0-easy", 2000, transcripts=True),
    Source("game:WikiGame-v0-easy", 300, transcripts=True),
    Source("game:FifteenPuzzle-v0-easy", 600, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 600, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 300, transcripts=False, kwargs=(("num_disks", 2),)),
    Source("game:Minesweeper-v0-easy", 3000, transcripts=False),
    Source("game:Sudoku-v0-easy", 2000, transcripts=False),
    Source("game:Sudoku-v0-easy", 1500, transcripts=False, kwargs=(("clues", 4),)),
    Source("game:Game2048-v0-easy", 800, transcripts=False),
    Source("game:Sokoban-v0-easy", 1500, transcripts=False),
    Source("game:Crosswords-v0-easy", 300, transcripts=False),
    Source("game:WordSearch-v0-easy", 300, transcripts=False),
    Source("duel:TicTacToe-v0-vs-random", 1500, transcripts=False),
    Source("duel:ConnectFour-v0-vs-random", 1000, transcripts=False),
    Source("duel:KuhnPoker-v0-vs-random", 1000, transcripts=True),
    Source("duel:Negotiation-v0-vs-random", 800, transcripts=True),
    Source("duel:PrisonersDilemma-v0-vs-random", 400, transcripts=True),
    Source("shop:WebShop-v0-easy", 500, transcripts=True),
)
QUESTIONS = (
    *("ab", "aiw", "base_conversion", "basic_arithmetic", "bf", "binary_alternation", "bitwise_arithmetic"),
    *("caesar_cipher", "calendar_arithmetic", "chain_sum", "circuit_logic", "coin_flip", "color_cube_rotation"),
    *("complex_arithmetic", "count_bits", "count_primes", "course_schedule", "decimal_arithmetic"),
    *("decimal_chain_sum", "dice", "family_relationships", "fraction_simplification", "gcd", "gsm_symbolic"),
    *("isomorphic_strings", "knights_knaves", "largest_island", "lcm", "leg_counting", "letter_counting", "maze"),
    *("number_filtering", "number_format", "number_sequence", "number_sorting", "palindrome_generation"),
    *("power_function", "prime_factorization", "products", "quantum_lock", "ransom_note"),
    *("self_reference", "sentence_reordering", "shortest_path", "simple_equations", "simple_geometry"),
    *("spell_backward", "syllogism", "time_intervals", "word_sequence_reversal", "word_sorting"),
)
"""Datasets of ReasoningGym whose questions and answers are short."""


def _question(env_id: str, episodes: int = 1000, **config: Any) -> Source:
    kwargs = (("config", config),) if config else ()
    return Source(env_id, episodes, transcripts=True, kwargs=kwargs, answers="of another seed")


SMALL = (
    _question("rg:products", 2000, min_terms=2, max_terms=2, min_digits=1, max_digits=1),
    _question("rg:chain_sum", 2000, min_terms=2, max_terms=2, min_digits=1, max_digits=1),
    _question("rg:chain_sum", 1000, min_terms=2, max_terms=2, min_digits=2, max_digits=2),
    _question("rg:basic_arithmetic", 1000, min_terms=2, max_terms=2, min_digits=1, max_digits=1),
    _question("rg:count_bits", 1000, max_n=1000),
    _question("rg:lcm", 1000, max_value=20),
    _question("rg:leg_counting", 1000, min_animals=1, max_animals=2, min_instances=1, max_instances=5),
    _question("rg:word_sorting", 1000, min_words=2, max_words=3),
    _question("rg:number_sorting", 1000, min_numbers=2, max_numbers=3),
    _question("rg:spell_backward", 1000, min_word_len=3, max_word_len=4),
    _question("rg:needle_haystack", 1000, min_num_statements=2, max_num_statements=6),
    _question("rg:base_conversion", 1000, max_value=63, max_base=10),
)
"""The same in easier configurations."""

LARGE_SOURCES = (
    *GAMES,
    *(_question(f"rg:{name}") for name in QUESTIONS),
    *SMALL,
    *(_question(f"logic:RuleTaker-d{depth}", 700) for depth in (0, 1, 2)),
    Source("math:Drawn-v0-easy", 1500, transcripts=True, answers="from the text"),
    Source("qa:NaturalQuestions", 700, transcripts=True, answers="from the text"),
    Source("code:Drawn-v0-easy", 5000, transcripts=True, answers="unjudged"),
    *TOOLS,
)
"""What `nano-large` has seen."""

"""The datasets of ReasoningGym 0.1.25 with a sentence about each, so that they can be listed without the package.

A test compares the names with those of the installed version.
"""

from collections.abc import Mapping

DATASETS: Mapping[str, str] = {
    # algebra
    "complex_arithmetic": "Add, subtract, multiply and divide complex numbers.",
    "intermediate_integration": "Integrate by substitution or by parts.",
    "polynomial_equations": "Find the real roots of a polynomial.",
    "polynomial_multiplication": "Multiply polynomials out.",
    "simple_equations": "Solve a linear equation in one variable.",
    "simple_integration": "Integrate a polynomial.",
    # algorithmic
    "ab": "Rewrite a string of A and B tokens until no rule applies.",
    "base_conversion": "Write a number in another base.",
    "binary_alternation": "Count the swaps that make a binary string alternate.",
    "binary_matrix": "Give every cell its distance to the nearest zero.",
    "caesar_cipher": "Read a text whose letters were shifted along the alphabet.",
    "count_primes": "Count the primes in an interval.",
    "cryptarithm": "Find the digits behind the letters of a sum.",
    "game_of_life": "Advance Conway's Game of Life.",
    "game_of_life_halting": "Say whether a Game of Life comes to rest.",
    "graph_color": "Color a graph so that no neighbours share a color.",
    "group_anagrams": "Group words that are made of the same letters.",
    "isomorphic_strings": "Say whether two strings follow the same pattern.",
    "jugs": "Measure an amount of water with jugs.",
    "letter_counting": "Count a letter in a text.",
    "letter_jumble": "Put the letters of jumbled words in order.",
    "manipulate_matrix": "Apply operations to a matrix, one after the other.",
    "number_filtering": "Keep or remove the numbers on one side of a bound.",
    "number_sorting": "Sort numbers.",
    "palindrome_generation": "Make a palindrome from given letters.",
    "palindrome_partitioning": "Find every way to cut a string into palindromes.",
    "pool_matrix": "Pool a matrix by maximum or average.",
    "ransom_note": "Say whether one text can be cut from the letters of another.",
    "rotate_matrix": "Rotate a square matrix.",
    "rotten_oranges": "Count the minutes until every orange is rotten.",
    "sentence_reordering": "Put the words of a sentence in order.",
    "spell_backward": "Spell a word backwards.",
    "spiral_matrix": "Read a matrix in a spiral.",
    "string_insertion": "Insert letters after given patterns.",
    "string_manipulation": "Apply rewriting rules to a string.",
    "string_splitting": "Count machines that split into parts until they stop.",
    "string_synthesis": "Count blocks that merge until they stop.",
    "word_ladder": "Change one word into another, a letter at a time.",
    "word_sequence_reversal": "Write a list of words backwards.",
    "word_sorting": "Sort words.",
    # arc
    "arc_1d": "Find the rule that changes rows of digits, and apply it.",
    "arc_agi": "Find the rule that changes grids, and apply it (ARC-AGI).",
    "rearc": "Find the rule that changes grids, with new examples of ARC's rules.",
    # arithmetic
    "basic_arithmetic": "Work out an expression with brackets.",
    "bitwise_arithmetic": "Work out an expression of shifts and sums in hexadecimal.",
    "calendar_arithmetic": "Answer questions about dates and weekdays.",
    "chain_sum": "Add and subtract a chain of numbers.",
    "count_bits": "Count the ones of a number in binary.",
    "decimal_arithmetic": "Work out an expression of decimal fractions.",
    "decimal_chain_sum": "Add and subtract a chain of decimal fractions.",
    "dice": "Find the probability of a total with several dice.",
    "fraction_simplification": "Reduce a fraction.",
    "gcd": "Find the greatest common divisor.",
    "gsm_symbolic": "Solve a word problem of school mathematics.",
    "lcm": "Find the least common multiple.",
    "leg_counting": "Count the legs of some animals.",
    "number_format": "Pick the largest or smallest of numbers in several notations.",
    "power_function": "Raise a number to a power.",
    "prime_factorization": "Factor a number into primes.",
    "products": "Multiply numbers.",
    "time_intervals": "Find the time between two moments.",
    # code
    "bf": "Say what a program in Brainf*ck prints.",
    "codeio": "Predict the output of a function, or an input that gives it.",
    # cognition
    "color_cube_rotation": "Follow the faces of a colored cube as it turns.",
    "figlet_font": "Read a word in letters made of characters.",
    "modulo_grid": "Complete a grid that follows a rule of remainders.",
    "needle_haystack": "Find one fact in a long text.",
    "number_sequence": "Find the next number of a sequence.",
    "rectangle_count": "Count the rectangles of a drawing.",
    "rubiks_cube": "Solve a scrambled Rubik's Cube.",
    # games
    "boxnet": "Plan how robot arms bring boxes to their targets.",
    "countdown": "Reach a target number with given numbers.",
    "emoji_mystery": "Read a sentence that is hidden in an emoji.",
    "futoshiki": "Complete a grid under inequalities.",
    "kakurasu": "Mark cells whose positions add up in every row and column.",
    "knight_swap": "Swap the knights of two colors on a small board.",
    "mahjong_puzzle": "Follow a game with tiles of letters, round by round.",
    "maze": "Find the length of the shortest way through a maze.",
    "mini_sudoku": "Solve a Sudoku of 4 by 4.",
    "n_queens": "Place the missing queens so that none attacks another.",
    "puzzle24": "Make 24 from four numbers.",
    "rush_hour": "Free the red car from a crowded car park.",
    "sokoban": "Push every box onto a target, all moves at once.",
    "sudoku": "Solve a Sudoku of 9 by 9.",
    "survo": "Fill in numbers so that rows and columns have their sums.",
    "tower_of_hanoi": "List the moves that bring the disks to another peg.",
    "tsumego": "Find the best point in a Go problem.",
    # geometry
    "advanced_geometry": "Find the angle, the orthocenter or the incircle of a triangle.",
    "simple_geometry": "Find the missing angle of a polygon.",
    # graphs
    "course_schedule": "Say whether courses that need each other can all be taken.",
    "family_relationships": "Say how two people of a family are related.",
    "largest_island": "Find the area of the largest island on a map.",
    "path_star": "Find the one path from the centre of a star to a leaf.",
    "quantum_lock": "Press buttons that work in changing states to reach a value.",
    "shortest_path": "Find the shortest way through a grid.",
    # induction
    "acre": "Say whether objects switch on a light, from examples.",
    "list_functions": "Find the function behind pairs of lists, and apply it.",
    # logic
    "aiw": "Count relatives and friends, in the manner of Alice in Wonderland problems.",
    "circuit_logic": "Find the output of a circuit of logic gates.",
    "knights_knaves": "Find out who tells the truth and who lies.",
    "propositional_logic": "Draw a conclusion that follows from premises.",
    "self_reference": "Count the consistent answers of statements about each other.",
    "syllogism": "Say whether a conclusion follows.",
    "zebra_puzzles": "Find out who lives where from clues.",
    # probability
    "coin_flip": "Find the probability of a number of heads.",
    # others together
    "composite": "Problems of several datasets, by weight.",
}
"""Name of a dataset to a summary of its problems."""

COMPOSITE = (
    {"name": "basic_arithmetic", "weight": 1},
    {"name": "family_relationships", "weight": 1},
    {"name": "letter_counting", "weight": 1},
    {"name": "propositional_logic", "weight": 1},
    {"name": "shortest_path", "weight": 1},
    {"name": "word_sorting", "weight": 1},
)
"""The datasets that `rg:composite` draws from by default."""

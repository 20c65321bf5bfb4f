"""Promises about the rules of the games that GEM names, told by what they say alone, whoever implements them.

The functions read the same texts as an agent. A game may depart from a rule if its documentation says so.
"""

from . import boards, guessing, words

PROMISES = (*guessing.PROMISES, *boards.PROMISES, *words.PROMISES)

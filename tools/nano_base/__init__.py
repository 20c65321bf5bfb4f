"""Makes the policies that trainings begin with, from random play: `nano-base`, `nano-wide` and others (`KINDS`).

    python -m tools.nano_base --out gem/training/models/nano-base
    python -m tools.nano_base --out gem/training/models/nano-large --count 1500 --device cuda

It plays random episodes, learns a tokenizer and then a language model from their texts: what environments say and what
is done alike, once as whole episodes and once board by board. So a policy knows how episodes look and how actions are
written, and nothing of how to win. `nano-large` has also read a primer of arithmetic and spelling, and `nano-reader`
random words that are copied. No expert, no person and no other model is involved. On a CPU the same arguments give the
same weights.

Begin reading at `__main__`.
"""

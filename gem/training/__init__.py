"""Training of policies by reinforcement learning.

    python -m gem.training --recipe guess-easy --folder runs/guess

`spec` says what a training is asked to do and `recipes` holds tested ones; neither needs torch. `trainer.train` is the
loop: `collector` plays episodes with `sampler`, `gem.credit` says what their turns earned, `learner` changes the
`policy`, `checkpoint` and `run_folder` write down what came of it. Install torch, transformers, tokenizers and
safetensors for those (docs/training.md).
"""

"""Training of policies by reinforcement learning.

    python -m gem.training --recipe guess-easy --folder runs/guess

`spec` describes a training (`environment_check` makes its environments once), `recipes` holds tested descriptions, and
`built_in_policies` finds the policies that come with the engine; none of them needs torch. To follow one update, read:

1. `trainer`: `_Training._loop` makes the updates, one after the other.
2. `collecting.collector`: `Collector.collect` plays a batch of complete episodes with the policy as the agent.
3. `gem.credit`: `compute_advantages` gives every turn its advantage; only this step depends on the algorithm.
4. `learner`: `Learner.learn` makes the steps of the `optimizers`, and `Learner._loss` is the loss.
5. `run_folder` and `checkpoints.checkpoint` write the metrics, some episodes, and about every half minute a checkpoint.

They use `policy` (weights, tokens and sampling), `processes` (one training in several processes),
`progress` (counters and curriculum) and `failures` (why a training ended). They need torch, transformers, tokenizers
and safetensors (docs/training.md). `study` measures policies, raises alarms and draws curves; comparisons
of trainings are in `gem.studies`.
"""

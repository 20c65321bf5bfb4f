"""The policy: `policies` holds the weights, `sampler` writes responses, `tokenizing_agent` makes an agent of both.

`prompts` encodes the texts of an episode as tokens; `policy_agent` plays with a checkpoint outside a training. Begin
with `tokenizing_agent`.
"""

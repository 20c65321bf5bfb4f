"""Studies of trainings: `compare` trains several algorithms with equal budgets, `evaluation` measures a policy, and
`curves` draws learning curves."""

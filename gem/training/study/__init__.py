"""Studies: `compare` trains several algorithms with equal budgets, `evaluation` measures a policy, `curves` draws."""

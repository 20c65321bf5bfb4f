"""Exact values of small games under an agent whose probabilities are known, by enumerating all outcomes. `dynamics`
steps through the states, `values` has Q, V and advantages, `best_response` how much a best opponent wins."""

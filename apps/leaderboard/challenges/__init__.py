"""Results from elsewhere: seeds that are drawn for somebody, and the episodes that they send for these seeds.

Begin with `drawing`, which makes a challenge. `receiving` takes the file, `checking` executes its episodes again in a
worker, and `recording` makes a row of them; `reports` takes numbers that nothing proves.
"""

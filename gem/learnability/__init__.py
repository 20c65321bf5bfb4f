"""Is an environment learnable? Probes that play it without thinking, a short training, and a verdict with its evidence.

report = gem.learnability.probe("game:GuessTheNumber-v0-easy")
print(report.verdict.sentence)
"""

from gem.learnability.probing import probe
from gem.learnability.report import Report, Verdict
from gem.learnability.training import Training, train_briefly

__all__ = ["Report", "Training", "Verdict", "probe", "train_briefly"]

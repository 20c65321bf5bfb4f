"""Is an environment learnable? Probes that play it without thinking, a short training, and a verdict with its evidence.

report = gem.learnability.probe("game:GuessTheNumber-v0-easy")
print(report.verdict.sentence)
"""

from gem.learnability.probing import Stopped, probe
from gem.learnability.report import Report, Training, Verdict

__all__ = ["Report", "Stopped", "Training", "Verdict", "probe"]

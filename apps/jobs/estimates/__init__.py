"""What a job will take: turns, tokens, money and time, as ranges, with what is not known. Begin with `forecasts`."""

from apps.jobs.estimates.forecasts import EnvForecast, Forecast, Source, forecast
from apps.jobs.estimates.paces import Pace, paces
from apps.jobs.estimates.power import Power, powers, wanted_points
from apps.jobs.estimates.ranges import Range
from apps.jobs.estimates.starts import Start, start_of, starts_of
from apps.jobs.estimates.totals import Estimate, Remaining, estimate, remaining, worker_count

__all__ = [
    "EnvForecast",
    "Estimate",
    "Forecast",
    "Pace",
    "Power",
    "Range",
    "Remaining",
    "Source",
    "Start",
    "estimate",
    "forecast",
    "paces",
    "powers",
    "remaining",
    "start_of",
    "starts_of",
    "wanted_points",
    "worker_count",
]

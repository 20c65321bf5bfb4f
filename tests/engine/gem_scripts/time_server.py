r"""The tools of the time server, called as functions.

Prints:
    28
    29
    0 UTC
    in 2 days
    2026-01-01 12:00:00
"""

from datetime import datetime, timedelta

from gem.tools.mcp_server.time_mcp import convert_time, days_in_month, get_timestamp, relative_time

print(days_in_month("2023-02-01"))
print(days_in_month("2024-02-01"))
here = datetime(1970, 1, 1).astimezone().utcoffset().total_seconds() * 1000
print(int(get_timestamp("1970-01-01 00:00:00")) + int(here), "UTC")
print(relative_time((datetime.now() + timedelta(days=2, minutes=5)).strftime("%Y-%m-%d %H:%M:%S")))
print(convert_time("UTC", "Europe/Berlin", "2026-01-01 11:00:00").split(" is ")[1].split(" in ")[0])

"""The one door to browsers: say that something changed, after the transaction has committed.

What is sent is a hint (`topic`, `seq`); the record is in Postgres, and every web process reads it from there
(see `hub.py`). A lost hint is healed by the next one, or by the hub's recheck.
"""

from apps.live.publisher import end_session as end_session
from apps.live.publisher import publish as publish
from apps.live.publisher import wake as wake

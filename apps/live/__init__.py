"""Live updates: other apps call `publish` when a row has changed, and browsers get events after the commit.

A message is only a hint (`topic`, `seq`). The data are in Postgres, and every web process reads them from there (see
`hub.py`). If a hint is lost, the next hint or the regular recheck of the hub makes up for it.
"""

from apps.live.publisher import end_session as end_session
from apps.live.publisher import publish as publish
from apps.live.publisher import recheck_access as recheck_access
from apps.live.publisher import wake as wake

"""Only pages of this site may open sockets. Refusals are logged with the reason."""

import logging
from typing import Any

from channels.security.websocket import OriginValidator
from django.conf import settings

logger = logging.getLogger(__name__)


class OwnPagesOnly(OriginValidator):  # type: ignore[misc]
    """Refuse a handshake if its Origin header is not in ALLOWED_HOSTS, and log the refusal."""

    def __init__(self, application: Any) -> None:
        super().__init__(application, settings.ALLOWED_HOSTS)

    def valid_origin(self, parsed_origin: Any) -> bool:
        """Check the origin with the rules of Channels, and log a refusal."""
        valid = bool(super().valid_origin(parsed_origin))
        if not valid:
            origin = parsed_origin.geturl() if parsed_origin else "none"
            logger.warning(
                "A socket was refused: its origin is %s, ALLOWED_HOSTS has %s.",
                origin[:200],
                ", ".join(settings.ALLOWED_HOSTS),
            )
        return valid

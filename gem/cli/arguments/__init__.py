"""Arguments that several commands take: which agent plays, and with which tools."""

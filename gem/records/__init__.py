"""Records of episodes: `episode` has the classes, `episode_files` writes them to files and reads them back."""

from gem.records.episode import EpisodeRecord, Identity, StoredEpisode, TurnRecord

__all__ = ["EpisodeRecord", "Identity", "StoredEpisode", "TurnRecord"]

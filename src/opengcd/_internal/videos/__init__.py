"""Decode video files in a child process of their own, which a hostile file can crash without harm."""

from opengcd._internal.videos.messages import MISSING
from opengcd._internal.videos.process import VideoFacts, read_video
from opengcd._internal.videos.reading import VideoError

__all__ = ["MISSING", "VideoError", "VideoFacts", "read_video"]

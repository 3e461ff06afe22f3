"""The client of the duplex dialect: a session that outlives its connections. docs/clients.md describes it."""

from . import events, presets
from .address import build_realtime_url
from .audio import AudioFormat, audio_data_url, image_data_url, read_pcm16_wav, write_pcm16_wav
from .client import DuplexClient
from .collector import EventCollector, acknowledge_collected_playback
from .configuration import SessionConfig
from .errors import (
    DuplexClientError,
    DuplexConnectionError,
    DuplexOverflowError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    DuplexSessionReplacedError,
)
from .response import ResponseHandle
from .standing import ReconnectPolicy
from .sync import SyncDuplexClient, SyncResponseHandle
from .timing import summarize_session_request_metrics
from .units import chunk_period_ms, duplex_unit_boundary_ms, has_residual_model_unit

__all__ = [
    "AudioFormat",
    "DuplexClient",
    "DuplexClientError",
    "DuplexConnectionError",
    "DuplexOverflowError",
    "DuplexProtocolError",
    "DuplexSessionClosedError",
    "DuplexSessionReplacedError",
    "EventCollector",
    "ReconnectPolicy",
    "ResponseHandle",
    "SessionConfig",
    "SyncDuplexClient",
    "SyncResponseHandle",
    "acknowledge_collected_playback",
    "audio_data_url",
    "build_realtime_url",
    "chunk_period_ms",
    "duplex_unit_boundary_ms",
    "events",
    "has_residual_model_unit",
    "image_data_url",
    "presets",
    "read_pcm16_wav",
    "summarize_session_request_metrics",
    "write_pcm16_wav",
]

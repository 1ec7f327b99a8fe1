"""Telemetry: call traces as OpenTelemetry spans for whoever runs a collector; counts and keyed hashes only."""

from peek_core.telemetry.otlp import Otlp

__all__ = ["Otlp"]

"""Answers that were tried: a prover's verdict, held against runs of the machine."""

from __future__ import annotations

from pycute_xe.trials.replaying import Replay, replay
from pycute_xe.trials.verifier import verify

__all__ = ["Replay", "replay", "verify"]

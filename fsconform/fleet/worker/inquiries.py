"""What the controller may ask of a site beside steps and rounds: facts, marks, capabilities, the run's directory."""

from __future__ import annotations

from fsconform.fleet.worker.capabilities import CAPABILITIES
from fsconform.fleet.worker.environment import ENVIRONMENT
from fsconform.fleet.worker.facts import FACTS
from fsconform.fleet.worker.handshake import HANDSHAKE
from fsconform.fleet.worker.requests import FUNCTIONS
from fsconform.fleet.worker.tree import TREE

for _table in (FACTS, ENVIRONMENT, HANDSHAKE, CAPABILITIES, TREE):
    FUNCTIONS.update(_table)

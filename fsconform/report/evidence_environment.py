"""environment.json: the sites of a run, what stood around them, and enough of both to judge the run again."""

from __future__ import annotations

import json
from typing import Any

from fsconform.vocabulary.records import RunRecord

FORMAT = "fsconform-environment/1"


def environment_bytes(record: RunRecord) -> bytes:
    """The file."""
    return (json.dumps(environment_object(record), indent=1) + "\n").encode("ascii")


def environment_object(record: RunRecord) -> dict[str, Any]:
    """The same as plain objects."""
    around = {environment.letter: environment.to_json() for environment in record.environments}
    return {
        "format": FORMAT, "run_id": record.run_id, "version": record.version, "started": record.started,
        "profile": record.profile, "model_note": record.model_note, "budget": record.budget, "seed": record.seed,
        "command": record.command, "topologies": dict(record.topologies), "bounds": list(record.bounds),
        "sites": [
            {**site.to_json(), "mount_root": site.mount.root, "free_files": site.free_files,
             "booted_ns": list(site.booted_ns) if site.booted_ns else None, "launcher": site.spec.launcher,
             "target": site.spec.target, "around": around.get(site.letter)}
            for site in record.sites
        ],
    }  # fmt: skip

"""What every command does that works at sites: the survey at the start, the clean-up at the end, and what its record
says of the sites themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.judging.profiles import Profile, load_profile
from fsconform.run.directory import Removal, new_run_id, remove, remove_locally
from fsconform.run.preflight import survey
from fsconform.run.progress import Progress
from fsconform.run.second_clients import second_client
from fsconform.run.surveys import Survey
from fsconform.vocabulary.sites import SiteSpec

EMULATED = "fsconform:"
"""How the source of an emulated mount begins."""
ONE_CLIENT = "one client, visibility between clients not tested"


def arrive(
    fleet: Fleet, scouts: Sequence[Worker], specs: Sequence[SiteSpec], profile: str | None, progress: Progress
) -> Survey:
    """The survey of the sites, with a run directory of its own that `leave` removes; `scouts` has one worker per spec,
    `profile` is the name that was asked for. Raises CannotTestError; nothing is left behind then."""
    run_id = new_run_id()
    try:
        return survey(fleet, scouts, specs, load_profile(profile) if profile else None, progress, run_id)
    except BaseException:  # Ctrl-C may come between the making of the directory and the survey's own care for it
        for spec in specs:
            if spec.launcher == "local":
                remove_locally(spec.path, run_id)
        raise


def leave(fleet: Fleet, scouts: Mapping[str, Worker], found: Survey) -> Removal:
    """End the workers and remove the run's directory; sites elsewhere need a live worker for that."""
    if any(site.spec.launcher != "local" for site in found.sites):
        fleet.release(scouts.values())
    else:
        fleet.stop()
    removal = remove(fleet, scouts, found.sites, found.directory)
    fleet.stop()
    return removal


def one_client(profile: Profile, found: Survey) -> tuple[str, str]:
    """Why nothing can be said of a shared filesystem with one client, and how to get a second one; else empty."""
    if not (profile.shared and found.one_client):
        return "", ""
    return ONE_CLIENT, profile.second_client or second_client(found.sites[0])


def model_note(profile: Profile, found: Survey) -> str:
    """What a reader must know where what was measured is a model, whatever it is held against."""
    emulated = sorted({site.mount.source for site in found.sites if site.mount.source.startswith(EMULATED)})
    if not emulated:
        return ""
    about = f"; {profile.model}" if profile.model else ""
    return f"an emulated filesystem ({', '.join(emulated)}){about}"


def moment_text(moment: datetime) -> str:
    """A moment in UTC as records hold it."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")

"""What can go wrong between machines."""

from __future__ import annotations

from privee.errors import PriveeError, UnavailableError


class SiteError(PriveeError):
    """A site could not do what it was asked; the message says which and why."""


class SiteLostError(SiteError, UnavailableError):
    """A site does not answer; it may come back, and the run then goes on from its last checkpoint."""

    def __init__(self, site: str, why: str) -> None:
        self.site = site
        super().__init__(f"site {site} {why}")


class StoppedError(PriveeError):
    """NVFlare ended the job: a site's process died, or somebody asked for it."""

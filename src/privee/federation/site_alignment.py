"""A site's side of record alignment: the aligners of `privee.data.alignment`, their messages carried as notes."""

from __future__ import annotations

from privee.data.alignment import ActiveAligner, PassiveAligner
from privee.data.alignment.ids import Rows
from privee.data.tables import PartyTable
from privee.federation.frames import Note
from privee.federation.settings import JobSettings


class SiteAlignment:
    """The aligner of this site for one job; the coordinator passes blinded messages on and reads none of them."""

    def __init__(self, table: PartyTable, name: str, job: JobSettings) -> None:
        self.table = table
        self._aligner: ActiveAligner | PassiveAligner
        if name == job.active:
            self._aligner = ActiveAligner(table.ids, passive=job.parties[1:], name=name)
        else:
            self._aligner = PassiveAligner(table.ids, name=name, active=job.active)

    def handle(self, note: Note) -> Note:
        """One step: at the active party towards one of the others, at a passive party towards the active one."""
        if isinstance(self._aligner, PassiveAligner):
            step = {"answer": self._aligner.answer, "check": self._aligner.check}[note.values["step"]]
            return Note("align", {}, step(note.body))
        return Note("align", {}, self._active(self._aligner, note))

    def rows(self) -> Rows:
        """Where the common records are in this site's table, in the common order."""
        return self._aligner.rows()

    @staticmethod
    def _active(aligner: ActiveAligner, note: Note) -> bytes:
        party, step = str(note.values["party"]), note.values["step"]
        if step in ("request", "agreement"):
            return aligner.request(party) if step == "request" else aligner.agreement(party)
        receive = {"answered": aligner.receive_answer, "checked": aligner.receive_check}[step]
        receive(party, note.body)
        return b""

"""A site: a party with its columns, its model and its files, answering the coordinator's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from privee.errors import PriveeError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.site.finished_run import FinishedRun, check_start, check_there
from privee.federation.site.own_columns import SiteAlignment, SiteData, from_named, from_table, own_table
from privee.federation.site.own_party import (
    check_seal,
    check_trained_on,
    check_training,
    keep_codes,
    make_party,
    prepare,
)
from privee.federation.site.sealed_runs import SealedRuns
from privee.federation.site.site_store import SiteStore
from privee.federation.wire.frames import Content, Note, SiteFailure
from privee.federation.wire.reply_checks import MAX_CLASSES
from privee.federation.wire.tensors import Packing
from privee.version import __version__
from privee.vfl.embedding_defenses.noise import NoisyParty
from privee.vfl.messages import Message, WorkAndLogits
from privee.vfl.party import PassiveParty
from privee.vfl.run_format import PARTY, party_file
from privee.vfl.seal.party import SealedParty
from privee.vfl.seeds import seed_everything
from privee.vfl.training import TrainingSettings

DONE = Note("done")


class Site:
    """One party of one job. Training messages go to the party itself; notes prepare, save and finish."""

    def __init__(self, name: str, settings: SiteSettings) -> None:
        self.name, self._settings = name, settings
        self._notes: dict[str, Callable[[Note], Note]] = {
            "hello": self._hello,
            "align": self._align,
            "encode": self._encode,
            "build": self._build,
            "begin": self._begin,
            "believe": self._believe,
            "restore": self._restore,
            "save": self._save,
            "best": self._restore_best,
            "seal": self._seal,
            "finish": self._finish,
            "forget": self._forget,
        }
        self._job: JobSettings | None = None
        self._alignment: SiteAlignment | None = None
        self._data: SiteData | None = None
        self._party: PassiveParty | None = None
        self._finished: FinishedRun | None = None
        self._n_classes = 0
        self._training: TrainingSettings | None = None

    def handle(self, content: Content) -> Content:
        """Answer one message of the coordinator."""
        if isinstance(content, SiteFailure):
            raise PriveeError("a site takes no failures")
        if not isinstance(content, Note):
            self._check_rows(content)
            return self.party.handle(content) if self._finished is None else self._finished.answer(content)
        if content.name not in self._notes:
            raise PriveeError(f"a site knows no note called {content.name[:40]!r}")
        try:
            return self._notes[content.name](content)
        except (KeyError, TypeError):
            raise PriveeError(f"the note {content.name} lacks something, or is out of turn") from None

    def _check_rows(self, message: Message) -> None:
        """A batch is a part of the records; memory is taken for each row that is asked for."""
        parts = (message.work, message.logits) if isinstance(message, WorkAndLogits) else (message,)
        for part in parts:
            rows, count = getattr(part, "rows", None), len(self.data.columns)
            if isinstance(rows, Tensor) and (len(rows) > count or (len(rows) and int(rows.max()) >= count)):
                raise PriveeError(f"the coordinator asks for rows that are not there; there are {count:,}")
            if isinstance(rows, Tensor) and isinstance(self.party, SealedParty) and not self.party.is_sealed:
                check_training(rows, self.data)
            if isinstance(rows, Tensor) and isinstance(self.party, NoisyParty) and getattr(part, "train", False):
                check_trained_on(rows, self.data)

    def packing(self) -> Packing:
        """How embeddings travel in this job."""
        return Packing.EXACT if self._job is None else self._job.packing

    @property
    def job(self) -> JobSettings:
        """What was agreed on; said first."""
        if self._job is None:
            raise PriveeError("the coordinator did not say hello first")
        return self._job

    @property
    def _store(self) -> SiteStore:
        return SiteStore(self._settings.folder / self.job.run, self.name)

    @property
    def data(self) -> SiteData:
        """The columns, once they are encoded."""
        if self._data is None:
            raise PriveeError("the columns are not encoded yet")
        return self._data

    @property
    def party(self) -> PassiveParty:
        """The party, once its model is built."""
        if self._party is None:
            raise PriveeError("the model is not built yet")
        return self._party

    def _hello(self, note: Note) -> Note:
        if note.values["version"] != __version__:
            raise PriveeError(f"the coordinator runs privee {note.values['version']!s:.20}, this site {__version__}")
        if self._job is not None:
            raise PriveeError("the coordinator said hello before; another run needs another job")
        job = JobSettings.from_dict(note.values["job"])
        if self.name not in job.parties:
            raise PriveeError(f"the job has no party called {self.name}")
        check_seal(self.name, job, self._settings)
        check_start(job, self._settings)
        self._job = job
        if "tables" not in job.source:
            return Note("hello")
        active = job.active == self.name
        table = own_table(self._settings, active=active)
        self._alignment = SiteAlignment(table, self.name, job)
        return Note("hello", {"id_column": self._settings.id_column, "label": self._settings.label})

    def _align(self, note: Note) -> Note:
        if self._alignment is None:
            raise PriveeError("this job aligns no tables")
        return self._alignment.handle(note)

    def _encode(self, note: Note) -> Note:
        job, seed = self.job, self.job.training.seed
        if self._alignment is None:
            self._data = from_named(job.source, job.parties.index(self.name), self._settings, seed)
        else:
            share = float(job.source["tables"]["test_share"])
            table, rows = self._alignment.table, self._alignment.rows()
            self._data = from_table(table, rows, self.name, self._settings, test_share=share, seed=seed)
        if job.start_from is not None:
            check_there(self._settings.folder / job.start_from, self._data)
        counts = {"rows": len(self._data.columns), "train": len(self._data.train)}
        return Note("encode", counts | ({"classes": list(self._data.classes)} if self.name == job.active else {}))

    def _build(self, note: Note) -> Note:
        job, data = self.job, self.data
        self._n_classes = n_classes(note.values["n_classes"], data.classes)
        store = self._store
        if job.start_from is not None:
            about = self._about(sealed=False)
            self._finished = FinishedRun(self._settings.folder / job.start_from, job, about, data)
        store.open(job.fingerprint, data.digest)
        seed_everything(job.training.seed)
        self._training = job.training_on(len(data.train), self._n_classes)
        party = make_party(self.name, job, data, self._n_classes, store.folder)
        if self.name in job.seals:  # before its first code
            SealedRuns(self._settings.folder, self._settings.lifetime).count(job.run, job.seals[self.name])
        prepare(party, data, self._training, store.folder)
        self._party = party
        return DONE

    def _begin(self, note: Note) -> Note:
        if self._finished is None:
            raise PriveeError("this job starts from no finished run, or it has begun")
        return Note("begin", {}, self._finished.begin(self.party))

    def _believe(self, note: Note) -> Note:
        if self._finished is None:
            raise PriveeError("this job starts from no finished run, or it has begun")
        self._finished.believe(self.party, note.body)
        self._finished = None  # from now on it is the new model that answers
        return DONE

    def _restore(self, note: Note) -> Note:
        epoch = int(note.values["epoch"])
        self._store.restore(epoch, self.party.learner)
        return self._after(epoch)

    def _save(self, note: Note) -> Note:
        epoch = int(note.values["epoch"])
        self._store.save(epoch, self.party.learner, best=note.values["best"] is True)
        return self._after(epoch)

    def _after(self, epoch: int) -> Note:
        """The learning rate may fall from epoch to epoch, here as at the coordinator."""
        if self._training is not None:
            self.party.learner.set_rate(self._training.rate(epoch))
        return DONE

    def _restore_best(self, note: Note) -> Note:
        self._store.restore_best(int(note.values["epoch"]), self.party.learner)
        return DONE

    def _seal(self, note: Note) -> Note:
        keep_codes(self.party, self._store.folder)
        return DONE

    def _finish(self, note: Note) -> Note:
        if self.name in self.job.seals:
            keep_codes(self.party, self._store.folder)
        files = self._store.finish(self.party.learner, {PARTY: self._about(), **self.data.private})
        return Note("finish", {"files": files})

    def _forget(self, note: Note) -> Note:
        if self._party is None:  # the folder may be another run's
            raise PriveeError("the model is not built yet")
        self._store.forget()
        return DONE

    def _about(self, *, sealed: bool = True) -> Mapping[str, Any]:
        """The site's party.json, as `privee train` writes it; or as it would be without seals and defenses."""
        return party_file(
            party=self.name,
            active=self.name == self.job.active,
            model=self.job.model,
            shape=self.data.columns.shape[1:],
            n_classes=self._n_classes,
            source=self.data.about,
            seal=self.job.seals.get(self.name) if sealed else None,
            embedding_defense=self.job.embedding_defenses.get(self.name) if sealed else None,
        )


def n_classes(given: Any, own: Sequence[str]) -> int:
    """How many classes the coordinator names; where the labels are, it must be right."""
    if type(given) is not int or not 2 <= given <= MAX_CLASSES or (own and given != len(own)):
        raise PriveeError("the coordinator names a wrong number of classes")
    return given

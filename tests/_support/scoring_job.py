"""An ordinary NVFlare job, as somebody else would write it: sites score records, the server collects.

It knows nothing of privee. A site that takes part has this file in its kit's `local/custom` folder and allows its
classes.
"""

import json
import zlib
from pathlib import Path

import numpy as np
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply

TASK, RECEIVED = "predict", "received.json"


def scores_of(site: str, rows: int = 12, classes: int = 5) -> np.ndarray:
    """What a site's model says about its records."""
    odds = np.exp(np.random.default_rng(zlib.crc32(site.encode())).normal(size=(rows, classes)))
    return odds / odds.sum(axis=1, keepdims=True)


class Scorer(Executor):
    """Answers with scores, and more than was asked for; the sites in `broken` have a model that gives no numbers."""

    def __init__(self, broken: list[str]) -> None:
        super().__init__()
        self._broken = broken

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        site = fl_ctx.get_identity_name()
        if task_name != TASK:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        scores = scores_of(site) * (np.nan if site in self._broken else 1.0)
        data = {"scores": scores, "features": np.full(3, 0.25)}
        return DXO(DataKind.COLLECTION, data=data, meta={"note": "of the site"}).to_shareable()


class Collector(Controller):
    """Asks every site once and writes down what came."""

    def __init__(self, seconds: int = 60) -> None:
        super().__init__()
        self._seconds, self._received = seconds, {}

    def start_controller(self, fl_ctx):
        pass

    def stop_controller(self, fl_ctx):
        pass

    def process_result_of_unknown_task(self, client, task_name, client_task_id, result, fl_ctx):
        pass

    def control_flow(self, abort_signal, fl_ctx):
        clients = fl_ctx.get_engine().get_clients()
        task = Task(TASK, data=Shareable(), timeout=self._seconds, result_received_cb=self._take)
        self.broadcast_and_wait(task, fl_ctx, min_responses=len(clients), abort_signal=abort_signal)
        workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
        file = Path(workspace.get_run_dir(fl_ctx.get_job_id())) / RECEIVED
        file.write_text(json.dumps(self._received))

    def _take(self, client_task: ClientTask, fl_ctx):
        result = client_task.result
        about = {"code": result.get_return_code(), "data": None, "all": repr(dict(result))}
        if about["code"] == ReturnCode.OK:
            found = from_shareable(result)
            data = {key: np.asarray(value).tolist() for key, value in found.data.items()}
            about |= {"data": data, "meta": {key: str(value) for key, value in found.meta.items()}}
        self._received[client_task.client.name] = about

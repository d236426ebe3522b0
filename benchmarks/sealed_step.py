"""How much longer a training step takes with a sealed party: against the same step without a seal, by turns.

    python benchmarks/sealed_step.py [--rounds 30]

Two parties with half of 64 or of 784 columns, 10 classes, batches of 128, one thread. Bar: 1.25.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from privee.vfl import JointModel, TrainingSettings, make_models
from privee.vfl.seal.settings import Seal, parse_seal
from privee.vfl.seal.steps import start_steps
from privee.vfl.seeds import batches

RESULTS = Path(__file__).parent / "results" / "sealed_step.json"
ROWS, CLASSES, STEPS = 4096, 10, 32
SEALS = ("codes=8", "codes=8,epsilon=4", "codes=64", "codes=256", "codes=8,learn=own", "signs=4")


def joint(width: int, model: str, seal: Seal | None) -> JointModel:
    rng = np.random.default_rng(0)
    columns = {name: rng.random((ROWS, width // 2), dtype=np.float32) for name in ("active", "passive")}
    made = make_models(model, dict.fromkeys(columns, (width // 2,)), CLASSES, 0, {"passive": seal} if seal else None)
    found = JointModel(columns, rng.integers(0, CLASSES, ROWS), *made)
    found.prepare(torch.arange(ROWS))
    settings = TrainingSettings()
    for learner in found.learners.values():
        learner.start(settings.learning_rate)
        start_steps(learner.model, 0, 10_000)
    return found


def seconds(model: JointModel) -> float:
    """Of one step."""
    parts = batches(torch.arange(ROWS), ROWS // STEPS, 0, 0)
    started = time.perf_counter()
    for _ in model.coordinator.train_epoch(parts):
        pass
    return (time.perf_counter() - started) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for kind, width in (("mlp", 64), ("mlp", 784), ("logistic", 64)):
        models = {"": joint(width, kind, None)} | {spec: joint(width, kind, parse_seal(spec)) for spec in SEALS}
        taken: dict[str, list[float]] = {spec: [] for spec in models}
        for turn in range(given.rounds + 2):
            for spec, model in models.items():
                once = seconds(model)
                if turn > 1:
                    taken[spec].append(once)
        for spec in SEALS:
            ratios = [one / plain for one, plain in zip(taken[spec], taken[""], strict=True)]
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75]).round(3).tolist()
            best = min(taken[spec]) / min(taken[""])
            row = {"model": kind, "columns": width, "seal": spec, "ratio": middle, "quarter": low}
            rows.append(row | {"three_quarters": high, "ratio_of_best": round(best, 3)})
            print(f"{kind:9} {width:4} {spec:20} {middle:.2f} ({low:.2f} to {high:.2f}), best {best:.2f}", flush=True)
        print(f"{kind:9} {width:4} unsealed: {1e3 * statistics.median(taken['']):.2f} ms a step")
    RESULTS.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

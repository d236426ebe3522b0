"""What traces cost a request: where they are off against code that has none, and where they are on.

    python benchmarks/traces.py --turns 60

One gateway in this process, two parties beside it; blocks of single-entity requests by turns, so that a busy machine is
busy for all alike. Ratios of medians over turns, with their middle half.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from privee import traces
from privee.defenses import defense
from privee.gateway.channel.party_channel import PartyChannel
from privee.gateway.demo import make_world, running_parties
from privee.gateway.http.app import make_app
from privee.gateway.http.traced import Traced
from privee.gateway.inference import Inference
from privee.gateway.service import open_service
from privee.gateway.settings import GatewaySettings

STEPS = ((Inference, "_charge"), (Inference, "_release"), (Inference, "_refuse_early"), (PartyChannel, "embeddings"))
BLOCK = 20


class Nowhere(SpanExporter):
    def export(self, spans) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@contextlib.contextmanager
def without() -> Iterator[None]:
    """The steps as they are written, without their decorator."""
    kept = [(cls, name, getattr(cls, name)) for cls, name in STEPS]
    for cls, name, step in kept:
        setattr(cls, name, step.__wrapped__)
    try:
        yield
    finally:
        for cls, name, step in kept:
            setattr(cls, name, step)


WAYS = {
    "none": without,
    "off": contextlib.nullcontext,
    "on": lambda: traces.started(BatchSpanProcessor(Nowhere())),
}


async def block(app, key: str) -> float:
    """Processor time of this process for one request of a block."""
    entity = {"name": "entities", "shape": [1], "datatype": "BYTES", "data": ["17"]}
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here", headers=headers) as client:
        began = time.process_time()
        for _ in range(BLOCK):
            answer = await client.post("/v2/models/digits/infer", json={"inputs": [entity]})
            answer.raise_for_status()
        return (time.process_time() - began) / BLOCK


async def measured(app, key: str, turns: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    async with app.router.lifespan_context(app):
        await block(app, key)
        for turn in range(turns):
            names = list(WAYS)[turn % 3 :] + list(WAYS)[: turn % 3]
            for name in names:
                with WAYS[name]():
                    found[name].append(await block(Traced(app) if name == "on" else app, key))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--turns", type=int, default=60)
    turns = options.parse_args().turns
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder), epochs=1)
        with running_parties(world, world.parties) as parties:
            settings = GatewaySettings(
                run=world.run,
                parties={name: process.address for name, process in parties.items()},
                defense=defense("privee-u:rho=0.1"),
                ledger_url=world.ledger_url,
                ledger_key=world.ledger_key,
                certs=world.certs,
                releases=10**6,
                deadline=30.0,
            )
            app = make_app(open_service(settings))
            found = asyncio.run(measured(app, world.api_key("consumer"), turns))
    for name in ("off", "on"):
        ratios = [one / bare for one, bare in zip(found[name], found["none"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(json.dumps({"traces": name, "ratio": round(middle, 3), "from": round(low, 3), "to": round(high, 3)}))
    print(json.dumps({"ms": {name: round(1000 * statistics.median(times), 3) for name, times in found.items()}}))


if __name__ == "__main__":
    main()

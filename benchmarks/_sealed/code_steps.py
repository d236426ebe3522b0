"""A joint prediction without the gateway's HTTP and ledger: what asking costs, what codes at hand do, each step."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks._sealed.code_gateways import CODES, PASSIVE, infer_body
from privee.gateway.channel.party_channel import PartyChannel
from privee.gateway.coordinator_model import load_coordinator_model
from privee.gateway.demo import World
from privee.gateway.http.protocol import InferRequest, read_query, write_answer
from privee.gateway.inference import Answer
from privee.party.party_model import PartyModel
from privee.party.stores import Source, open_store
from privee.pki.identity import TlsFiles
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal.code_column import CodeColumn

Work = Callable[[Sequence[str]], Awaitable[object]]


def local_predictions(
    world: World, addresses: Mapping[str, str], batches: Sequence[int], rounds: int
) -> list[dict[str, Any]]:
    """Milliseconds of a prediction by the coordinator's own code, by turns: all asked, one handed over, none asked."""
    return asyncio.run(_local_predictions(world, addresses, batches, rounds))


async def _local_predictions(
    world: World, addresses: Mapping[str, str], batches: Sequence[int], rounds: int
) -> list[dict[str, Any]]:
    tls, model = TlsFiles.from_folder(world.certs / "coordinator"), load_coordinator_model(world.run)
    column = CodeColumn.read(world.folder / CODES)
    active = {"active": addresses["active"]}
    both, one = PartyChannel(addresses, tls), PartyChannel(active, tls, columns={PASSIVE: column})
    codes = PartyChannel({PASSIVE: addresses[PASSIVE]}, tls)
    folder = world.run / "parties" / "active"
    about = PartyDescription.read(folder)
    store, bottom = open_store(folder, about, Source("dataset")), PartyModel.load(folder, about)

    async def all_asked(entities: Sequence[str]) -> object:
        return model.scores(await both.embeddings(entities))

    async def handed_over(entities: Sequence[str]) -> object:
        return model.scores(await one.embeddings(entities))

    async def none_asked(entities: Sequence[str]) -> object:
        sent = column.find(entities)[0].astype(np.float32)[:, None]
        return model.scores({"active": bottom.embed(store.find(entities).columns), PASSIVE: sent})

    async def codes_asked(entities: Sequence[str]) -> object:
        return await codes.embeddings(entities)

    async def codes_found(entities: Sequence[str]) -> object:
        return column.find(entities)

    ways: dict[str, Work] = {
        "all asked": all_asked,
        "handed over": handed_over,
        "none asked": none_asked,
        "codes asked": codes_asked,
        "codes found": codes_found,
    }
    found = []
    for batch in batches:
        entities = [str(k) for k in range(batch)]
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 3):
            for name, work in ways.items():
                start = time.perf_counter()
                await work(entities)
                if turn >= 3:
                    times[name].append(1e3 * (time.perf_counter() - start))
        found.append({"batch": batch} | {name: statistics.median(mine) for name, mine in times.items()})
    for channel in (both, one, codes):
        await channel.close()
    return found


def gateway_steps(world: World, batch: int, rounds: int) -> dict[str, float]:
    """Milliseconds of what a gateway does itself for one request with the codes at hand, step by step."""
    model, column = load_coordinator_model(world.run), CodeColumn.read(world.folder / CODES)
    entities = [str(k) for k in range(batch)]
    body = infer_body(entities, 0)
    request = InferRequest.model_validate(json.loads(body))
    codes = column.find(entities)[0].astype(np.float32)[:, None]
    active = np.random.default_rng(0).normal(size=(batch, 64)).astype(np.float32)
    scores = model.scores({"active": active, PASSIVE: codes})
    answer = Answer(scores, "0" * 32, None, 0)
    steps: dict[str, Callable[[], object]] = {
        "read the request": lambda: read_query(InferRequest.model_validate(json.loads(body)), max_entities=4096),
        "find codes": lambda: column.find(entities),
        "scores": lambda: model.scores({"active": active, PASSIVE: codes}),
        "write the answer": lambda: write_answer(answer, request, name="m", version="v", defense="none"),
    }
    return {name: 1e3 * statistics.median(_seconds(work) for _ in range(rounds)) for name, work in steps.items()}


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

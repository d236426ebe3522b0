"""Many ask at once, servers crash: never two codes for an entity, never more answers than allowed.

On PostgreSQL the processes are servers of one party that share a ledger.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests._support.ledger_cases import output, start
from tests._support.party_ledger_cases import OTHER_SEAL, SEAL, Place, codes_of, count, pin

LETTERS = "abcdefgh"


def test_sixty_four_threads_get_one_code_each_and_exactly_what_is_allowed(place):
    with place.open(bits=4, releases=100) as ledger, ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda turn: pin(ledger, LETTERS[:: 1 - 2 * (turn % 2)], turn % 16), range(64)))
        told = {letter: set() for letter in LETTERS}
        for turn, one in enumerate(found):
            for letter, code in zip(LETTERS[:: 1 - 2 * (turn % 2)], one.codes.tolist(), strict=True):
                told[letter].add(code)
        assert {len(codes) for codes in told.values()} == {1}
        assert sum(one.new for one in found) == len(LETTERS)
        assert not any(one.refused.any() for one in found)
        assert all(one.refused.all() for one in pool.map(lambda _: pin(ledger, LETTERS, 3, OTHER_SEAL), range(8)))
        counted = list(pool.map(lambda _: count(ledger, "ab", "xx", whole=True) == [False, False], range(128)))
        assert sum(counted) == 100
        assert ledger.status().most.answers == 100
        assert ledger.chain.verify().ok


HAMMER = """
import json, random, sys, threading
from pathlib import Path
import numpy as np
from privee.party.ledger import *
ledger = PartyLedger.open(sys.argv[1], Path(sys.argv[2]), PartyLimits(bits=4, releases=50))
seal, told, good = SealTerms("5e" * 32, 16, 0.5), {}, []
names = [f"e{number}" for number in range(600)]
def hammer():
    for _ in range(4):
        asked = random.sample(names, 300)
        pinned = ledger.pin(asked, seal, np.random.randint(0, 16, 300).astype(np.uint8))
        for name, code in zip(asked, pinned.codes.tolist()):
            told.setdefault(name, set()).add(code)
    while not ledger.count(["a", "b"], [b"x", b"x"], whole=True).any():
        good.append(1)
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=hammer) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps([len(good), {name: sorted(codes) for name, codes in told.items()}]))
"""


def test_several_processes_agree_on_every_code(place):
    place.open(bits=4, releases=50).close()
    processes = [start(HAMMER, place.address, str(place.secret)) for _ in range(3)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(good for good, _ in ended) == 50
    told = {}
    for _, codes in ended:
        for name, of_name in codes.items():
            told.setdefault(name, set()).update(of_name)
    assert len(told) == 600
    assert {len(codes) for codes in told.values()} == {1}
    with place.open(bits=4, releases=50) as ledger:
        names = sorted(told)
        stored = ledger.pin(names, SEAL, np.zeros(len(names), np.uint8)).codes.tolist()
        assert stored == [min(told[name]) for name in names]


CRASHING = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from privee.party.ledger import *
place, limits = (sys.argv[1], Path(sys.argv[2])), PartyLimits(bits=4, releases=1000)
seal = SealTerms("5e" * 32, 16, 0.5)
PartyLedger.open(*place, limits).close()
reads, writes = os.pipe()
for turn in range(15):
    child = os.fork()
    if not child:
        np.random.seed(turn)
        ledger = PartyLedger.open(*place, limits)
        os.write(writes, b"x")
        while True:
            asked = [f"e{number}" for number in np.random.choice(60 + 60 * turn, 40, replace=False)]
            codes = ledger.pin(asked, seal, np.random.randint(0, 16, 40).astype(np.uint8)).codes
            os.write(1, "".join(f"{name} {code}\\n" for name, code in zip(asked, codes)).encode())
            if not ledger.count([f"turn {turn}"], [b"x"]).any():
                os.write(1, f"turn{turn} counted\\n".encode())
    os.read(reads, 1)
    time.sleep(random.uniform(0, 0.12))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_killed_at_any_moment_no_entity_is_ever_answered_with_two_codes(place):
    lines = output(CRASHING, place.address, str(place.secret)).split("\n")[:-1]
    told: dict[str, set[str]] = {}
    counted = [line for line in lines if line.endswith("counted")]
    for line in set(lines) - set(counted):
        name, _, code = line.partition(" ")
        told.setdefault(name, set()).add(code)
    assert len(told) > 100
    assert {name: codes for name, codes in told.items() if len(codes) > 1} == {}
    with place.open(bits=4, releases=1000) as ledger:
        names = sorted(told)
        stored = ledger.pin(names, SEAL, np.zeros(len(names), np.uint8)).codes.tolist()
        assert stored == [int(min(told[name])) for name in names]
        assert ledger.chain.verify().ok
        for turn in range(15):  # one answer at most was under way
            seen = counted.count(f"turn{turn} counted")
            given = ledger.spent(f"turn {turn}").answers
            assert seen <= given <= seen + 1


@pytest.mark.parametrize("killed", [False, True])
def test_what_was_answered_outlives_the_database_server(postgres, tmp_path, killed):
    place = Place(postgres.empty_database(), tmp_path / "ledger.key")
    with place.open() as ledger:
        pin(ledger, "ab", [1, 2])
        if killed:
            postgres.stop()
            postgres.start()
        else:
            postgres.disconnect_all()
        assert codes_of(ledger, "ab") == [1, 2]

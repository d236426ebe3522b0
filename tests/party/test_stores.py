"""Where a party's columns come from: files and databases, read and only read, and what cannot be served."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from privee.errors import PriveeError
from privee.party.sql_store import SqlStore
from privee.party.stores import Source, open_store, read_preprocessing
from privee.processes import start_party
from privee.vfl.experiment import open_run
from privee.vfl.run_format import PartyDescription
from tests._support.party_world import World


def test_every_kind_of_store_gives_the_very_same_columns(world):
    _, data = open_run(world.folder / "tables", world.tables("tables"))
    entities = [*data.ids[::-1], "kunde-9999"]
    for party in ("bank", "shop"):
        folder = world.part("tables", party)
        about = PartyDescription.read(folder)
        database = Source(f"sqlite:///{world.folder / 'tables.db'}", table=party)
        files = [Source(str(world.folder / f"{party}.{suffix}")) for suffix in ("csv", "parquet")]
        for source in (*files, database):
            store = open_store(folder, about, source)
            found = store.find(entities)
            store.close()
            assert found.unknown.tolist() == [False] * len(data.ids) + [True]
            assert np.array_equal(found.columns[:-1], data.columns[party][::-1])
            assert not found.columns[-1].any()


def odd_rows() -> list[tuple[Any, ...]]:
    """Id, visits, city: what a database holds that no file of the training had."""
    return [("1", 3, "north"), ("2", None, " süd "), ("3", 4.5, ""), ("4", 2, "moon"), ("007", 1, None)]


def expect_odd_rows(store: SqlStore, world: World) -> None:
    path = world.folder / "odd.csv"
    path.write_text("customer,visits,city\n1,3,north\n2,,süd\n3,4.5,\n4,2,moon\n007,1,\n", encoding="utf-8")
    folder = world.part("tables", "shop")
    source = Source(str(path), aligned="all")
    expected = open_store(folder, PartyDescription.read(folder), source).find(["1", "2", "3", "4", "007"])
    entities = ["1", "x' OR '1'='1", "2", "7", "3", "a\0b", "4", "007", "1", "n" * 256]
    found = store.find(entities)
    assert found.unknown.tolist() == [False, True, False, True, False, True, False, False, False, True]
    assert np.array_equal(found.columns[[0, 2, 4, 6, 7]], expected.columns)
    assert np.array_equal(found.columns[8], expected.columns[0])
    assert not found.columns[found.unknown].any()
    assert store.find([str(k) for k in range(1, 1400)]).unknown.tolist() == [False] * 4 + [True] * 1395


def fitted(world: World):
    folder = world.part("tables", "shop")
    return read_preprocessing(folder, PartyDescription.read(folder))


@pytest.fixture
def odd_database(world, tmp_path) -> Path:
    """Names that must be quoted, and a column that is nobody's business."""
    path = tmp_path / "odd #%.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute('CREATE TABLE "shop; DROP" ("the id" TEXT, visits REAL, city TEXT, secret BLOB)')
        rows = [(*row, b"x") for row in odd_rows()]
        database.executemany('INSERT INTO "shop; DROP" VALUES (?, ?, ?, ?)', rows)
        database.execute("CREATE TABLE numbers (id INTEGER, visits TEXT, city TEXT)")
        rows = [
            (1, "3", "north"),
            (7, "2", "süd"),
            (8, "many", "süd"),
            (9, "1", "süd"),
            (9, "2", "süd"),
            (10, "1e999", ""),
        ]
        database.executemany("INSERT INTO numbers VALUES (?, ?, ?)", rows)
    return path


def test_a_sqlite_table_is_read_and_only_read(world, odd_database):
    before = odd_database.read_bytes()
    store = SqlStore(f"sqlite:///{odd_database}", "shop; DROP", "the id", fitted(world))
    try:
        expect_odd_rows(store, world)
        assert "secret" not in str(store._select)
        with pytest.raises(Exception, match="readonly"), store._engine.connect() as connection:
            connection.exec_driver_sql('DELETE FROM "shop; DROP"')
    finally:
        store.close()
    assert odd_database.read_bytes() == before


def test_rows_that_cannot_be_read_spoil_no_others(world, odd_database):
    """Whole-number ids: 7 is known, 007 is another name. Twice, not a number and infinite count as unknown."""
    store = SqlStore(f"sqlite:///{odd_database}", "numbers", "id", fitted(world))
    try:
        found = store.find(["1", "8", "7", "9", "10", "007", "99999999999999999999", "-1", "1"])
        assert found.unknown.tolist() == [False, True, False, True, True, True, True, True, False]
        assert np.array_equal(found.columns[[0, 2]], store.find(["1", "7"]).columns)
        assert found.columns[2].any()
    finally:
        store.close()


def test_a_postgresql_table_is_read_and_only_read(world, postgres_url):
    with psycopg.connect(postgres_url) as database:
        database.execute('CREATE SCHEMA "the shop"')
        columns = '"the id" text, visits numeric, city char(8), secret bytea'
        database.execute(f'CREATE TABLE "the shop"."a; DROP" ({columns})')
        with database.cursor() as cursor:
            insert = 'INSERT INTO "the shop"."a; DROP" VALUES (%s, %s, %s, %s)'
            cursor.executemany(insert, [(*row, b"x") for row in odd_rows()])
        database.execute("CREATE TABLE numbers (id int, visits int, city text)")
        database.execute("INSERT INTO numbers VALUES (1, 3, 'north'), (7, NULL, NULL)")
        database.execute("CREATE TABLE names (id uuid, visits int, city text)")
        database.execute("INSERT INTO names VALUES ('7b1f6b0e-6a0c-4d7e-8d7c-0123456789ab', 3, 'north')")
    stores = [SqlStore(postgres_url, "the shop.a; DROP", "the id", fitted(world))]
    try:
        expect_odd_rows(stores[0], world)
        with pytest.raises(Exception, match="read-only"), stores[0]._engine.connect() as connection:
            connection.exec_driver_sql('DELETE FROM "the shop"."a; DROP"')
        stores += [SqlStore(postgres_url, name, "id", fitted(world)) for name in ("numbers", "names")]
        found = stores[1].find(["7", "1", "007", "3000000000", "9999999999999999999", "x"])
        assert found.unknown.tolist() == [False, False, True, True, True, True]
        assert np.array_equal(found.columns[1], stores[0].find(["1"]).columns[0])
        name = "7b1f6b0e-6a0c-4d7e-8d7c-0123456789ab"
        assert stores[2].find([name, name.upper(), "x"]).unknown.tolist() == [False, True, True]
    finally:
        for store in stores:
            store.close()


BLANKS = ["7", "7 ", "7   ", " 7", "7\t", "1234", "12345", "1234 ", "  7 ", "ä", " ", "a\0"]


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("char(4)", {"7", " 7", "7\t", "1234", "ä"}),
        ("varchar(9)", {"7", "7 ", "7\t", "1234", "ä", " 7"}),
        ("text", {"7", "7 ", "7\t", "1234", "ä", " 7"}),
    ],
)
def test_blanks_that_postgresql_adds_to_ids_are_not_part_of_them(world, postgres_url, kind, known):
    """A char(4) holds "7" as "7   ", and equals it to "7 ", which is another entity; other types add nothing."""
    held = sorted(known)
    with psycopg.connect(postgres_url) as database:
        database.execute(f"CREATE TABLE padded (id {kind} PRIMARY KEY, visits int, city text)")
        with database.cursor() as cursor:
            cursor.executemany("INSERT INTO padded VALUES (%s, %s, NULL)", [(id_, k) for k, id_ in enumerate(held)])
    store = SqlStore(postgres_url, "padded", "id", fitted(world))
    try:
        found = store.find(BLANKS)
        assert {entity for entity, unknown in zip(BLANKS, found.unknown, strict=True) if not unknown} == known
        rows = [store.find([entity]).columns[0] for entity in held]
        assert len({row.tobytes() for row in rows}) == len(held)
        for entity, row in zip(held, rows, strict=True):
            assert np.array_equal(found.columns[BLANKS.index(entity)], row)
        far = ["7", *(f"x{k}" for k in range(600)), "7 "]  # in another statement than the first
        assert store.find(far).unknown.tolist() == [False, *[True] * 600, "7 " not in known]
    finally:
        store.close()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Source("nowhere.csv"), "no such file"),
        (Source("{folder}/bank.csv"), "lacks columns"),
        (Source("{folder}/shop.csv", id_column="kunde"), "no column 'kunde'"),
        (Source("{folder}/shop.csv", table="shop"), "--table is for a database"),
        (Source("{folder}/twice.csv"), "1 duplicate id; first at data rows 1 and 3"),
        (Source("dataset"), "was trained on its own table"),
        (Source("sqlite:///{folder}/tables.db"), "Give --table NAME"),
        (Source("sqlite:///{folder}/tables.db", table="sh'op"), "the database has no table"),
        (Source("sqlite:///{folder}/tables.db", table="bank"), "has no column 'visits'"),
        (Source("sqlite:///{folder}/tables.db", table="shop", id_column="kunde"), "has no column 'kunde'"),
        (Source("sqlite:///{folder}/new.db", table="shop"), "cannot read the table 'shop': unable to open"),
        (Source("sqlite:///{folder}/shop.csv", table="shop"), "file is not a database"),
        (Source("sqlite:///{folder}/blobs.db", table="shop"), "column 'city' holds binary"),
        (Source("sqlite://", table="shop"), "is a file"),
        (Source("mysql://u:geheim@host/x", table="shop"), "SQLite or PostgreSQL, not from mysql"),
        (Source("://geheim", table="shop"), "a database's address is like"),
        (Source("postgresql://u:geheim@127.0.0.1:1/x", table="shop"), "cannot read the table 'shop'"),
    ],
)
def test_sources_that_cannot_be_served_are_told(world, source, words):
    (world.folder / "twice.csv").write_text("customer,visits,city\na,1,x\nb,1,x\na,2,x\n")
    with contextlib.closing(sqlite3.connect(world.folder / "blobs.db")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS shop (customer TEXT, visits INTEGER, city BLOB)")
        database.execute("INSERT INTO shop VALUES ('a', 1, x'00')")
    folder = world.part("tables", "shop")
    data = source.data.format(folder=world.folder)
    with pytest.raises(PriveeError, match=words) as caught:
        open_store(folder, PartyDescription.read(folder), Source(data, source.table, source.id_column))
    assert "geheim" not in str(caught.value)
    assert "geheim" not in repr(source)
    assert "\n" not in str(caught.value)
    assert not (world.folder / "new.db").exists()


def test_a_folder_of_an_older_run_says_what_to_do(world, tmp_path):
    with pytest.raises(PriveeError, match=r"the party did not start: .*holds no party\.json.*party describe RUN"):
        start_party(tmp_path, ["--data", "x.csv"], None, tmp_path / "log").wait_ready()
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    (tmp_path / "party.json").write_text('{"format": 2}')
    with pytest.raises(PriveeError, match="is of format 2; this privee reads 1"):
        PartyDescription.read(tmp_path)
    for text in ("", "[]", '{"format": 1}', '{"format": 1, "party": "a", "model": "mlp", "shape": [], "n_classes": 2}'):
        (tmp_path / "party.json").write_text(text)
        with pytest.raises(PriveeError, match=r"party\.json is damaged"):
            PartyDescription.read(tmp_path)

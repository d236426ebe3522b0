"""Score files, read and written a block at a time: CSV, Parquet and .npy, by suffix."""

from privee.data.score_files.blocks import Block, Reader, Writer
from privee.data.score_files.open_files import open_reader, open_writer
from privee.scores.columns import Columns, choose_columns

__all__ = ["Block", "Columns", "Reader", "Writer", "choose_columns", "open_reader", "open_writer"]

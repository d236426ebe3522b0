"""The leaderboard: every defense under every attack on the same models, in one table."""

from privee.extras import require

require("privee.bench", "torch", "safetensors", "sklearn", "pyarrow", "joblib", "matplotlib", extra="audit")

from privee.bench.board import Board, load_board, make_board, save_board
from privee.bench.plan import SIZES, Plan
from privee.bench.running import Bench

__all__ = ["SIZES", "Bench", "Board", "Plan", "load_board", "make_board", "save_board"]

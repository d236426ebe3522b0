"""Parquet files whose size once read is known before they are."""

from privee.data.files.parquet import bounded, read_bounded, text_bytes, unpacked

__all__ = ["bounded", "read_bounded", "text_bytes", "unpacked"]

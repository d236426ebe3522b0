"""Record alignment: parties find their common records by private set intersection and put them in the same order."""

from privee.data.alignment.aligners import ActiveAligner, PassiveAligner
from privee.data.alignment.file_alignment import FileAlignment, align_files
from privee.data.alignment.in_process import Alignment, Traffic, align

__all__ = ["ActiveAligner", "Alignment", "FileAlignment", "PassiveAligner", "Traffic", "align", "align_files"]

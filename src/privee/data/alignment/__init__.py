"""Record alignment: parties find their common records by private set intersection and put them in the same order."""

from privee.data.alignment.active import ActiveAligner
from privee.data.alignment.files import FileAlignment, align_files
from privee.data.alignment.in_process import Alignment, Traffic, align
from privee.data.alignment.passive import PassiveAligner

__all__ = ["ActiveAligner", "Alignment", "FileAlignment", "PassiveAligner", "Traffic", "align", "align_files"]

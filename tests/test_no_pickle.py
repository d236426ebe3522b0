"""Nothing of the package reads or writes pickles."""

import re
from pathlib import Path

import privee


def test_the_package_uses_no_pickle():
    """Neither directly nor through torch.save, torch.load, joblib or NumPy's object arrays."""
    source = Path(privee.__file__).parent
    forbidden = re.compile(r"\b(import pickle|from pickle|torch\.(save|load)\(|joblib\.(dump|load)|allow_pickle=True)")
    found = [path.name for path in source.rglob("*.py") if forbidden.search(path.read_text())]
    assert found == []

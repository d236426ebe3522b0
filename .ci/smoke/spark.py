"""What Spark is given is there; Spark itself needs Java (tests/adapters runs it where there is one)."""

import pyspark

from privee.adapters.batches import release_batches

assert pyspark.__version__
assert callable(release_batches)

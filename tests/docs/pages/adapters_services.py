"""Its examples are run one by one; those of Ray and Spark in tests/adapters/test_batches.py."""

RUN_BY = "tests/adapters/test_services_page.py"

"""Its examples are run one by one."""

RUN_BY = "tests/adapters/test_page.py"

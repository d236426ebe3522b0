RUN_BY = "tests/cli/test_from_csv_to_gateway.py"

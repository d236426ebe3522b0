RUN_BY = "tests/test_one_file.py"

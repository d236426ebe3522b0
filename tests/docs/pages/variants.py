SMALLER = {"privee train": "--epochs 10", "privee budget": "--records 6 --auxiliary 60"}

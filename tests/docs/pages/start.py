SMALLER = {"privee train": "--epochs 2", "privee attack": "--records 20"}

SMALLER = {"privee train": "--epochs 2", "privee seal": "--epochs 2"}

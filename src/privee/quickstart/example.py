"""The plan that `privee quickstart --init` writes, to be filled in."""

from __future__ import annotations

from pathlib import Path

from privee.atomic import whole_file

EXAMPLE = """\
# What `privee quickstart` needs to know. Paths are seen from this file's folder; what begins with # is a comment.

parties:
  bank:
    file: bank.csv             # .csv, .tsv, .csv.gz or .parquet; delimiter, encoding and decimal commas are found
    id: customer               # the column that names the records; it may be called otherwise at each party
    label: risk                # at one party alone, the active one: what is to be predicted
  shop:
    file: shop.csv
    id: customer
    # drop: [note, phone]      # columns to leave out
    # categorical: [branch]    # numbers that are codes
    # delimiter: ";"           # only if it is not found

name: risk                     # of the model
out: quickstart                # folder for all that is made

# missing_labels: drop         # train without records that have no label; else they are refused
# label_threshold: 500         # a label with many numbers: two classes, below this and from it on
# label_is: class              # or each number is a class
# test_share: 0.2              # share of the records kept for testing
# model: mlp                   # or logistic
# training: {epochs: 30, learning_rate: 0.001}   # else as suits the table

# keep: class                  # what a release must keep: class, ranking, top-3, order-of-records (privee recommend);
                               # else the order of records with two classes, the ranking with more
# releases: 1                  # how many a record may give; the same question again gets the same answer, uncounted
# seal: codes=8                # or codes=8,epsilon=4: all parties but the active one send one of 8 codes per record,
                               # ever; then scores may be released as they are, and `releases` is without end
# lifetime_codes: 1            # how many a record may give in its life: a model that is trained anew draws another
# defense: ordered-dp:epsilon=4  # in place of the one that is recommended
# sensitive: [shop:basket]     # private columns to look at first, and that a seal's codes should tell little of
# port: 8080                   # of the gateway; the parties listen on the next ones
"""


def write_example(path: Path) -> None:
    """Write it, unless there is a file of that name."""
    with whole_file(path) as partial:
        partial.write_text(EXAMPLE, encoding="utf-8")

"""The attack by chosen questions: what a party learns that may ask about a record with own columns of its choice."""

from privee.attacks.chosen.chosen_columns import ChosenColumns as ChosenColumns

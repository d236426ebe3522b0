"""The ledger: the durable count of what each entity has already given away, who may ask, and who changed what."""

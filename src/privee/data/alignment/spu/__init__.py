"""The second engine of record alignment: RR22 of spu, run by another Python that we talk to over pipes."""

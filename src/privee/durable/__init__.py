"""What the gateway's ledger and a party's stand on: durable writes, lost counts that show, a log that holds."""

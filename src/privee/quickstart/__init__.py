"""From the parties' tables to a report and a gateway that is ready to start, by one file that says what is what."""

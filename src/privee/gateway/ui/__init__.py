"""Pages for people: the auditors' dashboard and the API's documentation. No script, nothing from another host."""

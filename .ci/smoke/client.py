"""The client: it is there, and says in one line that nobody answers."""

import privee

try:
    with privee.Client("http://127.0.0.1:9", key="privee_none") as client:
        client.infer(["17"])
except privee.UnavailableError as error:
    assert "\n" not in str(error)
else:
    raise AssertionError("nobody listens there")

"""A small server of the Open Inference Protocol with JSON tensors, as Triton, KServe and MLServer speak it."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OipServer:
    """One model, `iris`, whose scores come from a function of rows.

    Attributes:
        about: its metadata.
        asked: bodies and headers of all requests for scores.
        status: what it answers with.
        seconds: how long that takes.
        version: what answers say of themselves.
    """

    def __init__(self, score, *, inputs=None, outputs=None):
        one = [{"name": "x", "datatype": "FP64", "shape": [-1, 4]}]
        gives = [
            {"name": "label", "datatype": "INT64", "shape": [-1]},
            {"name": "p", "datatype": "FP32", "shape": [-1, 3]},
        ]
        self.about = {"name": "iris", "versions": ["1"], "platform": "test"}
        self.about |= {"inputs": one if inputs is None else inputs, "outputs": gives if outputs is None else outputs}
        self.score, self.asked, self.status, self.seconds, self.version = score, [], 200, 0.0, "1"
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                ready = self.path == "/v2/models/iris/ready"
                known = ready or self.path == "/v2/models/iris"
                self.say(server.status if known else 404, {} if ready else server.about)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.asked.append((body, {name.lower(): value for name, value in self.headers.items()}))
                time.sleep(server.seconds)
                if server.status != 200:
                    return self.say(server.status, {"error": "no"})
                found = server.score(body["inputs"])
                tensor = {"name": "p", "datatype": "FP32", "shape": list(found.shape), "data": found.ravel().tolist()}
                self.say(200, {"model_name": "iris", "model_version": server.version, "outputs": [tensor]})

            def say(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                with contextlib.suppress(OSError):  # nobody waits any more
                    self.wfile.write(text)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/v2/models/iris"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

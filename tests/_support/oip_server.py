"""A small server of the Open Inference Protocol, its tensors as JSON or bytes, like Triton, KServe and MLServer."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

HEAD = "inference-header-content-length"
DTYPES = {"FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "INT64": "<i8"}


class OipServer:
    """One model, `iris`, whose scores come from a function of rows.

    Attributes:
        about: its metadata.
        asked: bodies and headers of all requests for scores.
        status: what it answers with.
        seconds: how long that takes.
        version: what answers say of themselves.
        gives: name and datatype of what it answers with.
        extensions: of the protocol; with "binary_tensor_data" it takes and gives bytes.
        most: rows it takes at once, as it says like Triton does; None: it does not say.
        raw: what it answers to everything, if anything.
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
        self.gives, self.extensions, self.most, self.raw = ("p", "FP32"), [], None, None
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                said = {"/v2": {"extensions": server.extensions}, "/v2/models/iris": server.about}
                said |= {"/v2/models/iris/ready": {}}
                said |= {"/v2/models/iris/config": {"max_batch_size": server.most}} if server.most is not None else {}
                self.say(server.status if self.path in said else 404, said.get(self.path))

            def do_POST(self):
                body = _attached(self.rfile.read(int(self.headers["content-length"])), self.headers.get(HEAD))
                server.asked.append((body, {name.lower(): value for name, value in self.headers.items()}))
                time.sleep(server.seconds)
                unknown = any(one["name"] != server.gives[0] for one in body.get("outputs", []))
                many = server.most and body["inputs"][0]["shape"][0] > server.most
                status = 400 if unknown or many else server.status
                if status != 200:
                    return self.say(status, {"error": "no"})
                found = server.score(body["inputs"])
                name, datatype = server.gives
                tensor = {"name": name, "datatype": datatype, "shape": list(found.shape)}
                answer = {"model_name": "iris", "model_version": server.version, "outputs": [tensor]}
                if _wants_bytes(body) and "binary_tensor_data" in server.extensions:
                    raw = found.astype(DTYPES[datatype]).tobytes()
                    tensor["parameters"] = {"binary_data_size": len(raw)}
                    return self.say(200, answer, raw)
                tensor["data"] = found.ravel().tolist()
                self.say(200, answer)

            def say(self, status, body, behind=b""):
                text = json.dumps(body).encode() if server.raw is None else server.raw
                self.send_response(status)
                self.send_header("content-type", "application/json")
                if behind:
                    self.send_header(HEAD, str(len(text)))
                self.send_header("content-length", str(len(text + behind)))
                self.end_headers()
                with contextlib.suppress(OSError):  # nobody waits any more
                    self.wfile.write(text + behind)

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


def _attached(content, length):
    """The request, with numbers that came as bytes as the `data` of their tensors."""
    end = len(content) if length is None else int(length)
    body = json.loads(content[:end])
    for one in body["inputs"]:
        size = one.get("parameters", {}).get("binary_data_size")
        if size is not None:
            one["data"] = np.frombuffer(content[end : end + size], DTYPES[one["datatype"]]).tolist()
            end += size
    return body


def _wants_bytes(body):
    wanted = [*body.get("outputs", []), body]
    return any({"binary_data", "binary_data_output"} & set(one.get("parameters", {})) for one in wanted)

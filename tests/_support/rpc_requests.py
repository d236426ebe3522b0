"""Calls of the gateway's gRPC service without a client's help, on a connection of their own each."""

import grpc

from privee.gateway.demo import MODEL
from privee.gateway.rpc.messages import CLASSES, SERVICE

ALONE = [("grpc.use_local_subchannel_pool", 1)]


def request(*entities: str, **more) -> bytes:
    """A ModelInferRequest of which anything may be wrong."""
    tensor = {"name": "entities", "datatype": "BYTES", "shape": [len(entities)]}
    contents = {"bytes_contents": [one.encode() for one in entities]}
    made = CLASSES["ModelInferRequest"](**{"model_name": MODEL, "inputs": [tensor | {"contents": contents}]} | more)
    return made.SerializeToString()


def release_id(address: str, key: str, *entities: str, timeout: float = 60) -> str:
    """Of an answer; or the code with which it was refused."""
    with grpc.insecure_channel(address, options=ALONE) as channel:
        asked = channel.unary_unary(f"/{SERVICE}/ModelInfer")
        try:
            answer = asked(request(*entities), metadata=[("authorization", f"Bearer {key}")], timeout=timeout)
        except grpc.RpcError as error:
            return error.code().name
    return CLASSES["ModelInferResponse"].FromString(answer).parameters["release_id"].string_param

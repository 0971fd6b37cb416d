"""A gRPC server that is not tonic, and does what its requests tell it to do.

    server.py [--port PORT] [--without-health]

It prints the port it listens on, and another that only it listens on, and lives until its standard
input ends.

The service is `lab.v1.Lab` of `tests/proto/lab.proto`. No generated code is needed: a message that
has nothing but its first field is a `StringValue` on the wire. The text of a request, or of the
first of many, is JSON:

    {"key": "a name for the call", "replies": [REPLY, ...]}

The first request with a key gets the first reply, and so on; the last one is given for ever. What
is not in a reply does not happen:

    headers    true: response headers are sent before anything else
    items      texts that a response stream begins with
    hang       true: nothing more comes until the client has gone
    text       what is answered
    times      how often the text is repeated, to make it long
    gzip       true: the answer may be compressed
    code       the name of a status; the call fails with it
    message    the words of that status
    sent       true: a unary call that fails sends its answer before
    trailers   pairs of names and values
    retry_info seconds, as google.rpc.RetryInfo in grpc-status-details-bin

`/interop.Peer/Control` takes JSON and answers in JSON; see `Peer`.
"""

import argparse
import collections
import json
import math
import sys
import threading
from concurrent import futures

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


class Lab:
    """What the requests with one key have seen, and what the next one gets."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = collections.defaultdict(list)

    def unary(self, request, context):
        return self.answer(json.loads(request.value), context)

    def export(self, request, context):
        reply, seen = self.begin(json.loads(request.value), context)
        for item in reply.get("items", []):
            yield StringValue(value=item)
        if reply.get("hang"):
            hang(seen, context)
        if "code" in reply:
            fail(reply, context)

    def upload(self, requests, context):
        texts = [request.value for request in requests]
        script = {"key": "upload", "replies": [{"text": "+".join(texts)}]}
        if texts and texts[0].startswith("{"):
            script = json.loads(texts[0])
        return self.answer(script, context)

    def chat(self, requests, context):
        for request in requests:
            yield request

    def answer(self, script, context):
        reply, seen = self.begin(script, context)
        if reply.get("hang"):
            hang(seen, context)
        if "code" in reply and not reply.get("sent"):
            fail(reply, context)
        if "code" in reply:
            context.set_code(grpc.StatusCode[reply["code"]])
            context.set_details(reply.get("message", ""))
            context.set_trailing_metadata(trailers_of(reply))
        if reply.get("gzip"):
            context.set_compression(grpc.Compression.Gzip)
        return StringValue(value=reply.get("text", "") * reply.get("times", 1))

    def begin(self, script, context):
        metadata = {name: value for name, value in context.invocation_metadata()}
        left = context.time_remaining()
        seen = {
            "previous": metadata.get("grpc-previous-rpc-attempts"),
            "left": left if left is not None and math.isfinite(left) and left < 1e9 else None,
            "gone": False,
        }
        with self.lock:
            requests = self.seen[script["key"]]
            reply = script["replies"][min(len(requests), len(script["replies"]) - 1)]
            requests.append(seen)
        if reply.get("headers"):
            context.send_initial_metadata(())
        return reply, seen


def hang(seen, context):
    gone = threading.Event()
    if context.add_callback(gone.set):
        gone.wait(60)
    seen["gone"] = True


def fail(reply, context):
    context.set_trailing_metadata(trailers_of(reply))
    context.abort(grpc.StatusCode[reply["code"]], reply.get("message", ""))


def trailers_of(reply):
    trailers = [tuple(pair) for pair in reply.get("trailers", [])]
    if "retry_info" in reply:
        info, packed = RetryInfo(), Any()
        info.retry_delay.FromNanoseconds(int(reply["retry_info"] * 1e9))
        packed.Pack(info)
        code = grpc.StatusCode[reply["code"]].value[0]
        status = Status(code=code, message=reply.get("message", ""), details=[packed])
        trailers.append(("grpc-status-details-bin", status.SerializeToString()))
    return tuple(trailers)


class Peer(grpc.ServerInterceptor):
    """What a test may ask the server itself, and how often each method was called."""

    def __init__(self, lab):
        self.lab = lab
        self.lock = threading.Lock()
        self.calls = collections.Counter()
        self.health = health.HealthServicer()
        self.server = None

    def intercept_service(self, continuation, details):
        with self.lock:
            self.calls[details.method] += 1
        return continuation(details)

    def control(self, request, context):
        told = json.loads(request)
        return json.dumps(getattr(self, told.pop("do"))(**told)).encode()

    def seen(self, key):
        """What was seen of the requests with this key."""
        with self.lab.lock:
            return self.lab.seen[key]

    def count(self, method):
        """How often this method was called, whether it exists or not."""
        with self.lock:
            return self.calls[method]

    def set_health(self, service, status):
        """What the health service says from now on."""
        self.health.set(service, health_pb2.HealthCheckResponse.ServingStatus.Value(status))

    def stop(self, grace):
        """Says GOAWAY, and waits for the calls under way."""
        # This call is one of them.
        threading.Thread(target=self.server.stop, args=(grace,), daemon=True).start()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--without-health", action="store_true")
    arguments = arguments.parse_args()

    lab = Lab()
    peer = Peer(lab)
    # More than any test has calls and watches at a time.
    peer.server = grpc.server(futures.ThreadPoolExecutor(32), interceptors=[peer])
    message = (StringValue.FromString, StringValue.SerializeToString)
    unary = grpc.unary_unary_rpc_method_handler(lab.unary, *message)
    methods = {
        "Echo": unary,
        "Put": unary,
        "Charge": unary,
        "Export": grpc.unary_stream_rpc_method_handler(lab.export, *message),
        "Upload": grpc.stream_unary_rpc_method_handler(lab.upload, *message),
        "Chat": grpc.stream_stream_rpc_method_handler(lab.chat, *message),
    }
    control = {"Control": grpc.unary_unary_rpc_method_handler(peer.control)}
    for service, handlers in (("lab.v1.Lab", methods), ("interop.Peer", control)):
        handler = grpc.method_handlers_generic_handler(service, handlers)
        peer.server.add_generic_rpc_handlers((handler,))
    if not arguments.without_health:
        health_pb2_grpc.add_HealthServicer_to_server(peer.health, peer.server)
    # Several servers may share the first; who controls one must not reach another.
    ports = [peer.server.add_insecure_port(f"127.0.0.1:{port}") for port in (arguments.port, 0)]
    peer.server.start()
    print(*ports, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

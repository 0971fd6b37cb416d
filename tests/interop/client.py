"""A gRPC client that is not tonic: does what it is told on the command line, and says what came.

    client.py PORT JOB

A job is JSON; what is not in it does not happen:

    service_config  how gRPC is to make the calls
    calls           one after the other: {"method", "text" or "texts", "timeout", "wait_for_ready",
                    "stream": true where responses are a stream}
    watch           the service whose health is watched, until "changes" answers have come

It prints a list with one result for each call, or each answer to the watch on a line.
"""

import json
import sys
import time

import grpc
from google.protobuf.wrappers_pb2 import StringValue
from grpc_health.v1 import health_pb2, health_pb2_grpc


def made(channel, call):
    """What one call came to."""
    many = [StringValue(value=text) for text in call.get("texts", [])]
    request = iter(many) if many else StringValue(value=call.get("text", ""))
    kind = ("stream" if many else "unary") + ("_stream" if call.get("stream") else "_unary")
    codec = (StringValue.SerializeToString, StringValue.FromString)
    method = getattr(channel, kind)(call["method"], *codec)
    options = {"timeout": call.get("timeout"), "wait_for_ready": call.get("wait_for_ready")}
    result, began = {"code": "OK", "texts": [], "trailers": {}}, time.monotonic()
    try:
        answer = method(request, **options)
        for message in answer if call.get("stream") else [answer]:
            result["texts"].append(message.value)
    except grpc.RpcError as error:
        result["code"], result["message"] = error.code().name, error.details()
        # What is binary says nothing here.
        result["trailers"] = {
            name: value for name, value in error.trailing_metadata() or () if isinstance(value, str)
        }
    result["took"] = time.monotonic() - began
    return result


def watched(channel, service, changes):
    """The names of the first answers to a watch, each as it comes."""
    stub = health_pb2_grpc.HealthStub(channel)
    answers = stub.Watch(health_pb2.HealthCheckRequest(service=service), timeout=60)
    for _ in range(changes):
        status = next(answers).status
        print(health_pb2.HealthCheckResponse.ServingStatus.Name(status), flush=True)
    answers.cancel()


def main():
    port, job = sys.argv[1], json.loads(sys.argv[2])
    options = []
    if "service_config" in job:
        options.append(("grpc.service_config", json.dumps(job["service_config"])))
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        if "watch" in job:
            watched(channel, job["watch"], job["changes"])
        else:
            print(json.dumps([made(channel, call) for call in job["calls"]]), flush=True)


if __name__ == "__main__":
    main()

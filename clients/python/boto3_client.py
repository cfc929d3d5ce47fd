"""boto3's client of S3, as it comes: objects in a bucket that is in the path."""

import contextvars
import threading

import boto3
import botocore.config
import botocore.exceptions

import kit

# Of the call that this thread makes.
number = contextvars.ContextVar("number")
session = boto3.Session("none", "none", region_name="us-east-1")
clients = {}
# A session makes one client at a time.
making = threading.Lock()


def with_number(params, **_):
    params["headers"]["Wirefault-Call"] = number.get()


def client_of(origin, limits):
    with making:
        if origin not in clients:
            # What is not told stays as it comes.
            options = {"s3": {"addressing_style": "path"}}
            if "attempts" in limits:
                options["retries"] = {"total_max_attempts": limits["attempts"]}
            if "connect_ms" in limits:
                options["connect_timeout"] = limits["connect_ms"] / 1000
            if "idle_ms" in limits:
                options["read_timeout"] = limits["idle_ms"] / 1000
            config = botocore.config.Config(**options)
            client = session.client("s3", endpoint_url=origin, config=config)
            client.meta.events.register("before-call.s3", with_number)
            clients[origin] = client
        return clients[origin]


def make(call, limits):
    client = client_of(kit.origin(call), limits)
    number.set(str(call["id"]))
    body = None
    try:
        if call["operation"] == "fetch":
            answer = client.get_object(Bucket="bucket", Key="item")
            body = answer["Body"].read()
        elif call["operation"] == "replace":
            answer = client.put_object(Bucket="bucket", Key="item", Body=kit.body(call))
        elif call["operation"] == "remove":
            answer = client.delete_object(Bucket="bucket", Key="item")
        elif call["operation"] == "upload":
            answer = client.put_object(Bucket="bucket", Key="file", Body=kit.body(call))
        else:
            raise kit.Unsupported("the API has no such operation")
    except botocore.exceptions.ClientError as error:
        # A status that the SDK does not like is raised, and still an answer.
        answer = error.response
    return kit.Response(answer["ResponseMetadata"]["HTTPStatusCode"], body)


kit.run(make)

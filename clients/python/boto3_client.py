"""boto3's client of S3, as it comes."""

import functools

import boto3
import botocore.config
import botocore.exceptions

import kit

session = boto3.Session("none", "none", region_name="us-east-1")
NUMBER = {}


@functools.cache
def client(origin, **options):
    made = session.client(
        "s3", endpoint_url=origin, config=botocore.config.Config(s3={"addressing_style": "path"}, **options)
    )
    made.meta.events.register("before-send.s3", number)
    return made

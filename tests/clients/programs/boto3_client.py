# SPDX-License-Identifier: Apache-2.0
# boto3_client.py URL COUNT: one client of S3 for six threads, by the environment. Whatever the URL's path is, is the
# bucket, and the numbers are its objects.
import concurrent.futures
import sys
import urllib.parse

import boto3
from botocore.config import Config

url = urllib.parse.urlsplit(sys.argv[1])
s3 = boto3.client("s3", "us-east-1", endpoint_url=f"https://{url.netloc}", aws_access_key_id="tests",
                  aws_secret_access_key="tests", config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}))


def get(number):
    return s3.get_object(Bucket=url.path.strip("/"), Key=str(number))["Body"].read().decode()


with concurrent.futures.ThreadPoolExecutor(6) as pool:
    for text in pool.map(get, range(1, int(sys.argv[2]) + 1)):
        print(text, end="")

# SPDX-License-Identifier: Apache-2.0
"""Objects of an S3 server as a method of PRIOMark, with moto as the server: every byte is checked, every signature is
that of botocore, failing answers are counted, and nothing is left behind."""

import os
import re
import signal
import threading

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from kernel_runs import PATIENCE, error, good, rank_processes, started, wait_until
from moto.server import DomainDispatcherApplication, create_backend_app
from priomark_runs import MIB, command, leftovers, of_kind, run
from raw_log import read_log
from werkzeug.serving import make_server

from coffeecup.postprocess.benchmarks.scoring import score_log

SECRET = "secret+of/the=test"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "KEYOFTHETEST", "AWS_SECRET_ACCESS_KEY": SECRET, "COFFEECUP_S3_BUCKET": "cup"}
OBJECTS = """check = true; repetitions = 2;
single_file = { process_size = "11MiB"; block_size = "5632KiB"; read_write = "1:0"; methods = "s3"; };
common_file = { process_size = "5MiB"; block_size = "5MiB"; read_write = "1:0"; methods = "s3"; };
"""
SMALL = 'single_file = {{ process_size = "64KiB"; block_size = "64KiB"; patterns = "{}"; methods = "s3"; }};'


class Server:
    """moto, with the requests that it gets, and answers of 503 in the place of some of them."""

    def __init__(self):
        self.application = DomainDispatcherApplication(create_backend_app)
        self.requests, self.refuses = [], lambda number: False
        self.server = make_server("127.0.0.1", 0, self.answer, threaded=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.environment = ENVIRONMENT | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.port}"}

    def answer(self, environ, start_response):
        headers = {name[5:].replace("_", "-").lower(): v for name, v in environ.items() if name.startswith("HTTP_")}
        headers["content-type"] = environ.get("CONTENT_TYPE", "")
        uri = environ["RAW_URI"]
        self.requests.append((environ["REQUEST_METHOD"], uri, headers))
        if self.refuses(len(self.requests)):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code></Error>"]
        return self.application(environ, start_response)

    def left(self):
        """Objects and uploads in the bucket."""
        backend = self.backend()
        return [*backend.buckets["cup"].keys, *backend.buckets["cup"].multiparts]

    @staticmethod
    def backend():
        from moto.s3.models import s3_backends

        return s3_backends["123456789012"]["aws"]

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server():
    served = Server()
    served.backend().create_bucket("cup", "us-east-1")
    yield served
    served.stop()
    served.backend().reset()


def signature(method, url, headers):
    """That of the request, as botocore computes it."""
    signed = re.search("SignedHeaders=([^,]+)", headers["authorization"])[1].split(";")
    request = AWSRequest(method, url, headers={name: headers[name] for name in signed})
    request.context["timestamp"] = headers["x-amz-date"]
    request.context["payload_signing_enabled"] = False
    auth = S3SigV4Auth(Credentials(ENVIRONMENT["AWS_ACCESS_KEY_ID"], SECRET), "s3", "us-east-1")
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


def test_objects_serve_their_sub_benchmarks_with_every_byte_checked_and_signed_requests(openmpi, server, tmp_path):
    good(run(openmpi, tmp_path, OBJECTS, 2, env=server.environment))
    log = read_log(tmp_path / "log.jsonl")
    found = [(m["benchmark"], m["pattern"]) for m in log.records["measurement"]]
    patterns = ["write", "read-write", "random-read-write", "backwards-read"]
    names = [("single_file", pattern) for pattern in patterns] + [("common_file", pattern) for pattern in patterns[:3]]
    assert found == [name for name in names for _ in (1, 2)]
    [check] = log.records["data_check"]
    assert check["checked_bytes"] == check["read_bytes"] == 2 * 2 * (3 * 11 + 2 * 5) * MIB
    assert score_log(log.path).metrics["s3_bandwidth"].value > 0
    assert all(m["values"] == {"s3_retries": [0, 0]} for m in log.records["measurement"])
    assert leftovers(tmp_path) == [] and server.left() == []
    assert SECRET not in log.path.read_text() and "KEYOFTHETEST" not in log.path.read_text()
    for method, uri, headers in server.requests:
        stated = re.search("Signature=(.*)", headers["authorization"])[1]
        assert signature(method, f"{server.environment['AWS_ENDPOINT_URL']}{uri}", headers) == stated, uri


def test_an_object_is_one_upload_of_a_part_for_each_block(openmpi, server, tmp_path):
    settings = OBJECTS[OBJECTS.index("common") :].replace("read_write", 'patterns = "write"; read_write')
    good(run(openmpi, tmp_path, settings, 2, env=server.environment))
    asked = [(method, re.sub(r".*\?|&?uploadId=\w+", "", uri)) for method, uri, _ in server.requests if "?" in uri]
    assert sorted(asked) == [("POST", ""), ("POST", "uploads="), ("PUT", "partNumber=1"), ("PUT", "partNumber=2")]


def test_answers_that_may_pass_are_tried_again_and_counted(openmpi, server, tmp_path):
    """Every third answer is 503; the next attempt is a request of its own."""
    server.refuses = lambda number: number % 3 == 0
    good(run(openmpi, tmp_path, SMALL.format("backwards-read"), 1, env=server.environment))
    [m] = read_log(tmp_path / "log.jsonl").records["measurement"]
    # The object is closed for the last time before its size is asked for.
    refused = [method for method, *_ in server.requests].index("HEAD") // 3
    assert m["values"] == {"s3_retries": [refused]} and refused > 0
    assert server.left() == []


def test_server_that_keeps_refusing_ends_the_run_with_its_reason(openmpi, server, tmp_path):
    server.refuses = lambda number: number > 3
    done = run(openmpi, tmp_path, SMALL.format("write"), 1, env=server.environment)
    assert done.returncode == 1 and "the server answered 503 SlowDown; check the bucket" in error(done)
    server.refuses = lambda number: False
    assert leftovers(tmp_path) == []


def test_killed_process_leaves_no_object_and_no_upload(openmpi, server, tmp_path):
    workload = f"repetitions = 100000; {SMALL.format('write')}"
    log = tmp_path / "log.jsonl"
    words = command(openmpi, tmp_path, workload, 2, env=server.environment)
    with started(words, lambda: of_kind(tmp_path, "measurement"), env=openmpi.environment) as process:
        for number in rank_processes("priomark", log).values():
            os.kill(number, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    wait_until(lambda: not server.left() and not leftovers(tmp_path))


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ("http://me:password@localhost", "AWS_ENDPOINT_URL contains a user"),  # which the log would state
        ("http://localhost:9000/", "AWS_ENDPOINT_URL ends with '/'; remove it"),  # requests would be for //cup/...
    ],
)
def test_endpoint_with_a_user_or_a_slash_at_its_end_is_refused(openmpi, tmp_path, endpoint, said):
    environment = ENVIRONMENT | {"AWS_ENDPOINT_URL": endpoint}
    done = run(openmpi, tmp_path, SMALL.format("write"), 1, env=environment)
    assert done.returncode == 2 and said in error(done)


@pytest.mark.parametrize(
    ("workload", "missing", "status", "said"),
    [
        (SMALL.format("write"), "COFFEECUP_S3_BUCKET", 2, "the environment has no COFFEECUP_S3_BUCKET"),
        (SMALL.format("read-write"), None, 2, "s3 writes an object only as a whole"),
        (OBJECTS.replace("5632KiB", "1MiB"), None, 1, "at most 10000 parts of at least 5 MiB, not 11 of 1048576"),
        ('async = { process_size = "64KiB"; methods = "s3"; };', None, 2, "s3 is no method of async"),
    ],
)
def test_what_objects_cannot_do_is_refused(openmpi, server, tmp_path, workload, missing, status, said):
    environment = {name: value for name, value in server.environment.items() if name != missing}
    done = run(openmpi, tmp_path, workload, 1, env=environment)
    assert done.returncode == status and said in error(done)
    wait_until(lambda: server.left() == [])

"""What the tests of this folder stand on: a real node in a scratch directory, a mock model, a plain JSON-RPC client,
and the runner. Standard library only, so that a missing peer cannot keep the rest from running."""
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUPPORT = HERE.parent / "support"
A2AD = os.environ["A2AD"]
CI = bool(os.environ.get("CI"))

# The longest that anything here may take: a test that waits longer has failed.
PATIENCE = 60

# Every program of a run carries it in its environment, and is known by it in /proc.
MARK = "INTEROP_RUN"


# ---- the runner

TESTS = []


class Missing(Exception):
    """A peer that the test needs could not be brought."""


def test(run):
    TESTS.append(run)
    return run


def main(words):
    """Runs the tests whose name holds one of the words, or all. Returns the exit status."""
    loopback_up()
    results = {"passed": [], "failed": [], "not run": []}
    for run in TESTS:
        name = f"{run.__module__}::{run.__name__}"
        if words and not any(word in name for word in words):
            continue
        began = time.monotonic()
        verdict, why = judge(run)
        results[verdict].append(name)
        print(f"test {name} ... {verdict} ({time.monotonic() - began:.1f} s)", flush=True)
        if why:
            print("    " + why.rstrip().replace("\n", "\n    "), flush=True)
    close_all()
    for name in results["failed"]:
        print(f"FAILED: {name}")
    for name in results["not run"]:
        print(f"NOT RUN: {name}")
    tail = f", {len(results['not run'])} NOT RUN" if results["not run"] else ""
    print(f"{len(results['passed'])} passed, {len(results['failed'])} failed{tail}", flush=True)
    if not results["passed"] and not results["failed"]:
        print("FAILED: no test was run")
        return 1
    return 1 if results["failed"] else 0


def judge(run):
    try:
        run()
        return "passed", None
    except Missing as missing:
        return ("failed" if CI else "not run"), f"!!! cannot run: {missing}"
    except Exception:
        return "failed", traceback.format_exc(limit=-3) + "".join(node.last_words() for node in Node.running)


def check(holds, *told):
    """A fact that must hold; `told` is shown where it does not."""
    if not holds:
        raise AssertionError(" ".join(each if isinstance(each, str) else repr(each) for each in told))


def equal(left, right):
    check(left == right, "got", left, "instead of", right)


def until(what, holds, patience=PATIENCE):
    """Waits until it holds, and returns what it returned."""
    end = time.monotonic() + patience
    while True:
        value = holds()
        if value:
            return value
        check(time.monotonic() < end, f"still not after {patience} s: {what}")
        time.sleep(0.02)


def free_port():
    """A port that nobody has now: for a node that must come back at the same address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def loopback_up():
    """In a network namespace of its own even loopback is down at first."""
    with socket.socket() as probe:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(probe, 0x8913, request))[1]  # SIOCGIFFLAGS
        if not flags & 1:
            fcntl.ioctl(probe, 0x8914, struct.pack("16sH14x", b"lo", flags | 1))  # SIOCSIFFLAGS, IFF_UP


# ---- scratch

SCRATCH = Path(tempfile.mkdtemp(prefix="a2ad-interop."))
OPEN = []


def close_all():
    for thing in reversed(OPEN):
        thing.close()
    if os.environ.get("KEEP"):
        print(f"kept: {SCRATCH}")
    else:
        shutil.rmtree(SCRATCH, ignore_errors=True)


def environment(**more):
    """A clean environment: what is set outside must not decide a test."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(SCRATCH / "home"), "NO_COLOR": "1", **more}


def marked(mark):
    """The live processes that carry a run's mark: {pid: command line}."""
    found = {}
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry.name)] = line.strip() or (entry / "comm").read_text().strip()
        except OSError:
            pass  # gone meanwhile, or not ours to read
    return found


def nothing_left(mark, patience=0):
    """No process of the run lives."""
    end = time.monotonic() + patience
    while True:
        left = marked(mark)
        if not left:
            return
        check(time.monotonic() < end, f"processes left after {patience} s:", left)
        time.sleep(0.02)


# ---- the node

class Node:
    """`a2ad serve` on a free port, with its state in a directory of its own."""

    running = []

    def __init__(self, config, port=0, **env):
        self.dir = Path(tempfile.mkdtemp(dir=SCRATCH, prefix="node."))
        self.work = self.dir / "work"
        self.state = self.dir / "state"
        self.work.mkdir()
        (SCRATCH / "home").mkdir(exist_ok=True)
        self.mark = uuid.uuid4().hex
        self.config = self.dir / "a2ad.toml"
        self.config.write_text(f'[node]\nlisten = ["127.0.0.1:{port}"]\n' + config.replace("MARK", self.mark))
        self.env = environment(**env)
        self.log = self.dir / "log"
        self.process = None
        OPEN.append(self)
        self.start()
        self.token = self.a2ad("token", "new", "desk").stdout.strip()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command("serve", "--workspace", str(self.work)), env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.work)
        told = self.state / "node.json"

        def ready():
            check(self.process.poll() is None, "the node ended:", self.log.read_text())
            try:
                about = json.loads(told.read_text())
            except (OSError, ValueError):
                return None
            return about["urls"][0] if about["pid"] == self.process.pid else None

        self.url = until("the node is ready", ready)
        Node.running.append(self)
        self.port = int(self.url.rsplit(":", 1)[1])

    def command(self, *args):
        return [A2AD, "--config", str(self.config), "--state-dir", str(self.state), *args]

    def a2ad(self, *args, stdin=None, status=0):
        """The command line against this node; its exit status must be `status`, if one is said."""
        done = subprocess.run(self.command(*args), env=self.env, input=stdin, cwd=self.work, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL if stdin is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if status is not None:
            check(done.returncode == status, f"a2ad {' '.join(args)} ended with {done.returncode} instead of {status}:",
                  done.stdout, done.stderr)
        return done

    def new_token(self, name, *args):
        return self.a2ad("token", "new", name, *args).stdout.strip()

    def kill(self):
        """As the power plug does it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        Node.running.remove(self)

    def stop(self):
        """As a service is stopped; the exit status."""
        self.process.terminate()
        Node.running.remove(self)
        return self.process.wait(PATIENCE)

    def close(self):
        if self in Node.running:
            self.kill()

    def last_words(self):
        lines = self.log.read_text(errors="replace").splitlines()[-15:]
        return "\n".join(["", f"the node's log, {self.log}:", *lines, ""])

    # ---- a plain client

    def post(self, body, agent=None, headers=None, token=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        if token:
            given["Authorization"] = "Bearer " + (token if isinstance(token, str) else self.token)
        given.update(headers or {})
        given = {name: value for name, value in given.items() if value is not None}
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request("POST", f"/agents/{agent}" if agent else "/", body, given)
        return connection.getresponse()

    def rpc(self, method, params, **how):
        """The answer of a call, with `result` or `error`."""
        response = self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **how)
        return json.loads(response.read())

    def call(self, method, params, **how):
        """The result of a call that must go well."""
        answer = self.rpc(method, params, **how)
        check("result" in answer, method, "was refused:", answer)
        return answer["result"]

    def stream(self, method, params, **how):
        return Stream(self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **how))


class Stream:
    """The events of a stream, as results."""

    def __init__(self, response):
        self.response = response
        kind = response.headers.get_content_type()
        if kind != "text/event-stream":
            raise AssertionError(f"no stream but {response.status} {kind}: {response.read()!r}")

    def __iter__(self):
        data = []
        for raw in self.response:
            line = raw.decode().rstrip("\r\n")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                answer = json.loads("\n".join(data))
                data = []
                check("result" in answer, "an error in the stream:", answer)
                yield answer["result"]

    def close(self):
        self.response.close()


def message(text, **more):
    """A user's message, as the parameters of a send."""
    configuration = more.pop("configuration", None)
    params = {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **more}}
    if configuration:
        params["configuration"] = configuration
    return params


def text_of(holder):
    """The text of a message or an artifact."""
    return "".join(part.get("text", "") for part in (holder or {}).get("parts", []))


def answer_of(task):
    return "".join(text_of(artifact) for artifact in task.get("artifacts", []))


def state_of(task):
    return task["status"]["state"].removeprefix("TASK_STATE_")


# ---- the model

class Model:
    """tests/support/mock_model.py at work, and what it was asked."""

    def __init__(self, slow=5):
        self.dir = Path(tempfile.mkdtemp(dir=SCRATCH, prefix="model."))
        self.process = subprocess.Popen(
            [sys.executable, str(SUPPORT / "mock_model.py"), "--log", str(self.dir / "log"), "--bodies", str(self.dir / "bodies")],
            env=environment(MOCK_SLOW_S=str(slow)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        OPEN.append(self)
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{self.port}"

    def bodies(self):
        return [json.loads(path.read_text()) for path in sorted((self.dir / "bodies").iterdir())]

    def close(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def in_background(work):
    """Runs it beside the block; what it returns, or raised, is in the box at the end."""
    box = {}

    def run():
        try:
            box["value"] = work()
        except Exception as error:
            box["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield box
    thread.join(PATIENCE)
    check(not thread.is_alive(), "work in the background did not end")
    if "error" in box:
        raise box["error"]

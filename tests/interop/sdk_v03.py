"""A2A 0.3: the current Python SDK's client for it, over both of its JSONs, and the SDK of that time, as a client and as an
agent, in programs of their own."""
import json
import os
import subprocess
import uuid
from contextlib import asynccontextmanager, contextmanager

import command_line
import sdk
from harness import HERE, PATIENCE, Missing, check, environment, equal, test, until
from sdk import BINDING, answer, events, gather, get, known, refused, sdk_test, send, sending, state, text

try:
    from a2a.client.errors import A2AClientError
    from a2a.helpers import get_message_text
    from a2a.types import a2a_pb2 as pb
    from a2a.utils import errors
except ImportError:
    pass  # sdk_test says so


@asynccontextmanager
async def dial(agent="asker", binding=None, **config):
    """A client that is offered 0.3 and nothing else."""
    def only(card):
        kept = [each for each in card.supported_interfaces if each.protocol_version == "0.3"]
        equal([each.protocol_binding for each in kept], ["JSONRPC", "HTTP+JSON"])
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)

    usual = BINDING.set(binding or BINDING.get())
    async with sdk.dial(agent, change=only, **config) as client:
        BINDING.reset(usual)
        check("Compat" in type(client._transport).__name__, client._transport)
        yield client


def refused_as(kind):
    """How this client tells an error: over HTTP+JSON it looks for a `type` that no server writes, not even its own."""
    return refused(kind) if BINDING.get() == "JSONRPC" else refused(A2AClientError, errors.MethodNotFoundError)


@sdk_test
async def a_send_of_0_3_is_answered():
    async with dial(streaming=False) as client:
        task = await send(client, "hello")
        equal((state(task), answer(task)), ("COMPLETED", "hello"))
        equal(answer(await get(client, task.id)), "hello")


@sdk_test
async def a_stream_of_0_3_is_the_task_then_its_changes_then_the_end():
    async with dial() as client:
        told = await events(client, sending("count 5 0.05"))
        kinds = [event.WhichOneof("payload") for event in told]
        equal((kinds[0], kinds[-1]), ("task", "status_update"))
        equal("".join(text(event.artifact_update.artifact) for event in told if event.HasField("artifact_update")),
              "1 2 3 4 5 ")
        equal(state(told[-1].status_update), "COMPLETED")


@sdk_test
async def every_kind_of_part_of_0_3_comes_back_as_it_went():
    parts = [pb.Part(text="täxt ✓"), pb.Part(url="https://example.com/x", media_type="image/png"), pb.Part(), pb.Part()]
    parts[2].data.struct_value.update({"n": 1.5, "deep": [None, True, {"a": "b"}]})
    parts[3].data.list_value.extend([1, "two"])
    file = pb.Part(raw=bytes(range(256)), media_type="application/x-any", filename="a.bin")
    # Over HTTP+JSON this client writes the base64 of base64, and reads it so; every other one writes it once.
    sent = parts + [file] if BINDING.get() == "JSONRPC" else parts
    async with dial("echo", streaming=False) as client:
        (artifact,) = (await send(client, parts=sent)).artifacts
        equal([part for part in artifact.parts], sent)


@sdk_test
async def a_question_of_0_3_ends_the_stream_and_its_answer_completes_the_task():
    for streaming in (False, True):
        async with dial(streaming=streaming) as client:
            asked = await events(client, sending("ask"))
            task = asked[0].task
            last = asked[-1].status_update if streaming else task
            equal((state(last), get_message_text(last.status.message)), ("INPUT_REQUIRED", "Which colour?"))
            await events(client, sending("blue", task_id=task.id))
            done = await get(client, task.id)
            equal((state(done), answer(done)), ("COMPLETED", "the colour is blue"))
            equal([get_message_text(said) for said in done.history], ["ask", "Which colour?", "blue"])


@sdk_test
async def a_task_of_0_3_is_polled_cancelled_and_followed():
    # Over HTTP+JSON this client leaves `blocking: false` out, and what is left out is true: it can't but wait.
    async with dial() as client, dial(binding="JSONRPC", streaming=False, polling=True) as poller:
        task = await send(poller, "wait")
        check(state(task) in ("SUBMITTED", "WORKING"), state(task))
        reading = client.subscribe(pb.SubscribeToTaskRequest(id=task.id), context=known())
        equal((await anext(reading)).task.id, task.id)
        done = await client.cancel_task(pb.CancelTaskRequest(id=task.id), context=known())
        equal(state(done), "CANCELED")
        equal(state((await gather(reading))[-1].status_update), "CANCELED")
        (ended,) = await gather(client.subscribe(pb.SubscribeToTaskRequest(id=task.id), context=known()))
        equal(state(ended.task), "CANCELED")
        async with refused_as(errors.TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=task.id), context=known())


@sdk_test
async def errors_of_0_3_are_known_by_their_numbers():
    async with dial(streaming=False) as client:
        for unknown in (str(uuid.uuid4()), "no such task"):
            async with refused_as(errors.TaskNotFoundError):
                await get(client, unknown)
            async with refused_as(errors.TaskNotFoundError):
                await events(client, sending("x", task_id=unknown))
        done = await send(client, "done")
        async with refused_as(errors.UnsupportedOperationError):
            await events(client, sending("more", task_id=done.id))
        config = pb.TaskPushNotificationConfig(task_id=done.id, url="https://example.com/hook", id="one")
        async with refused_as(errors.PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(config, context=known())


# ---- the SDK of that time

def python():
    """The interpreter that has the SDK of 0.3."""
    home = os.environ.get("INTEROP_SDK_V03")
    if not home:
        raise Missing("the Python SDK of A2A 0.3 could not be installed")
    return home + "/bin/python"


def client(case):
    """Runs one case of the client program."""
    def run():
        told = subprocess.run([python(), HERE / "v03_client.py", case, f"{command_line.node().url}/agents/asker",
                               command_line.node().token],
                              capture_output=True, text=True, timeout=PATIENCE, env=environment(), check=False)
        check(told.returncode == 0, told.stdout, told.stderr)
    run.__name__ = f"the_sdk_of_0_3_{case}"
    run.__module__ = __name__
    return test(run)


for case in ("reads_the_card", "sends", "streams", "asks_and_answers", "follows_and_cancels", "is_refused"):
    for_case = client(case)


@contextmanager
def old_agent():
    """The agent program; its address."""
    running = subprocess.Popen([python(), HERE / "v03_agent.py"], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    try:
        yield running.stdout.readline().strip()
    finally:
        running.kill()
        running.communicate()


@test
def an_agent_of_the_sdk_of_0_3_is_called_by_the_command_line():
    with old_agent() as url:
        a2ad = command_line.node().a2ad
        equal(a2ad("send", "--to", url, "hello").stdout.rstrip("\n"), "hello")
        told = [json.loads(line) for line in a2ad("send", "--json", "--to", url, "hello").stdout.splitlines()]
        equal(list(told[0]), ["task"])
        equal(told[-1]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED")
        task = a2ad("send", "--no-wait", "--to", url, "slow").stdout.strip()
        until("it works", lambda: "working" in a2ad("task", "show", task, "--to", url).stdout)
        a2ad("task", "cancel", task, "--to", url)
        check("canceled" in a2ad("task", "show", task, "--to", url).stdout, "it is canceled")
        asked = a2ad("send", "--to", url, "ask", status=4)
        check("which?" in asked.stderr, asked.stderr)
        check("has no ListTasks" in a2ad("task", "list", "--to", url, status=69).stderr, "it is said")

#!/usr/bin/env python3
"""The Python SDK of A2A 0.3 as a client: `v03_client.py CASE URL TOKEN`, run by the interpreter that has it."""
import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import FilePart, FileWithBytes, Message, Part, Role, TaskIdParams, TaskQueryParams, TextPart

CASE, URL, TOKEN = sys.argv[1:]


def message(text, **more):
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **more)


async def dial(http, transport="JSONRPC", **config):
    card = await A2ACardResolver(http, URL).get_agent_card()
    return ClientFactory(ClientConfig(httpx_client=http, supported_transports=[transport], **config)).create(card)


async def said(client, sent):
    """All that the client makes of an answer: pairs of the task and the event."""
    return [event async for event in client.send_message(sent)]


def texts(task):
    return "".join(part.root.text for artifact in task.artifacts or [] for part in artifact.parts)


async def reads_the_card(http):
    card = await A2ACardResolver(http, URL).get_agent_card()
    assert (card.url, card.preferred_transport, card.protocol_version) == (URL, "JSONRPC", "0.3.0"), card
    assert [(each.url, each.transport) for each in card.additional_interfaces] == [(URL, "JSONRPC"), (URL, "HTTP+JSON")]
    (scheme,) = card.security_schemes.values()
    assert (scheme.root.type, scheme.root.scheme) == ("http", "Bearer"), scheme
    assert card.security and card.capabilities.streaming and not card.supports_authenticated_extended_card
    older = await A2ACardResolver(http, URL).get_agent_card(relative_card_path="/.well-known/agent.json")
    assert older.url == URL and older.skills == card.skills, older


async def sends(http):
    for transport in ("JSONRPC", "HTTP+JSON"):
        client = await dial(http, transport, streaming=False)
        ((task, _),) = await said(client, message("hello"))
        assert (task.status.state.value, texts(task)) == ("completed", "hello"), task
        again = await client.get_task(TaskQueryParams(id=task.id, history_length=1))
        assert texts(again) == "hello" and len(again.history) == 1, again
    poller = await dial(http, streaming=False, polling=True)
    ((task, _),) = await said(poller, message("count 3 0.2"))
    assert task.status.state.value in ("submitted", "working"), task


async def streams(http):
    for transport in ("JSONRPC", "HTTP+JSON"):
        client = await dial(http, transport)
        told = await said(client, message("count 5 0.05"))
        kinds = [event.kind if event else "task" for _, event in told]
        assert kinds[0] == "task" and kinds[-1] == "status-update", kinds
        assert [event.final for _, event in told if event and event.kind == "status-update"][-1] is True
        task, _ = told[-1]
        assert (task.status.state.value, texts(task)) == ("completed", "1 2 3 4 5 "), task


async def asks_and_answers(http):
    for transport in ("JSONRPC", "HTTP+JSON"):
        for streaming in (False, True):
            client = await dial(http, transport, streaming=streaming)
            task, event = (await said(client, message("ask")))[-1]
            assert task.status.state.value == "input-required" and (event.final if streaming else True), task
            assert task.status.message.parts[0].root.text == "Which colour?", task
            await said(client, message("blue", task_id=task.id, context_id=task.context_id))
            done = await client.get_task(TaskQueryParams(id=task.id))
            assert (done.status.state.value, texts(done)) == ("completed", "the colour is blue"), done


async def follows_and_cancels(http):
    # Over HTTP+JSON this client leaves `blocking: false` out, and what is left out is true: it can't but wait.
    poller = await dial(http, streaming=False, polling=True)
    for transport in ("JSONRPC", "HTTP+JSON"):
        client = await dial(http, transport)
        ((task, _),) = await said(poller, message("wait"))
        reading = client.resubscribe(TaskIdParams(id=task.id))
        first, _ = await anext(reading)
        assert first.id == task.id
        done = await client.cancel_task(TaskIdParams(id=task.id))
        assert done.status.state.value == "canceled", done
        rest = [event async for _, event in reading]
        assert rest[-1].status.state.value == "canceled" and rest[-1].final, rest
        again = [task async for task, _ in client.resubscribe(TaskIdParams(id=task.id))]
        assert [each.status.state.value for each in again] == ["canceled"], again


async def is_refused(http):
    client = await dial(http, streaming=False)
    for work, code in ((lambda: client.get_task(TaskQueryParams(id="none")), -32001),
                       (lambda: client.cancel_task(TaskIdParams(id="none")), -32001),
                       (lambda: said(client, message("x", task_id="none")), -32001)):
        try:
            await work()
        except A2AClientJSONRPCError as error:
            assert error.error.code == code, error
        else:
            raise AssertionError("not refused")
    image = Message(message_id="m", role=Role.user, parts=[Part(root=FilePart(file=FileWithBytes(bytes="*")))])
    try:
        await said(client, image)
    except A2AClientJSONRPCError as error:
        assert error.error.code == -32602 and "file.bytes" in error.error.message, error
    else:
        raise AssertionError("not refused")
    try:
        rest = await dial(http, "HTTP+JSON", streaming=False)
        await rest.get_task(TaskQueryParams(id="none"))
    except A2AClientHTTPError as error:
        assert error.status_code == 404, error
    else:
        raise AssertionError("not refused")


async def main():
    async with httpx.AsyncClient(timeout=30, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        await globals()[CASE](http)

asyncio.run(asyncio.wait_for(main(), 50))

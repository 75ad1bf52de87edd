"""The official Python SDK as a client of A2A 1.0: every test over JSON-RPC, and again over HTTP+JSON."""
import asyncio
import contextvars
import functools
import uuid
from contextlib import asynccontextmanager

import command_line
from harness import PATIENCE, Missing, check, equal, test

try:
    import httpx
    from a2a.client import A2ACardResolver, AuthInterceptor, ClientConfig, ClientFactory, InMemoryContextCredentialStore
    from a2a.client import ClientCallContext
    from a2a.client.errors import A2AClientError
    from a2a.helpers import get_artifact_text, get_message_text, get_stream_response_text
    from a2a.types import a2a_pb2 as pb
    from a2a.utils import errors
    ABSENT = None
except ImportError as error:
    ABSENT = str(error)

SESSION = "session"


def node():
    return command_line.node()


# Which binding the test at hand speaks, as cards call it.
BINDING = contextvars.ContextVar("binding")


def sdk_test(run):
    """A test that is a coroutine, and needs the SDK; it is run once for each binding."""
    for binding, suffix in (("JSONRPC", ""), ("HTTP+JSON", "_over_http_json")):
        @functools.wraps(run)
        def alone(binding=binding):
            if ABSENT:
                raise Missing(f"the Python SDK could not be installed: {ABSENT}")
            BINDING.set(binding)
            asyncio.run(asyncio.wait_for(run(), PATIENCE))
        alone.__name__ += suffix
        test(alone)
    return run


@asynccontextmanager
async def dial(agent="asker", token=None, streaming=True, change=None, version=None, **config):
    """A client as the SDK's documentation makes one: from the card, which says how to log in."""
    headers = {"A2A-Version": version} if version else {}
    async with httpx.AsyncClient(timeout=PATIENCE, headers=headers) as http:
        card = await A2ACardResolver(http, f"{node().url}/agents/{agent}").get_agent_card()
        if change:
            change(card)
        store = InMemoryContextCredentialStore()
        (scheme,) = card.security_schemes
        await store.set_credentials(SESSION, scheme, token or node().token)
        bindings = [BINDING.get()]
        factory = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming,
                                             supported_protocol_bindings=bindings, **config))
        client = factory.create(card, interceptors=[AuthInterceptor(store)])
        client.known = card
        yield client


def known():
    """Whose credentials are meant."""
    return ClientCallContext(state={"sessionId": SESSION})


def sending(said=None, parts=None, configuration=None, **more):
    parts = parts or [pb.Part(text=said)]
    whole = pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=parts, **more)
    return pb.SendMessageRequest(message=whole, configuration=configuration)


async def events(client, request):
    return [event async for event in client.send_message(request, context=known())]


async def send(client, *args, **more):
    """A blocking send: the task."""
    (answer,) = await events(client, sending(*args, **more))
    check(answer.HasField("task"), answer)
    return answer.task


async def get(client, task, **more):
    return await client.get_task(pb.GetTaskRequest(id=task, **more), context=known())


def state(holder):
    return pb.TaskState.Name(holder.status.state).removeprefix("TASK_STATE_")


def text(artifact):
    return get_artifact_text(artifact, delimiter="")


def answer(task):
    return "".join(text(artifact) for artifact in task.artifacts)


@asynccontextmanager
async def refused(*kinds):
    """The block must be refused, with one of these errors."""
    told = []
    try:
        yield told
    except kinds as error:
        check(str(error).strip(), "an error without a word")
        told.append(error)
        return
    except Exception as error:
        raise AssertionError(f"refused with {error!r} instead of {kinds}") from error
    raise AssertionError("it was not refused")


# ---- card

@sdk_test
async def the_card_tells_how_to_dial():
    async with dial() as client:
        card = client.known
        equal(card.name, "asker")
        equal([(each.protocol_binding, each.protocol_version) for each in card.supported_interfaces],
              [(binding, version) for version in ("1.0", "0.3") for binding in ("JSONRPC", "HTTP+JSON")])
        equal({each.url for each in card.supported_interfaces}, {f"{node().url}/agents/asker"})
        told = card.capabilities
        equal((told.streaming, told.push_notifications, told.extended_agent_card), (True, False, False))
        check(card.skills and card.skills[0].tags, "a card needs a skill with tags")
        (scheme,) = card.security_schemes.values()
        equal(scheme.http_auth_security_scheme.scheme.lower(), "bearer")


@sdk_test
async def the_card_is_kept_until_it_changes():
    async with httpx.AsyncClient() as http:
        url = node().url + "/.well-known/agent-card.json"
        first = await http.get(url)
        again = await http.get(url, headers={"If-None-Match": first.headers["etag"]})
        equal((first.status_code, again.status_code, again.content), (200, 304, b""))
        check("max-age" in first.headers["cache-control"], first.headers)
        check("last-modified" in first.headers, first.headers)


@sdk_test
async def a_client_made_from_the_url_of_the_node_reaches_the_default_agent():
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {node().token}"}, timeout=PATIENCE) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[BINDING.get()])
        client = await ClientFactory(config).create_from_url(node().url)
        told = [event async for event in client.send_message(sending("plain"))]
        equal("".join(get_stream_response_text(event) for event in told), "plain")


# ---- sends

@sdk_test
async def a_blocking_send_answers_with_the_finished_task():
    async with dial(streaming=False) as client:
        task = await send(client, "hello sdk")
        equal((state(task), answer(task)), ("COMPLETED", "hello sdk"))
        check(task.id and task.context_id and task.status.HasField("timestamp"), task)


@sdk_test
async def a_stream_is_the_task_then_its_changes_then_the_end():
    async with dial() as client:
        told = await events(client, sending("count 5 0.05"))
        kinds = [event.WhichOneof("payload") for event in told]
        equal((kinds[0], kinds[-1]), ("task", "status_update"))
        chunks = [event.artifact_update for event in told if event.HasField("artifact_update")]
        equal([chunk.append for chunk in chunks], [False, True, True, True, True])
        equal([chunk.last_chunk for chunk in chunks], [False, False, False, False, True])
        equal("".join(text(chunk.artifact) for chunk in chunks), "1 2 3 4 5 ")
        equal(state(told[-1].status_update), "COMPLETED")
        task = await get(client, told[0].task.id)
        equal(answer(task), "1 2 3 4 5 ")


@sdk_test
async def every_kind_of_part_comes_back_as_it_went():
    parts = [pb.Part(text="täxt ✓ \u0000 end"), pb.Part(raw=bytes(range(256)), media_type="application/x-any", filename="a.bin"),
             pb.Part(url="https://example.com/x", media_type="image/png")]
    parts.append(pb.Part())
    parts[-1].data.struct_value.update({"n": 1.5, "deep": [None, True, {"a": "b"}], "big": 2 ** 53})
    async with dial("echo", streaming=False) as client:
        task = await send(client, parts=parts)
        (artifact,) = task.artifacts
        equal([part for part in artifact.parts], parts)


@sdk_test
async def who_does_not_wait_polls():
    async with dial(streaming=False, polling=True) as client:
        task = await send(client, "count 3 0.2")
        check(state(task) in ("SUBMITTED", "WORKING"), state(task))
        while state(task) != "COMPLETED":
            await asyncio.sleep(0.05)
            task = await get(client, task.id)
        equal(answer(task), "1 2 3 ")


@sdk_test
async def a_question_suspends_the_task_and_the_answer_completes_it():
    for streaming in (False, True):
        async with dial(streaming=streaming) as client:
            asked = await events(client, sending("ask"))
            task = asked[0].task
            last = asked[-1].status_update if streaming else task
            equal((state(last), get_message_text(last.status.message)), ("INPUT_REQUIRED", "Which colour?"))
            told = await events(client, sending("blue", task_id=task.id))
            done = await get(client, task.id)
            equal((state(done), answer(done)), ("COMPLETED", "the colour is blue"))
            equal(told[0].task.id, task.id)
            equal(done.context_id, task.context_id)
            equal([get_message_text(said) for said in done.history], ["ask", "Which colour?", "blue"])
            equal(get_message_text(done.status.message), "thank you")


@sdk_test
async def a_context_keeps_the_session_of_the_program():
    async with dial(streaming=False) as client:
        first = await send(client, "history")
        second = await send(client, "history", context_id=first.context_id)
        other = await send(client, "history")
        check('"session": null' in answer(first) and '"session": "kept"' in answer(second), first, second)
        check('"session": null' in answer(other), other)
        equal(second.context_id, first.context_id)
        check(other.context_id != first.context_id and second.id != first.id, "contexts are mixed up")


@sdk_test
async def failures_say_why():
    async with dial(streaming=False) as client:
        for said, ended, why in [("fail", "FAILED", "it went wrong"), ("reject", "REJECTED", "not this"),
                                 ("crash", "FAILED", "a fault on purpose")]:
            task = await send(client, said)
            equal(state(task), ended)
            check(why in get_message_text(task.status.message), task.status)


# ---- get, list

@sdk_test
async def the_history_is_as_long_as_asked():
    async with dial(streaming=False) as client:
        task = await send(client, "ask")
        await send(client, "red", task_id=task.id)
        texts = [[get_message_text(said) for said in (await get(client, task.id, **more)).history]
                 for more in ({}, {"history_length": 2}, {"history_length": 1}, {"history_length": 0})]
        equal(texts, [["ask", "Which colour?", "red"], ["Which colour?", "red"], ["red"], []])


@sdk_test
async def a_list_is_walked_page_by_page():
    async with dial(streaming=False) as client:
        first = await send(client, "one of a list")
        made = [first.id] + [(await send(client, f"{n} of a list", context_id=first.context_id)).id for n in range(6)]
        seen, sizes, token = [], [], ""
        while True:
            page = await client.list_tasks(pb.ListTasksRequest(context_id=first.context_id, page_size=3, page_token=token),
                                           context=known())
            seen += [task.id for task in page.tasks]
            sizes.append(len(page.tasks))
            equal(page.total_size, 7)
            check(not any(task.artifacts for task in page.tasks), "artifacts came unasked")
            token = page.next_page_token
            if not token:
                break
        equal(sizes, [3, 3, 1])
        equal(seen, made[::-1])
        whole = await client.list_tasks(pb.ListTasksRequest(context_id=first.context_id, include_artifacts=True,
                                                            history_length=1), context=known())
        equal(answer(whole.tasks[-1]), "one of a list")
        equal(len(whole.tasks[-1].history), 1)


@sdk_test
async def a_list_is_filtered_by_state_and_time():
    async with dial(streaming=False) as client:
        asked = await send(client, "ask")
        done = await send(client, "done", context_id=asked.context_id)
        listed = await client.list_tasks(pb.ListTasksRequest(context_id=asked.context_id,
                                                             status=pb.TASK_STATE_INPUT_REQUIRED), context=known())
        equal([task.id for task in listed.tasks], [asked.id])
        after = pb.ListTasksRequest(context_id=asked.context_id, status_timestamp_after=done.status.timestamp)
        equal([task.id for task in (await client.list_tasks(after, context=known())).tasks], [done.id])


@sdk_test
async def a_token_of_another_list_is_refused():
    async with dial(streaming=False) as client:
        for _ in range(2):
            await send(client, "x")
        page = await client.list_tasks(pb.ListTasksRequest(page_size=1), context=known())
        async with refused(errors.InvalidParamsError):
            await client.list_tasks(pb.ListTasksRequest(page_size=1, page_token=page.next_page_token,
                                                        status=pb.TASK_STATE_FAILED), context=known())
        async with refused(errors.InvalidParamsError):
            await client.list_tasks(pb.ListTasksRequest(page_size=1000), context=known())


# ---- cancel, subscribe

@sdk_test
async def a_running_task_is_cancelled_and_its_readers_hear_of_it():
    async with dial() as client:
        reading = client.send_message(sending("wait"), context=known())
        task = (await anext(reading)).task
        rest = asyncio.create_task(gather(reading))
        done = await client.cancel_task(pb.CancelTaskRequest(id=task.id), context=known())
        equal(state(done), "CANCELED")
        equal(state((await rest)[-1].status_update), "CANCELED")
        async with refused(errors.TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=task.id), context=known())


@sdk_test
async def a_program_that_does_not_hear_is_ended():
    async with dial() as client:
        reading = client.send_message(sending("deaf"), context=known())
        async for event in reading:
            if event.HasField("status_update"):
                break
        task = event.status_update.task_id
        began = asyncio.get_running_loop().time()
        done = await client.cancel_task(pb.CancelTaskRequest(id=task), context=known())
        equal(state(done), "CANCELED")
        took = asyncio.get_running_loop().time() - began
        check(2 <= took < 2 + 2 + 2, f"grace + 2 s, and what a busy machine adds, are over: {took:.1f} s")
        await reading.aclose()


async def gather(stream):
    return [event async for event in stream]


@sdk_test
async def one_of_two_readers_leaves_and_the_other_hears_all():
    async with dial() as client, dial() as other:
        sender = client.send_message(sending("count 8 0.1"), context=known())
        task = (await anext(sender)).task
        one = client.subscribe(pb.SubscribeToTaskRequest(id=task.id), context=known())
        two = other.subscribe(pb.SubscribeToTaskRequest(id=task.id), context=known())
        begun = [await anext(one), await anext(two)]
        check(all(event.HasField("task") for event in begun), begun)
        await anext(one)
        await one.aclose()
        await sender.aclose()
        rest = await gather(two)
        equal(state(rest[-1].status_update), "COMPLETED")
        heard = answer(begun[1].task) + "".join(get_stream_response_text(event) for event in rest
                                                if event.HasField("artifact_update"))
        equal(heard, "1 2 3 4 5 6 7 8 ")


@sdk_test
async def a_caller_that_goes_away_stops_nothing():
    async with dial() as client:
        sender = client.send_message(sending("count 4 0.1"), context=known())
        task = (await anext(sender)).task
        await sender.aclose()
    async with dial() as client:
        while state(now := await get(client, task.id)) != "COMPLETED":
            check(state(now) == "WORKING", state(now))
            await asyncio.sleep(0.05)
        equal(answer(now), "1 2 3 4 ")


# ---- refusals

@sdk_test
async def an_unknown_task_is_not_found():
    async with dial() as client:
        for unknown in (str(uuid.uuid4()), "no such task"):
            async with refused(errors.TaskNotFoundError):
                await get(client, unknown)
            async with refused(errors.TaskNotFoundError):
                await client.cancel_task(pb.CancelTaskRequest(id=unknown), context=known())
            async with refused(errors.TaskNotFoundError):
                await gather(client.subscribe(pb.SubscribeToTaskRequest(id=unknown), context=known()))
            async with refused(errors.TaskNotFoundError):
                await events(client, sending("x", task_id=unknown))


@sdk_test
async def a_task_of_somebody_else_is_not_found():
    async with dial(streaming=False) as client, dial(token=node().new_token(f"guest-{uuid.uuid4().hex}"), streaming=False) as guest:
        task = await send(client, "mine")
        async with refused(errors.TaskNotFoundError):
            await get(guest, task.id)
        listed = await guest.list_tasks(pb.ListTasksRequest(), context=known())
        check(task.id not in [each.id for each in listed.tasks], "it is in the other's list")


@sdk_test
async def a_finished_task_takes_no_message_and_no_reader():
    async with dial() as client:
        done = (await events(client, sending("done")))[0].task
        async with refused(errors.UnsupportedOperationError):
            await events(client, sending("more", task_id=done.id))
        async with refused(errors.UnsupportedOperationError):
            await gather(client.subscribe(pb.SubscribeToTaskRequest(id=done.id), context=known()))
        async with refused(errors.TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=done.id), context=known())


@sdk_test
async def a_kind_of_content_that_the_agent_cannot_read_is_refused():
    async with dial("upper", streaming=False) as client:
        async with refused(errors.ContentTypeNotSupportedError):
            await send(client, parts=[pb.Part(raw=b"x", media_type="image/png")])


@sdk_test
async def a_message_that_is_not_one_is_refused_with_the_field():
    async with dial(streaming=False) as client:
        task = await send(client, "ask")
        for wrong in (sending(parts=[pb.Part()]), sending("x", task_id=task.id, context_id="another"),
                      pb.SendMessageRequest(message=pb.Message(message_id="m", role=pb.ROLE_USER)),
                      pb.SendMessageRequest(message=pb.Message(role=pb.ROLE_USER, parts=[pb.Part(text="x")])),
                      pb.SendMessageRequest(message=pb.Message(message_id="m", role=pb.ROLE_AGENT,
                                                               parts=[pb.Part(text="x")]))):
            async with refused(errors.InvalidParamsError):
                await events(client, wrong)


@sdk_test
async def a_version_that_is_not_served_is_refused():
    async with dial(streaming=False, version="99.0") as client:
        async with refused(errors.VersionNotSupportedError):
            await send(client, "x")
    answer = node().rpc("GetTask", {"id": "x"}, headers={"A2A-Version": None})
    equal(answer["error"]["code"], -32009)
    check("A2A-Version: 1.0" in answer["error"]["message"], answer)
    for patch in ("1.0.1", " 1.0 "):
        equal(node().rpc("GetTask", {"id": "x"}, headers={"A2A-Version": patch})["error"]["code"], -32001)


@sdk_test
async def push_is_refused_in_all_its_operations():
    config = dict(url="https://example.com/hook", id="one")
    async with dial(streaming=False) as client:
        task = (await send(client, "ask")).id
        async with refused(errors.PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(pb.TaskPushNotificationConfig(task_id=task, **config),
                                                              context=known())
        async with refused(errors.PushNotificationNotSupportedError):
            await client.get_task_push_notification_config(
                pb.GetTaskPushNotificationConfigRequest(task_id=task, id="one"), context=known())
        async with refused(errors.PushNotificationNotSupportedError):
            await client.list_task_push_notification_configs(
                pb.ListTaskPushNotificationConfigsRequest(task_id=task), context=known())
        async with refused(errors.PushNotificationNotSupportedError):
            await client.delete_task_push_notification_config(
                pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id="one"), context=known())
    async with dial(streaming=False, push_notification_config=pb.TaskPushNotificationConfig(**config)) as client:
        async with refused(errors.PushNotificationNotSupportedError):
            await send(client, "x")


@sdk_test
async def the_extended_card_is_refused():
    def pretend(card):  # the client would not even ask
        card.capabilities.extended_agent_card = True

    async with dial(change=pretend) as client:
        async with refused(errors.UnsupportedOperationError):
            await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), context=known())


@sdk_test
async def without_a_good_token_nothing_is_answered():
    async with dial(token="a2ad_nonsense", streaming=False) as client:
        async with refused(A2AClientError) as told:
            await send(client, "x")
        check("401" in str(told[0]), told)
    async with dial(streaming=False) as client:
        async with refused(A2AClientError) as told:
            await anext(client.send_message(sending("x")))
        check("401" in str(told[0]), told)
    response = node().post(b"{}", token=False)
    equal(response.status, 401)
    check(response.headers["WWW-Authenticate"].startswith("Bearer"), response.headers)


@sdk_test
async def a_token_of_another_agent_is_forbidden_and_a_revoked_one_unknown():
    name = f"narrow-{uuid.uuid4().hex}"
    token = node().new_token(name, "--agent", "echo")
    async with dial("echo", token=token, streaming=False) as client:
        equal(answer(await send(client, "x")), "x")
    async with dial("asker", token=token, streaming=False) as client:
        async with refused(A2AClientError) as told:
            await send(client, "x")
        check("403" in str(told[0]), told)
    node().a2ad("token", "revoke", name)
    async with dial("echo", token=token, streaming=False) as client:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while True:
            try:
                await send(client, "x")
            except A2AClientError as error:
                check("401" in str(error), error)
                break
            check(loop.time() < end, "it is still answered")
            await asyncio.sleep(0.05)


@sdk_test
async def a_message_that_is_sent_twice_is_one_task():
    async with dial(streaming=False) as client:
        request = sending("once")
        one, two = (await events(client, request))[0].task, (await events(client, request))[0].task
        equal(one.id, two.id)
        check(two.metadata["a2ad/replayed"], two)

#!/usr/bin/env python3
"""An agent made with the Python SDK of A2A 0.3. Prints its address, then answers with what it was sent; `ask` asks, and
`slow` works until it is canceled."""
import asyncio
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task or new_task(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        word = context.get_user_input()
        if word == "slow":
            await asyncio.sleep(600)
        if word == "ask":
            asked = updater.new_agent_message([Part(root=TextPart(text="which?"))])
            await updater.requires_input(asked, final=True)
            return
        await updater.add_artifact([Part(root=TextPart(text=word))])
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


bound = socket.socket()
bound.bind(("127.0.0.1", 0))
url = f"http://127.0.0.1:{bound.getsockname()[1]}"
card = AgentCard(name="old", description="An agent of 0.3", version="1", url=url, protocol_version="0.3.0",
                 preferred_transport="JSONRPC", default_input_modes=["text/plain"], default_output_modes=["text/plain"],
                 capabilities=AgentCapabilities(streaming=True),
                 skills=[AgentSkill(id="echo", name="echo", description="echoes", tags=["echo"])])
app = A2AStarletteApplication(card, DefaultRequestHandler(Agent(), InMemoryTaskStore())).build()
print(url, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])

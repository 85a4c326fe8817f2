"""A chat assistant that remembers: `python examples/chat_assistant.py chat.db`, then type; an empty line ends.

Each turn recalls what fits, within a token budget, and keeps both sides of the talk. `answer` stands where your model
would be called: it gets the prompt, and here only shows which memory it would lean on.
"""

import asyncio
import sys

import mnemic

BUDGET_TOKENS = 300
EPISODIC = mnemic.MemoryType.EPISODIC


def answer(prompt: str, block: mnemic.ContextBlock) -> str:
    """Stand in for a model: tell how much memory the prompt brings along."""
    return f"I have {len(block.injected)} memories on that ({block.tokens_used} tokens of {len(prompt)} characters)."


async def turn(memory: mnemic.MemoryEngine, said: str) -> str:
    block = await memory.context(said, max_tokens=BUDGET_TOKENS)
    prompt = f"{block.text}\n\nUser: {said}\nAssistant:"
    reply = answer(prompt, block)
    # Only what was said is kept, never the recalled text: else memory would feed on itself.
    await memory.store(said, role="user", speaker="user", origin=mnemic.Origin.USER, memory_type=EPISODIC)
    await memory.store(reply, role="assistant", speaker="assistant", memory_type=EPISODIC)
    return reply


async def main(file: str) -> None:
    async with mnemic.open_engine(file) as engine:
        memory = engine.acting_as(volk_id="assistant", user_id="mira", session_id="chat")
        while said := (await asyncio.to_thread(sys.stdin.readline)).strip():
            print(await turn(memory, said))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ":memory:"))

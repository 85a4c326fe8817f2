"""A container holds one part of each role, starts them in order and stops them in reverse."""

from typing import ClassVar

import pytest

from mnemic.component import ComponentType, Container
from mnemic.errors import ConfigurationError
from mnemic.ports import IComponent
from mnemic.testing import requirement
from mnemic.types import Health, HealthStatus

pytestmark = pytest.mark.core_interface


class _Part(IComponent):
    component_type: ClassVar[ComponentType] = ComponentType.MEMORY_ENGINE

    def __init__(self, name: str, log: list[str], fails: str = "") -> None:
        self._name, self._log, self._fails = name, log, fails

    async def initialize(self) -> None:
        self._note("initialize")

    async def start(self) -> None:
        self._note("start")

    async def stop(self) -> None:
        self._note("stop")

    async def get_health(self) -> Health:
        return Health(status=HealthStatus.HEALTHY)

    def _note(self, step: str) -> None:
        self._log.append(f"{self._name}.{step}")
        if step == self._fails:
            raise ConnectionError(f"{self._name} cannot {step}")


class _Bus(_Part):
    component_type: ClassVar[ComponentType] = ComponentType.EVENT_BUS


def _container(log: list[str], *, bus: str = "", engine: str = "") -> Container:
    container = Container()
    container.register(_Bus("bus", log, bus))
    container.register(_Part("engine", log, engine))
    return container


@requirement("REQ-010-002")
def test_a_role_is_resolved_to_the_same_part_and_taken_once() -> None:
    container, part = Container(), _Part("engine", [])
    with pytest.raises(ConfigurationError, match="no component of type 'memory_engine'; registered: none"):
        container.resolve(ComponentType.MEMORY_ENGINE)
    container.register(part)
    assert container.resolve(ComponentType.MEMORY_ENGINE) is container.resolve(ComponentType.MEMORY_ENGINE) is part
    with pytest.raises(ConfigurationError, match="'memory_engine' is registered already"):
        container.register(_Part("another", []))


@requirement("REQ-010-002")
async def test_parts_start_in_order_and_stop_in_reverse() -> None:
    log: list[str] = []
    container = _container(log)
    await container.start()
    await container.stop()
    steps = ["bus.initialize", "engine.initialize", "bus.start", "engine.start", "engine.stop", "bus.stop"]
    assert log == steps


@pytest.mark.parametrize("step", ["initialize", "start"])
async def test_a_part_that_cannot_begin_stops_the_others(step: str) -> None:
    log: list[str] = []
    with pytest.raises(ConnectionError, match=f"engine cannot {step}"):
        await _container(log, engine=step).start()
    assert log[-2:] == ["engine.stop", "bus.stop"]


async def test_every_part_is_stopped_although_one_fails() -> None:
    log: list[str] = []
    with pytest.raises(ConnectionError, match="engine cannot stop"):
        await _container(log, engine="stop").stop()
    assert log == ["engine.stop", "bus.stop"]

"""Which parts make up the system, and in what order do they start and stop?"""

from __future__ import annotations

from mnemic.errors import ConfigurationError
from mnemic.ports import ComponentType, IComponent

__all__ = ["ComponentType", "Container"]


class Container:
    """Holds one component of each type; starts them in order of registration and stops them in reverse."""

    def __init__(self) -> None:
        self._components: dict[ComponentType, IComponent] = {}

    def register(self, component: IComponent) -> None:
        """Take in a component.

        Raises:
            ConfigurationError: One of its type is there already.
        """
        kind = component.component_type
        if kind in self._components:
            raise ConfigurationError(f"a component of type {kind.value!r} is registered already; resolve that one")
        self._components[kind] = component

    def resolve(self, kind: ComponentType) -> IComponent:
        """Give the component of a type, always the same object.

        Raises:
            ConfigurationError: None of that type was registered.
        """
        try:
            return self._components[kind]
        except KeyError:
            known = ", ".join(sorted(self._components)) or "none"
            raise ConfigurationError(f"no component of type {kind.value!r}; registered: {known}") from None

    async def start(self) -> None:
        """Initialize all, then start all; what was initialised is stopped again if one fails."""
        try:
            for component in self._components.values():
                await component.initialize()
            for component in self._components.values():
                await component.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all in reverse order; each is stopped even if another fails, the first failure is raised."""
        failures: list[Exception] = []
        for component in reversed(self._components.values()):
            try:
                await component.stop()
            except Exception as error:  # noqa: BLE001 - every other component must still stop; raised below
                failures.append(error)
        if failures:
            raise failures[0]

"""May this identity do this?"""

from mnemic.policy.decide import BuiltinPolicy

__all__ = ["BuiltinPolicy"]

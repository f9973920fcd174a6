"""Users of values."""

from xdsl.ir import Operation, SSAValue


def single_user_of(value: SSAValue) -> Operation | None:
    """Return the operation of the only use of a value, or None."""
    users = [use.operation for use in value.uses]
    return users[0] if len(users) == 1 else None

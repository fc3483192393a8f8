"""What the cases of http_clients.py share."""

import time

CASES = []
# What hangs for so long has failed; nothing else is measured in time.
GUARD_SECONDS = 60
# Of limits that a case does not ask for: none of them may end what another should.
NEVER = 3600
MIB = 1 << 20


def case(function):
    CASES.append(function)
    return function


def until(condition):
    deadline = time.monotonic() + GUARD_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.005)

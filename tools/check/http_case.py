"""What the cases of http_clients.py share."""

CASES = []
# From a client's disappearance to the server's knowing.
SOON = 0.05
MIB = 1 << 20


def case(function):
    CASES.append(function)
    return function

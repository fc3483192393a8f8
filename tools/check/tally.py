"""tally.py JUNIT: counts the tests of a ctest run as "passed failed skipped" on standard output.

Each failed test and each skipped one with its reason goes to standard error.
"""

import re
import sys
import xml.etree.ElementTree as tree

OUTPUT_LINES = 15


def output(case):
    return (case.findtext("system-out") or "").strip()


def skip_reason(case):
    # GoogleTest writes "file:line: Skipped" and the reason below.
    if match := re.search(r": Skipped\n(.+)", output(case)):
        return match.group(1)
    skipped = case.find("skipped")
    message = skipped.get("message") if skipped is not None else None
    return message or case.get("status") or "no reason given"


counts = {"passed": 0, "failed": 0, "skipped": 0}
try:
    cases = tree.parse(sys.argv[1]).getroot().findall(".//testcase")
except (OSError, tree.ParseError) as error:
    print(f"  no results: {error}", file=sys.stderr)
    cases = []
    counts["failed"] += 1
for case in cases:
    name = case.get("name")
    if case.find("failure") is not None or case.get("status") == "fail":
        counts["failed"] += 1
        print(f"  FAILED {name}", file=sys.stderr)
        for line in output(case).splitlines()[-OUTPUT_LINES:]:
            print(f"    {line}", file=sys.stderr)
    elif case.find("skipped") is not None or case.get("status") != "run":
        counts["skipped"] += 1
        print(f"  skipped {name}: {skip_reason(case)}", file=sys.stderr)
    else:
        counts["passed"] += 1
if not cases and not counts["failed"]:
    counts["failed"] += 1
    print("  no test ran", file=sys.stderr)
print(counts["passed"], counts["failed"], counts["skipped"])

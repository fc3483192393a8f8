"""One idea a file: 500 lines at most, 900 for a fused kernel. Prints the median."""

import statistics

import sources

LIMIT = 500
KERNEL_LIMIT = 900

sizes = {path: sources.read(path).count("\n") for path in sources.files() if sources.is_code(path)}
problems = []
for path, lines in sizes.items():
    limit = KERNEL_LIMIT if path.parts[:2] == ("src", "kernel") else LIMIT
    if lines > limit:
        problems.append(f"{path}: {lines} lines, {limit} allowed")
ordered = sorted(sizes.values())
print(f"median {statistics.median(ordered):.0f} lines, "
      f"nine in ten below {ordered[len(ordered) * 9 // 10]}, longest {ordered[-1]}")
sources.finish(problems, len(sizes), "files")

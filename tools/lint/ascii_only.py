"""Sources and documents are ASCII, without tabs, trailing blanks, carriage returns or conflicts."""

import sources

TEXT = (".md", ".json", ".txt", ".toml", ".yaml")

problems = []
checked = 0
for path in sources.files():
    if sources.is_fixture(path) or not (sources.is_code(path) or path.suffix in TEXT):
        continue
    checked += 1
    for number, line in enumerate(sources.read(path).split("\n"), 1):
        if any(ord(letter) > 126 or ord(letter) < 32 for letter in line):
            problems.append(f"{path}:{number}: a byte that is not printable ASCII")
        if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
            problems.append(f"{path}:{number}: a merge conflict")
        if line != line.rstrip():
            problems.append(f"{path}:{number}: blanks at the end of the line")
sources.finish(problems, checked, "files")

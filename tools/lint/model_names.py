"""Backends, kernels and their conformance suite know no model: no names anywhere, no model's dimensions outside tests."""

import re

import sources

NAMES = re.compile(
    r"(?<![a-z])(llama|smollm|mi[sx]tral|ministral|qwen|gemma|deepseek|glm|kimi|gpt[-_ ]?oss|minimax[-_]?[a-z]+[0-9]"
    r"|phi[-_]?[0-9]|granite|falcon|starcoder|command[-_]r|olmo|nemotron|ernie|hunyuan|longcat|grok"
    r"|step[0-9]|mimo|exaone|lfm[0-9])", re.IGNORECASE)
# Widths, depths and vocabularies that only one family has; powers of two say nothing.
DIMENSIONS = re.compile(
    r"(?<![\w.])(576|896|960|1536|2560|3584|4864|5120|5632|7168|8960|9728|11008|12288|13824|14336"
    r"|18432|18944|25600|27648|28672|29568|32000|49152|128256|129280|151643|151936|152064|163840"
    r"|200064|201088|262144|256000)(?![\w.])")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


problems = []
checked = 0
for path in sources.files():
    if path.parts[:2] not in (("src", "backend"), ("src", "kernel"), ("src", "conformance")):
        continue
    checked += 1
    for number, line in enumerate(sources.read(path).split("\n"), 1):
        if match := NAMES.search(line):
            problems.append(f"{path}:{number}: names a model: {match.group()}")
        if path.stem.endswith("_test"):
            continue
        if match := DIMENSIONS.search(without_comments(line).replace("'", "")):
            problems.append(f"{path}:{number}: a model's dimension: {match.group()}")
sources.finish(problems, checked, "files of backends, kernels and conformance")

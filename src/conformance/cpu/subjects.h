#pragma once

#include <zllm/conformance/subject.h>

namespace zllm::conformance::cpu {

// One for each instruction set that this processor has, the plainest first. threads: 0 = as many as
// the process may use.
Result<Subjects> subjects(unsigned threads);

}  // namespace zllm::conformance::cpu

#pragma once

#include <string_view>

#include <zllm/conformance/subject.h>

namespace zllm::registry {

// The forms of a backend of this build that the conformance suite runs on: its instruction sets or
// devices. Unknown names are refused with the list of known ones. threads: 0 = as many as the
// process may use.
Result<conformance::Subjects> conformance_subjects(std::string_view backend, unsigned threads);

}  // namespace zllm::registry

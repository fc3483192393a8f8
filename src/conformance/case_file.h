#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/conformance/case.h>

namespace zllm::conformance {

// The cases of one operator.
struct CaseFile {
  std::string name;  // as messages name it
  backend::Op op = backend::Op::linear;
  std::string hash;  // of what the file says, whatever its layout
  std::vector<Case> cases;
};

// {"operator": NAME, "cases": [{...}, ...]}. A case of several encodings becomes one case for each.
// Unknown operators and keys, and dimensions that contradict each other, are refused by name.
Result<CaseFile> parse_case_file(std::string_view text, std::string_view name);

// Of the build: every file of test/conformance.
Result<std::vector<CaseFile>> built_in_cases();

}  // namespace zllm::conformance

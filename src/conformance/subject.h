#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/conformance/case.h>
#include <zllm/conformance/deviation.h>

namespace zllm::conformance {

// A backend under test, whatever its types are. subject-inl.h makes one of any backend.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string_view backend() const = 0;
  virtual std::string_view instruction_set() const = 0;  // or the device's name
  // As the backend answers; no where it lacks the capability.
  virtual backend::Support supports(const backend::OpKey& key) const = 0;
  // An error of the backend, or of results that no rounding explains.
  virtual Result<Deviation> run(const Case& one) = 0;
};

using Subjects = std::vector<std::unique_ptr<Subject>>;

}  // namespace zllm::conformance

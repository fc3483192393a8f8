#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>

namespace zllm::weight {

// model.safetensors.index.json: which file of the folder holds which tensor.
class SafetensorsIndex {
 public:
  // Refuses file names that are more than a name within the folder, or no *.safetensors. Errors
  // name the tensor but not the index file.
  static Result<SafetensorsIndex> from_json(const Json& json);

  // Null when the tensor is not listed.
  const std::string *file_of(const std::string& tensor) const;
  // Tensor and file, in the order of the index.
  const std::vector<std::pair<std::string, std::string>>& entries() const { return entries_; }
  std::set<std::string> files() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
  std::unordered_map<std::string, std::size_t> by_tensor_;
};

}  // namespace zllm::weight

#include <zllm/weight/container/safetensors_index.h>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kMapName = "weight_map";
constexpr std::string_view kExtension = ".safetensors";

// Separators of any system: an index must mean the same everywhere.
bool is_plain_file_name(std::string_view name) {
  return name.size() > kExtension.size() && name.ends_with(kExtension) && !name.starts_with('.') &&
         name.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

}  // namespace

Result<SafetensorsIndex> SafetensorsIndex::from_json(const Json& json) {
  const Json *map = json.find(kMapName);
  if (map == nullptr || map->as_object() == nullptr) {
    return Error{Code::invalid_file, concat("has no object '", kMapName, "'")};
  }
  SafetensorsIndex index;
  for (const auto& [tensor, value] : *map->as_object()) {
    const std::string *file = value.as_string();
    if (file == nullptr) {
      return Error{Code::invalid_file, concat("tensor ", quote(tensor), ": the file is a ",
                                              value.type_name(), ", not a string")};
    }
    if (!is_plain_file_name(*file)) {
      return Error{Code::invalid_file,
                   concat("tensor ", quote(tensor), ": ", quote(*file),
                          " is not the plain name of a safetensors file in the folder")};
    }
    index.by_tensor_.emplace(tensor, index.entries_.size());
    index.entries_.emplace_back(tensor, *file);
  }
  if (index.entries_.empty()) {
    return Error{Code::invalid_file, concat("'", kMapName, "' lists no tensor")};
  }
  return index;
}

const std::string *SafetensorsIndex::file_of(const std::string& tensor) const {
  const auto found = by_tensor_.find(tensor);
  return found == by_tensor_.end() ? nullptr : &entries_[found->second].second;
}

std::set<std::string> SafetensorsIndex::files() const {
  std::set<std::string> names;
  for (const auto& [tensor, file] : entries_) {
    names.insert(file);
  }
  return names;
}

}  // namespace zllm::weight

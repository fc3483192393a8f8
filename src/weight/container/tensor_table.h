#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <zllm/base/mapped_file.h>
#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>

namespace zllm::weight {

// One tensor of a model as it lies in its file.
struct TensorEntry {
  std::string name;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::vector<std::uint64_t> shape;  // outermost dimension first, as in the Hub; empty for a scalar
  std::span<const std::byte> bytes;  // within the mapping, of exactly the shape's size
  std::size_t file = 0;              // index into TensorTable::files()
};

// All tensors of a model over all its files. Owns the mappings that the entries point into.
class TensorTable {
 public:
  // Refuses a name that is present already, naming both files.
  Status add(TensorEntry entry);
  std::size_t add_file(MappedFile file);

  const TensorEntry *find(std::string_view name) const;
  std::span<const TensorEntry> entries() const { return entries_; }
  std::span<const MappedFile> files() const { return files_; }
  // An error when any file shrank since it was opened.
  Status check() const;

 private:
  std::vector<MappedFile> files_;
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace zllm::weight

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <zllm/base/mapped_file.h>
#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>

namespace zllm::weight {

// Bytes of a tensor's name. GGUF says 64, Hub names reach 150; more is no name.
constexpr std::size_t kTensorNameLimit = 1024;

// One tensor of a model as it lies in its file.
struct TensorEntry {
  std::string name;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::vector<std::uint64_t> shape;  // outermost dimension first, as in the Hub; empty for a scalar
  // Within the mapping, of exactly the shape's size. Safetensors promises no alignment to the
  // element, so elements are read with memcpy.
  std::span<const std::byte> bytes;
  std::size_t file = 0;  // index into TensorTable::files()
};

// All tensors of a model over all its files. Owns the mappings that the entries point into.
class TensorTable {
 public:
  // Refuses a name that is present already, naming both files.
  Status add(TensorEntry entry);
  std::size_t add_file(MappedFile file);

  // Null when absent; valid until the next add.
  const TensorEntry *find(std::string_view name) const;
  std::span<const TensorEntry> entries() const { return entries_; }
  std::span<const MappedFile> files() const { return files_; }
  // An error when any file shrank since it was opened.
  Status check() const;

 private:
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<MappedFile> files_;
  std::vector<TensorEntry> entries_;
  std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>> by_name_;
};

}  // namespace zllm::weight

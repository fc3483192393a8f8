#include <zllm/weight/container/tensor_table.h>

#include <utility>

#include <zllm/base/check.h>
#include <zllm/base/text.h>

namespace zllm::weight {

Status TensorTable::add(TensorEntry entry) {
  ZLLM_CHECK(entry.file < files_.size(), "a tensor of a file that is not in the table");
  if (const TensorEntry *other = find(entry.name)) {
    return Error{Code::invalid_file,
                 concat(files_[entry.file].path(), ": tensor ", quote(entry.name), " is also in ",
                        files_[other->file].path())};
  }
  by_name_.emplace(entry.name, entries_.size());
  entries_.push_back(std::move(entry));
  return {};
}

std::size_t TensorTable::add_file(MappedFile file) {
  files_.push_back(std::move(file));
  return files_.size() - 1;
}

const TensorEntry *TensorTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

Status TensorTable::check() const {
  for (const MappedFile& file : files_) {
    ZLLM_TRY(file.check());
  }
  return {};
}

}  // namespace zllm::weight

#include <zllm/weight/assembly/weight_binder.h>

#include <algorithm>
#include <array>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

constexpr std::size_t kListLimit = 12;  // enough to see the pattern, short enough to read

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += concat(i == 0 ? "" : ", ", shape[i]);
  }
  return text + "]";
}

std::string list(const std::vector<std::string>& names) {
  std::string text = concat(names.size(), names.size() == 1 ? " tensor" : " tensors", ": ");
  for (std::size_t i = 0; i < std::min(names.size(), kListLimit); ++i) {
    text += concat(i == 0 ? "" : ", ", quote(names[i]));
  }
  if (names.size() > kListLimit) {
    text += concat(" and ", names.size() - kListLimit, " more");
  }
  return text;
}

}  // namespace

void WeightBinder::fail(Code code, std::string_view name, std::string_view text) {
  if (!error_) {
    error_ = Error{code, concat("tensor ", quote(name), " ", text)};
  }
}

const TensorEntry *WeightBinder::take(const std::string& name) {
  const TensorEntry *entry = table_->find(name);
  if (entry == nullptr) {
    missing_.push_back(name);
    return nullptr;
  }
  claimed_.insert(entry->name);
  return entry;
}

const TensorEntry *WeightBinder::claim(const std::string& name,
                                       std::span<const std::uint64_t> shape) {
  const TensorEntry *entry = take(name);
  if (entry != nullptr && !std::ranges::equal(entry->shape, shape)) {
    fail(Code::invalid_file, name,
         concat("must have shape ", shape_text(shape), ", found ", shape_text(entry->shape)));
    return nullptr;
  }
  return entry;
}

bool WeightBinder::fits_matrix(const TensorEntry& entry, std::uint64_t columns) {
  const encoding::EncodingInfo& format = encoding::info(entry.encoding);
  if (!format.is_weight) {
    fail(Code::unsupported, entry.name, concat("is a matrix stored as ", format.name));
    return false;
  }
  if (columns % format.block_elements != 0) {
    fail(Code::invalid_file, entry.name,
         concat("has rows of ", columns, " elements, no multiple of the ", format.block_elements,
                " of a ", format.name, " block"));
    return false;
  }
  return true;
}

encoding::WeightView WeightBinder::matrix_of(const TensorEntry *entry, std::uint64_t rows,
                                             std::uint64_t columns) {
  if (entry == nullptr || !fits_matrix(*entry, columns)) {
    return {};
  }
  return {.encoding = entry->encoding,
          .rows = rows,
          .columns = columns,
          .bytes = entry->bytes,
          .name = entry->name};
}

encoding::WeightView WeightBinder::matrix(const std::string& name, std::uint64_t rows,
                                          std::uint64_t columns) {
  return matrix_of(claim(name, std::array{rows, columns}), rows, columns);
}

encoding::WeightView WeightBinder::flat_matrix(const std::string& name, std::uint64_t count,
                                               std::uint64_t rows, std::uint64_t columns) {
  return matrix_of(claim(name, std::array{count, rows, columns}), count * rows, columns);
}

std::vector<encoding::WeightView> WeightBinder::stack(const std::string& name, std::uint64_t count,
                                                      std::uint64_t rows, std::uint64_t columns) {
  const TensorEntry *entry = claim(name, std::array{count, rows, columns});
  if (entry == nullptr || !fits_matrix(*entry, columns)) {
    return {};
  }
  const std::size_t bytes = entry->bytes.size() / count;
  std::vector<encoding::WeightView> views;
  views.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    views.push_back({.encoding = entry->encoding,
                     .rows = rows,
                     .columns = columns,
                     .bytes = entry->bytes.subspan(i * bytes, bytes),
                     .name = entry->name});
  }
  return views;
}

encoding::WeightView WeightBinder::vector_of(const TensorEntry& entry, std::uint64_t size) {
  using enum encoding::Encoding;
  if (entry.encoding != f32 && entry.encoding != f16 && entry.encoding != bf16) {
    fail(Code::unsupported, entry.name,
         concat("is a vector and must be stored as F32, F16 or BF16, found ",
                encoding::info(entry.encoding).name));
    return {};
  }
  return {.encoding = entry.encoding,
          .rows = 1,
          .columns = size,
          .bytes = entry.bytes,
          .name = entry.name};
}

encoding::WeightView WeightBinder::vector(const std::string& name, std::uint64_t size) {
  const TensorEntry *entry = claim(name, std::array{size});
  return entry == nullptr ? encoding::WeightView() : vector_of(*entry, size);
}

encoding::WeightView WeightBinder::flat_vector(const std::string& name, std::uint64_t size,
                                               std::uint64_t row) {
  const TensorEntry *entry = take(name);
  if (entry == nullptr) {
    return {};
  }
  std::uint64_t left = size;  // divided, since a product of dimensions could overflow
  for (const std::uint64_t dimension : entry->shape) {
    left = dimension != 0 && left % dimension == 0 ? left / dimension : 0;
  }
  if (left != 1) {
    fail(Code::invalid_file, name,
         concat("must have ", size, " elements, found shape ", shape_text(entry->shape)));
    return {};
  }
  if (row != 0 && (entry->shape.empty() || entry->shape.back() != row)) {
    fail(Code::invalid_file, name,
         concat("must have rows of ", row, " elements, found shape ", shape_text(entry->shape)));
    return {};
  }
  return vector_of(*entry, size);
}

Status WeightBinder::finish(std::span<const std::string_view> ignored_endings,
                            const std::function<bool(std::string_view)>& is_ignored) const {
  if (error_) {
    return *error_;
  }
  std::vector<std::string> unexpected;
  for (const TensorEntry& entry : table_->entries()) {
    const auto ends_entry = [&](std::string_view ending) { return entry.name.ends_with(ending); };
    // transformers writes the experts that a block does not have as tensors without elements.
    const bool is_empty = std::ranges::find(entry.shape, 0U) != entry.shape.end();
    if (!claimed_.contains(entry.name) && !is_empty &&
        !std::ranges::any_of(ignored_endings, ends_entry) &&
        !(is_ignored && is_ignored(entry.name))) {
      unexpected.push_back(entry.name);
    }
  }
  if (missing_.empty() && unexpected.empty()) {
    return {};
  }
  std::string text;
  if (!missing_.empty()) {
    text = concat("the model lacks ", list(missing_));
  }
  if (!unexpected.empty()) {
    text += concat(text.empty() ? "the model has unexpected " : "; and has unexpected ",
                   list(unexpected));
  }
  return Error{Code::invalid_file, std::move(text)};
}

}  // namespace zllm::weight

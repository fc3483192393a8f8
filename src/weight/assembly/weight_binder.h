#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// Claims tensors of a model by name and shape, and remembers what was missing, so that one error
// can tell everything. Names and shapes are those of the file, outermost dimension first. After
// any failure the views handed out are empty; finish() says why.
class WeightBinder {
 public:
  // Refers to the table, which must outlive it.
  explicit WeightBinder(const TensorTable& table) : table_(&table) {}

  bool has(const std::string& name) const { return table_->find(name) != nullptr; }
  // In any encoding that a weight may have and whose block divides the row.
  encoding::WeightView matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns);
  // A tensor [count, rows, columns] as one matrix of count * rows rows.
  encoding::WeightView flat_matrix(const std::string& name, std::uint64_t count, std::uint64_t rows,
                                   std::uint64_t columns);
  // Of norms and biases: F32, F16 or BF16.
  encoding::WeightView vector(const std::string& name, std::uint64_t size);
  // A vector of any shape with that many elements, such as [1, 1, size, 1]; the last dimension is
  // `row` unless that is 0.
  encoding::WeightView flat_vector(const std::string& name, std::uint64_t size,
                                   std::uint64_t row = 0);
  // The matrices of a tensor [count, rows, columns], in order; none after a failure.
  std::vector<encoding::WeightView> stack(const std::string& name, std::uint64_t count,
                                          std::uint64_t rows, std::uint64_t columns);

  // The first wrong tensor, else the lists of missing and unexpected ones, else success. A tensor
  // is expected when it was claimed, has no elements, its name ends with one of the ignored
  // endings, or is_ignored says so of its name.
  Status finish(std::span<const std::string_view> ignored_endings,
                const std::function<bool(std::string_view)>& is_ignored = {}) const;

 private:
  const TensorEntry *take(const std::string& name);
  const TensorEntry *claim(const std::string& name, std::span<const std::uint64_t> shape);
  bool fits_matrix(const TensorEntry& entry, std::uint64_t columns);
  encoding::WeightView matrix_of(const TensorEntry *entry, std::uint64_t rows,
                                 std::uint64_t columns);
  encoding::WeightView vector_of(const TensorEntry& entry, std::uint64_t size);
  void fail(Code code, std::string_view name, std::string_view text);

  const TensorTable *table_;
  std::unordered_set<std::string_view> claimed_;
  std::vector<std::string> missing_;
  std::optional<Error> error_;
};

}  // namespace zllm::weight

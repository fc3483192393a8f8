#include <zllm/runtime/memory_fit.h>

#include <algorithm>
#include <limits>
#include <string>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::runtime {
namespace {

// Left to the rest of the process and to the system out of what is available.
constexpr std::uint64_t kReserveDivisor = 16;

std::string mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  return concat((bytes + kMebibyte - 1) / kMebibyte, " MiB");
}

// What is taken whatever the sequences hold, or an error that says what does not fit.
Result<std::uint64_t> fixed_bytes(const MemoryNeed& need, std::uint32_t sequences,
                                  std::uint64_t usable) {
  const auto model = checked_add(need.weight_bytes, need.workspace_bytes);
  if (!model || *model > usable) {
    return Error{Code::resource_exhausted,
                 concat("the weights need ", mebibytes(need.weight_bytes), " and a round ",
                        mebibytes(need.workspace_bytes), " of memory, ", mebibytes(usable),
                        " are available; a smaller or more strongly quantised model would fit")};
  }
  const std::uint64_t rest = usable - *model;
  const auto state = checked_multiply(need.state_bytes_per_sequence, std::uint64_t{sequences});
  if (!state || *state > rest) {
    return Error{
        Code::resource_exhausted,
        concat("the state of ", sequences, " sequences needs ",
               mebibytes(need.state_bytes_per_sequence), " each, beside ", mebibytes(*model),
               " for the weights; ", mebibytes(usable), " of memory are available, so at most ",
               rest / need.state_bytes_per_sequence, " sequences fit")};
  }
  return *model + *state;
}

}  // namespace

Result<MemoryFit> fit_memory(const MemoryNeed& need, const LoadOptions& options,
                             std::optional<std::uint64_t> available) {
  const bool is_open = options.context == 0 && options.cache_rows == 0;
  MemoryFit fit;
  fit.context = options.context != 0 ? options.context : need.max_positions;
  fit.cache_rows = options.cache_rows != 0 ? options.cache_rows : fit.context;
  if (need.state_bytes_per_sequence != 0 && options.sequences == 0) {
    return Error{Code::invalid_argument,
                 "sequences: a model with recurrent state needs at least 1"};
  }
  if (!available) {
    return fit;
  }
  const std::uint64_t usable = *available - *available / kReserveDivisor;
  ZLLM_TRY(const std::uint64_t fixed, fixed_bytes(need, options.sequences, usable));
  const std::uint64_t rows = need.state_bytes_per_row == 0
                                 ? std::numeric_limits<std::uint64_t>::max()
                                 : (usable - fixed) / need.state_bytes_per_row;
  if (fit.cache_rows <= rows) {
    return fit;
  }
  if (is_open && rows >= std::min(kSmallestOpenContext, need.max_positions)) {
    fit.context = rows;
    fit.cache_rows = rows;
    return fit;
  }
  return Error{
      Code::resource_exhausted,
      concat("a cache of ", fit.cache_rows, " tokens needs ", need.state_bytes_per_row,
             " bytes each, beside ", mebibytes(fixed), " for weights and other state; ",
             mebibytes(usable), " of memory are available, so at most ", rows, " tokens fit")};
}

}  // namespace zllm::runtime

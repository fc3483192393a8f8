#include "weight_check.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <zllm/encoding/encoding.h>

#include "output.h"

namespace zllm::cli {
namespace {

// Elements decoded at a time: a multiple of every block, in the first-level cache.
constexpr std::size_t kPieceElements = 4096;

BadTensor check(const weight::TensorEntry& tensor) {
  const encoding::EncodingInfo& info = encoding::info(tensor.encoding);
  const std::size_t piece_bytes = kPieceElements / info.block_elements * info.block_bytes;
  std::vector<float> values(kPieceElements);
  BadTensor found{.name = tensor.name};
  for (std::span<const std::byte> rest = tensor.bytes; !rest.empty();) {
    const std::size_t bytes = std::min(rest.size(), piece_bytes);
    const std::span<float> elements =
        std::span(values).first(bytes / info.block_bytes * info.block_elements);
    encoding::decode(tensor.encoding, rest.first(bytes), elements);
    for (const float value : elements) {
      found.not_a_number += std::isnan(value) ? 1u : 0u;
      found.infinite += std::isinf(value) ? 1u : 0u;
    }
    rest = rest.subspan(bytes);
  }
  return found;
}

}  // namespace

Result<std::vector<BadTensor>> find_bad_weights(const weight::TensorTable& tensors) {
  std::vector<BadTensor> bad;
  StatusLine line;
  std::size_t done = 0;
  for (const weight::TensorEntry& tensor : tensors.entries()) {
    line.show_progress("checking weights", done++, tensors.entries().size());
    if (!encoding::info(tensor.encoding).is_weight) {
      continue;
    }
    BadTensor found = check(tensor);
    if (found.not_a_number > 0 || found.infinite > 0) {
      bad.push_back(std::move(found));
    }
    MappedFile::release(tensor.bytes);
  }
  ZLLM_TRY(tensors.check());
  return bad;
}

}  // namespace zllm::cli

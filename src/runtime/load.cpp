#include <zllm/runtime/load.h>

#include <zllm/base/text.h>

namespace zllm::runtime {

Result<StageRange> resolve(StageRange range, std::uint32_t layers) {
  const std::uint32_t end = range.end == 0 ? layers : range.end;
  if (range.first >= end || end > layers) {
    return Error{Code::invalid_argument,
                 concat("layers ", range.first, " to ", end, " are no stage of a model of ", layers,
                        " layers: the end is the first layer behind it")};
  }
  return StageRange{.first = range.first, .end = end};
}

}  // namespace zllm::runtime

#pragma once

#include <cstdint>

#include <zllm/base/result.h>
#include <zllm/runtime/round.h>

namespace zllm::runtime {

// What a stage takes from the one before it.
struct StageNeeds {
  std::uint32_t first_layer = 0;  // 0: the stage embeds the tokens and takes nothing
  std::uint32_t streams = 1;      // of the residual
  std::uint32_t hidden = 0;
  bool selection = false;  // a layer of the stage uses a selection that an earlier stage made
};

// An error where Round::input is not what the stage needs for the round's rows: there or missing
// against the needs, of other rows, streams or width, without the selection, or with a selection
// that keeps nothing or what a row does not see. The round passes validate().
Status check_input(const Round& round, const StageNeeds& needs);

}  // namespace zllm::runtime

#include <zllm/kernel/cpu/delta_rule.h>

#include <zllm/kernel/cpu/delta_rule_scratch.h>

namespace zllm::kernel::cpu {

DeltaRuleJournal journal_of(const DeltaRuleShape& shape) {
  const std::size_t keys = channels_of(shape);
  const std::size_t updates = keys + keys_of(shape);
  const std::size_t decays = updates + values_of(shape);
  return {.keys = keys, .updates = updates, .decays = decays, .width = decays + decays_of(shape)};
}

DeltaRuleLayout delta_rule_layout(const DeltaRuleShape& shape) {
  std::size_t end = 0;
  const auto take = [&end](std::size_t floats) {
    const std::size_t begin = end;
    end += (floats + kWidestVec - 1) / kWidestVec * kWidestVec;
    return begin;
  };
  DeltaRuleLayout layout;
  layout.keys = take(kDeltaRuleRows * shape.key_width);
  layout.queries = take(kDeltaRuleRows * shape.key_width);
  layout.decays = take(kDeltaRuleRows * shape.key_width);
  layout.values = take(kDeltaRuleRows * shape.value_width);
  layout.betas = take(kDeltaRuleRows);
  layout.query_taps = take(shape.taps * shape.key_width);
  layout.key_taps = take(shape.taps * shape.key_width);
  layout.value_taps = take(shape.taps * shape.value_width);
  layout.block = take(shape.key_width * kDeltaRuleVecs * kWidestVec);
  layout.end = end;
  return layout;
}

std::size_t delta_rule_scratch(const DeltaRuleShape& shape) { return delta_rule_layout(shape).end; }

}  // namespace zllm::kernel::cpu

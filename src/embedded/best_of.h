#pragma once

#include <cstdint>
#include <vector>

#include <zllm/embedded/choice_text.h>
#include <zllm/embedded/event.h>

namespace zllm {

// Holds the events of all candidates until it is known which are told.
class BestOf {
 public:
  BestOf(std::uint32_t candidates, std::uint32_t choices, bool tells_scores)
      : events_(candidates), choices_(choices), tells_scores_(tells_scores) {}

  void add(std::vector<Event> events);
  // Events of the best by mean log-probability, best first, one choice after the other; ties go to
  // the lower candidate, and an answer of no tokens comes last.
  std::vector<Event> take(const std::vector<ChoiceText>& candidates);

 private:
  std::vector<std::vector<Event>> events_;  // by candidate
  std::uint32_t choices_;
  bool tells_scores_;
};

}  // namespace zllm

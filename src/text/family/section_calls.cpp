#include <zllm/text/family/section_calls.h>

#include <utility>

#include <zllm/text/family/json_calls.h>

namespace zllm::text::family {

SectionCalls::SectionCalls(CallFrame frame) : frame_(std::move(frame)), inner_(frame_.within) {
  for (const Section& section : frame_.sections) {
    begins_.push_back(section.begin);
    inner_.push_back(section.end);
  }
  begins_.push_back(frame_.call_begin);
  inner_.push_back(frame_.call_end);
}

Task<bool> SectionCalls::read(CallContext context, std::size_t begin) const {
  Input *input = context.input;
  const bool is_section = begin < frame_.sections.size();
  const char first = co_await next_solid(input);
  if (first == '{' || first == '[') {
    const JsonCallRules rules = {.end = is_section ? frame_.sections[begin].end : frame_.call_end,
                                 .holds_arguments = frame_.ids_follow};
    const bool is_json = co_await read_json_calls(context, rules);
    co_return is_json;
  }
  bool has_more = !is_section;
  if (is_section) {
    has_more = co_await take_marker(input, frame_.call_begin);
  }
  bool has_called = false;
  std::size_t behind = input->position();
  while (has_more) {
    const Outcome outcome = co_await read_call(context);
    if (outcome == Outcome::broken) {
      co_return true;
    }
    if (outcome == Outcome::none) {
      break;
    }
    has_called = true;
    behind = input->position();
    co_await next_solid(input);
    has_more = co_await take_marker(input, frame_.call_begin);
  }
  if (has_called) {
    input->rewind(behind);
    co_await next_solid(input);
    const bool is_end = co_await take_section_end(input);
    if (!is_end) {
      input->rewind(behind);
    }
  }
  co_return has_called;
}

Task<bool> SectionCalls::take_section_end(Input *input) const {
  for (const Section& section : frame_.sections) {
    const bool is_end = co_await take_marker(input, section.end);
    if (is_end) {
      co_return true;
    }
  }
  co_return false;
}

}  // namespace zllm::text::family

#include <zllm/text/family/header_calls.h>

#include <optional>
#include <utility>

#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_calls.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kBrace = "{";
constexpr std::string_view kFence = "```";

}  // namespace

HeaderCalls::HeaderCalls(HeaderSyntax syntax) : syntax_(std::move(syntax)) {
  if (!syntax_.section_begin.empty()) {
    begins_.push_back(syntax_.section_begin);
  }
  begins_.push_back(syntax_.call_begin);
  inner_ = syntax_.within;
  inner_.insert(inner_.end(), {syntax_.section_end, syntax_.call_end});
}

Task<bool> HeaderCalls::read(CallContext context, std::size_t begin) const {
  Input *input = context.input;
  if (begins_[begin] == syntax_.section_begin) {
    co_await next_solid(input);
    const bool is_call = co_await take_marker(input, syntax_.call_begin);
    if (!is_call) {
      co_return false;
    }
  }
  bool has_called = false;
  std::size_t behind = input->position();
  bool has_more = true;
  while (has_more) {
    const bool is_call = co_await read_call(context);
    if (!is_call) {
      input->rewind(behind);
      co_return has_called;
    }
    has_called = true;
    behind = input->position();
    co_await next_solid(input);
    has_more = co_await take_marker(input, syntax_.call_begin);
  }
  bool is_end = false;
  if (!syntax_.section_end.empty()) {
    is_end = co_await take_marker(input, syntax_.section_end);
  }
  if (!is_end) {
    input->rewind(behind);
  }
  co_return true;
}

Task<bool> HeaderCalls::read_call(CallContext context) const {
  Input *input = context.input;
  if (syntax_.has_arrays) {
    const char next = co_await next_solid(input);
    if (next == '[') {
      const bool is_array = co_await read_json_calls(context, {.holds_arguments = true});
      co_return is_array;
    }
  }
  const std::optional<std::string> text = co_await read_header(input, Markers(&kBrace, 1));
  CallHeader header = text ? syntax_.header(*text) : CallHeader{};
  if (!is_call_name(header.name)) {
    co_return false;
  }
  context.out->begin_call(std::move(header.name), std::move(header.id));
  const bool is_whole = co_await read_arguments(context);
  if (!is_whole) {
    co_return true;
  }
  const std::size_t behind = input->position();
  co_await next_solid(input);
  const bool is_fenced = co_await take_marker(input, kFence);
  if (is_fenced) {
    co_await next_solid(input);
  }
  bool is_end = false;
  if (!syntax_.call_end.empty()) {
    is_end = co_await take_marker(input, syntax_.call_end);
  }
  if (!is_end && !is_fenced) {
    input->rewind(behind);
  }
  co_return true;
}

}  // namespace zllm::text::family

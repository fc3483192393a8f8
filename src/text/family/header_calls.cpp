#include <zllm/text/family/header_calls.h>

#include <optional>
#include <utility>

#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_calls.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kFence = "```";

}  // namespace

HeaderCalls::HeaderCalls(CallFrame frame, ReadHeader header)
    : SectionCalls(std::move(frame)), header_(header), header_ends_({"{"}) {
  if (!this->frame().call_end.empty()) {
    header_ends_.push_back(this->frame().call_end);
  }
}

Task<SectionCalls::Outcome> HeaderCalls::read_call(CallContext context) const {
  Input *input = context.input;
  const std::optional<std::string> text = co_await read_header(input, header_ends_);
  CallHeader header = text ? header_(*text) : CallHeader{};
  if (!is_call_name(header.name)) {
    co_return Outcome::none;
  }
  context.out->begin_call(std::move(header.name), std::move(header.id));
  if (input->rest().starts_with('{')) {
    co_await read_arguments(context);
  } else {
    context.out->arguments("{}");
    context.out->end_call();
  }
  const std::size_t behind = input->position();
  co_await next_solid(input);
  const bool is_fenced = co_await take_marker(input, kFence);
  if (is_fenced) {
    co_await next_solid(input);
  }
  bool is_end = false;
  if (!frame().call_end.empty()) {
    is_end = co_await take_marker(input, frame().call_end);
  }
  if (!is_end && !is_fenced) {
    input->rewind(behind);
  }
  co_return Outcome::whole;
}

}  // namespace zllm::text::family

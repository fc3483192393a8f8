#include <array>

#include <zllm/text/family/families.h>
#include <zllm/text/family/json_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::array<std::string_view, 1> kBegins = {"<tool_call>"};
constexpr std::array<std::string_view, 1> kInner = {"</tool_call>"};

class HermesCalls final : public CallSyntax {
 public:
  Markers begins() const override { return kBegins; }
  Markers inner() const override { return kInner; }
  Task<bool> read(CallContext context, std::size_t /*begin*/) const override {
    return read_json_calls(context, {.end = kInner[0]});
  }
};

bool matches(std::string_view chat_template) {
  return has_all(chat_template, "<tool_call>", "arguments") &&
         !has_any(chat_template, "<tool_calls>", "<arg_key>", "<function=", "<invoke");
}

}  // namespace

// Hermes 2 Pro, Qwen 2.5, Qwen 3 and many others.
const Family& hermes() {
  static const HermesCalls calls;
  static const TextFamily family(
      "hermes", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      matches);
  return family;
}

}  // namespace zllm::text::family

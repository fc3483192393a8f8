#include <array>

#include <zllm/text/family/families.h>
#include <zllm/text/family/json_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::array<std::string_view, 1> kBegins = {"<|python_tag|>"};

class Llama3Calls final : public CallSyntax {
 public:
  Markers begins() const override { return kBegins; }
  Markers inner() const override { return {}; }
  Task<bool> read(CallContext context, std::size_t /*begin*/) const override {
    return read_json_calls(context, {});
  }
  bool has_bare_calls() const override { return true; }
  Task<bool> read_bare(CallContext context) const override {
    return read_json_calls(context, {.only_known = true});
  }
};

}  // namespace

// Llama 3.1 to 3.3.
const Family& llama3() {
  static const Llama3Calls calls;
  static const TextFamily family(
      "llama3", {.reasoning_begin = "", .reasoning_end = "", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<|start_header_id|>") &&
               !has_any(chat_template, "<tool_call>", "<function=", "functools", ">>>");
      });
  return family;
}

}  // namespace zllm::text::family

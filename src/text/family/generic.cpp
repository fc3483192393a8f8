#include <algorithm>
#include <array>

#include <zllm/text/family/families.h>
#include <zllm/text/family/json_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kFence = "```";
// What models that write calls as JSON put around them.
constexpr std::array<std::string_view, 7> kBegins = {
    kFence,          "<tool_call>",     "<tool_calls>", "<TOOLCALL>",
    "<|tool_call|>", "<function_call>", "functools"};
constexpr std::array<std::string_view, 7> kEnds = {
    kFence, "</tool_call>", "</tool_calls>", "</TOOLCALL>", "", "</function_call>", ""};

class GenericCalls final : public CallSyntax {
 public:
  Markers begins() const override { return kBegins; }
  Markers inner() const override { return kEnds; }
  Task<bool> read(CallContext context, std::size_t begin) const override {
    if (kBegins[begin] == kFence) {
      return read_fenced(context);
    }
    return read_json_calls(context, {.end = kEnds[begin]});
  }
  bool has_bare_calls() const override { return true; }
  Task<bool> read_bare(CallContext context) const override {
    return read_json_calls(context, {.only_known = true});
  }

 private:
  // The fence may name a language.
  static Task<bool> read_fenced(CallContext context) {
    Input *input = context.input;
    for (;;) {
      const std::string_view rest = input->rest();
      const auto word_end = std::find_if_not(rest.begin(), rest.end(), is_word);
      input->skip(static_cast<std::size_t>(word_end - rest.begin()));
      if (word_end != rest.end() || input->ended()) {
        break;
      }
      co_await input->more();
    }
    const bool has_called = co_await read_json_calls(context, {.end = kFence, .only_known = true});
    co_return has_called;
  }

  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
};

}  // namespace

// By the tools of the request: for templates of no known family.
const Family& generic() {
  static const GenericCalls calls;
  static const TextFamily family(
      "generic", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view /*chat_template*/) { return true; });
  return family;
}

}  // namespace zllm::text::family

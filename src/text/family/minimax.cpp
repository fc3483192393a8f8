#include <array>

#include <zllm/text/family/families.h>
#include <zllm/text/family/json_calls.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kJsonBegin = "<tool_calls>";
constexpr std::string_view kJsonEnd = "</tool_calls>";

// Markup as M2 writes it, or lines of JSON as M1 does.
class MinimaxCalls final : public CallSyntax {
 public:
  MinimaxCalls()
      : markup_({.sections = {{"<minimax:tool_call>", "</minimax:tool_call>"}},
                 .call_begin = "<invoke",
                 .name_end = ">",
                 .call_end = "</invoke>",
                 .key_begin = "<parameter",
                 .key_end = ">",
                 .value_end = "</parameter>"}),
        begins_(markup_.begins().begin(), markup_.begins().end()),
        inner_(markup_.inner().begin(), markup_.inner().end()) {
    begins_.push_back(kJsonBegin);
    inner_.push_back(kJsonEnd);
  }

  Markers begins() const override { return begins_; }
  Markers inner() const override { return inner_; }
  Task<bool> read(CallContext context, std::size_t begin) const override {
    return begins_[begin] == kJsonBegin ? read_json_calls(context, {.end = kJsonEnd})
                                        : markup_.read(context, begin);
  }

 private:
  MarkupCalls markup_;
  std::vector<std::string_view> begins_;
  std::vector<std::string_view> inner_;
};

}  // namespace

// MiniMax M1 and M2.
const Family& minimax() {
  static const MinimaxCalls calls;
  static const TextFamily family(
      "minimax", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<minimax:tool_call>") ||
               has_all(chat_template, "<tool_calls>", "<beginning_of_sentence>");
      });
  return family;
}

}  // namespace zllm::text::family

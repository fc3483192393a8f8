#include <zllm/text/family/families.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {

// MiniMax M2, and M1, which writes lines of JSON.
const Family& minimax() {
  static const MarkupCalls calls(
      {.sections = {{"<minimax:tool_call>", "</minimax:tool_call>"},
                    {"<tool_calls>", "</tool_calls>"}},
       .call_begin = "<invoke",
       .call_end = "</invoke>"},
      {.name_end = ">", .key_begin = "<parameter", .key_end = ">", .value_end = "</parameter>"});
  static const TextFamily family(
      "minimax", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<minimax:tool_call>") ||
               has_all(chat_template, "<tool_calls>", "<beginning_of_sentence>");
      });
  return family;
}

}  // namespace zllm::text::family

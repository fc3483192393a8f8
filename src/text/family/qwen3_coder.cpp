#include <zllm/text/family/families.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {

// Qwen3-Coder, Qwen 3.5, Nemotron 3, Step 3.5.
const Family& qwen3_coder() {
  static const MarkupCalls calls = function_calls({"<tool_call>", "</tool_call>"});
  static const TextFamily family(
      "qwen3_coder", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<tool_call>", "<function=", "<parameter=");
      });
  return family;
}

}  // namespace zllm::text::family

#include <algorithm>

#include <zllm/text/family/call_name.h>
#include <zllm/text/family/families.h>
#include <zllm/text/family/header_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kArguments = "<|tool_call_argument_begin|>";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "functions.name:0", which is the id as well.
CallHeader header(std::string_view text) {
  const std::string_view id = trimmed(text.substr(0, text.find(kArguments)));
  std::string_view name = id;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && is_number(name.substr(colon + 1))) {
    name = name.substr(0, colon);
  }
  constexpr std::string_view kPrefix = "functions.";
  if (name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
  }
  return {.name = std::string(name), .id = std::string(id)};
}

}  // namespace

const Family& kimi_k2() {
  static const HeaderCalls calls(
      {.sections = {{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}},
       .call_begin = "<|tool_call_begin|>",
       .call_end = "<|tool_call_end|>",
       .within = {kArguments}},
      header);
  static const TextFamily family(
      "kimi_k2", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<|tool_calls_section_begin|>");
      });
  return family;
}

}  // namespace zllm::text::family

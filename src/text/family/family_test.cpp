#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include <zllm/text/family/families.h>

namespace zllm::text::family {
namespace {

TEST(Family, EachIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const Family *family : all_families()) {
    EXPECT_TRUE(names.insert(family->name()).second);
    EXPECT_EQ(find_family(family->name()), family);
    EXPECT_EQ(family->reasoning_begin().empty(), family->reasoning_end().empty());
  }
  EXPECT_EQ(names.size(), 13U);
  EXPECT_EQ(find_family("none"), nullptr);
}

TEST(Family, TemplatesTellTheFamily) {
  const std::array<std::pair<std::string_view, std::string_view>, 17> cases = {{
      {"hermes", R"({{'<tool_call>\n{"name": "' + c.name + '", "arguments": ' + c.arguments}})"},
      {"qwen3_coder", "'<tool_call>\\n<function=' ~ c.name '<parameter=' c.arguments"},
      {"glm4", "'<tool_call>' + c.name <arg_key>{{k}}</arg_key><arg_value>{{ arguments[k] }}"},
      {"llama3", "<|start_header_id|>assistant<|end_header_id|> <|python_tag|>"},
      {"mistral", "[INST] x [/INST] [TOOL_CALLS]"},
      {"deepseek_v3", "<\uff5ctool\u2581sep\uff5c>' + c.name + '\\n```json\\n'"},
      {"deepseek_v3", "'<\uff5cAssistant\uff5c><think>\\n'"},
      {"deepseek_v31", "<\uff5cAssistant\uff5c> c.name + '<\uff5ctool\u2581sep\uff5c>' + c.args"},
      {"deepseek_v32", "{%- set t = '\uff5cDSML\uff5c' %}<' + t + 'invoke name=\"'"},
      {"kimi_k2", "<think></think><|tool_calls_section_begin|>"},
      {"minimax", "{%- set begin = '<minimax:tool_call>' %}<invoke name="},
      {"minimax", "<beginning_of_sentence>ai <tool_calls>{\"name\": .., \"arguments\": .."},
      {"harmony", "<|start|>assistant<|channel|>final<|message|>"},
      {"seed_oss", "{%- set begin = '<seed:tool_call>' %}<function=' <parameter="},
      {"generic", "<|im_start|>assistant\n"},
      {"generic", "<tool_calls>[{\"arguments\""},
      {"generic", ""},
  }};
  for (const auto& [name, text] : cases) {
    EXPECT_EQ(detect_family(text).name(), name) << text;
  }
}

TEST(Family, ThePromptTellsWhetherReasoningIsOpen) {
  EXPECT_TRUE(is_reasoning_open(hermes(), "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(is_reasoning_open(hermes(), "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(is_reasoning_open(hermes(), "what is <think>?\n<|im_start|>assistant\n"));
  EXPECT_FALSE(is_reasoning_open(hermes(), "\n"));
  EXPECT_FALSE(is_reasoning_open(llama3(), "<think>"));
  EXPECT_TRUE(is_reasoning_open(harmony(), "<|start|>assistant<|channel|>analysis<|message|>"));
}

}  // namespace
}  // namespace zllm::text::family

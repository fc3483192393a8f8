#include <zllm/embedded/fence_plan.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/text/family/grammar_writer.h>

namespace zllm {
namespace {

using text::Constraint;
using text::ConstraintKind;
namespace family = text::family;

class TokenizerSpellings final : public family::SpecialSpellings {
 public:
  explicit TokenizerSpellings(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  bool is_special(std::string_view spelling) const override {
    const std::optional<TokenId> id = tokenizer_.id_of(spelling);
    return id && tokenizer_.is_special(*id);
  }
  std::optional<TokenId> id_of(std::string_view spelling) const override {
    return tokenizer_.id_of(spelling);
  }

 private:
  const text::Tokenizer& tokenizer_;
};

std::optional<Constraint> format_constraint(const ResponseFormat& format) {
  switch (format.kind) {
    case FormatKind::text:
      return std::nullopt;
    case FormatKind::json_object:
      return Constraint{.kind = ConstraintKind::json_object};
    case FormatKind::json_schema:
      return Constraint{.kind = ConstraintKind::json_schema, .source = format.source};
    case FormatKind::regex:
      return Constraint{.kind = ConstraintKind::regex, .source = format.source};
    case FormatKind::lark:
      return Constraint{.kind = ConstraintKind::lark, .source = format.source};
    case FormatKind::gbnf:
      break;
  }
  return Constraint{.kind = ConstraintKind::gbnf, .source = format.source};
}

// Lark rules that derive the format from the name format_start. field: that asked for it.
Outcome<std::string> format_rules(const Constraint& format, const std::string& field,
                                  const text::FenceFactory& fences) {
  switch (format.kind) {
    case ConstraintKind::json_object:
    case ConstraintKind::json_schema: {
      const auto schema = fences.checked_schema(format);
      if (!schema.ok()) {
        return Failure::from(schema.error(), field);
      }
      return concat("format_start: %json ", *schema, "\n");
    }
    case ConstraintKind::regex: {
      // As it stands before it is a part of something else.
      if (const auto alone = fences.make({.constraint = format}); !alone.ok()) {
        return Failure::from(alone.error(), field);
      }
      return concat(
          "format_start: FORMAT_START\nFORMAT_START: ", family::lark_pattern(format.source), "\n");
    }
    case ConstraintKind::lark:
    case ConstraintKind::gbnf:
      break;
  }
  return Failure(FailureKind::unsupported,
                 "a grammar as the response format cannot be combined with tools; give "
                 "tool_choice none, or a JSON schema or pattern",
                 field);
}

// The answer is calls by the family's grammar, or the format.
Outcome<std::string> either(std::string calls, const Constraint& format, const std::string& field,
                            const text::FenceFactory& fences) {
  constexpr std::string_view kStart = "start:";
  std::size_t start = calls.starts_with(kStart) ? 0 : calls.find(concat("\n", kStart));
  if (start == std::string::npos) {
    return Failure(FailureKind::internal, "the grammar of tool calls has no start", "tools");
  }
  start += calls[start] == '\n' ? std::size_t{1} : 0;
  calls.replace(start, kStart.size(), "start: calls_start | format_start\ncalls_start:");
  ZLLM_TRY(const std::string rules, format_rules(format, field, fences));
  return concat(calls, "\n", rules);
}

// The tools that may be called, with schemas as grammars may hold them.
Outcome<std::vector<family::Tool>> fenced_tools(const FenceInput& input,
                                                const Conversation& conversation) {
  std::vector<family::Tool> tools =
      family_tools(conversation.tools, conversation.tool_choice.names);
  for (family::Tool& tool : tools) {
    auto schema = input.fences.tool_schema(tool.parameters, tool.is_strict);
    if (!schema.ok()) {
      const auto place = std::ranges::find(conversation.tools, tool.name, &Tool::name);
      return Failure::from(std::move(schema).error().within(concat("the tool ", quote(tool.name))),
                           concat("tools[", place - conversation.tools.begin(), "].parameters"));
    }
    tool.parameters = *std::move(schema);
  }
  return tools;
}

std::optional<text::Thinking> thinking(const FenceInput& input) {
  if (input.family.reasoning_end().empty() || (!input.is_reasoning_open && !input.may_reason)) {
    return std::nullopt;
  }
  return text::Thinking{.is_open = input.is_reasoning_open,
                        .begin = std::string(input.family.reasoning_begin()),
                        .end = std::string(input.family.reasoning_end()),
                        .budget = input.request.reasoning.budget};
}

Outcome<Done> plan_calls(const FenceInput& input, const Conversation& conversation,
                         FencePlan& plan) {
  const ToolChoice& choice = conversation.tool_choice;
  const bool must_call = choice.rule == ToolRule::required;
  const bool is_strict =
      std::ranges::any_of(family_tools(conversation.tools, choice.names), &family::Tool::is_strict);
  const std::optional<Constraint> format = std::exchange(plan.spec.constraint, std::nullopt);
  if (!must_call && !is_strict && !format && choice.names.empty()) {
    return Done();
  }
  ZLLM_TRY(const std::vector<family::Tool> tools, fenced_tools(input, conversation));
  const family::GrammarRequest request{
      .tools = tools,
      .rule = must_call || format ? family::CallRule::required : family::CallRule::optional,
      .allows_parallel = conversation.allows_parallel_calls};
  auto grammar = input.family.grammar(request, TokenizerSpellings(input.tokenizer));
  if (!grammar.ok()) {
    return Failure::from(grammar.error(), "tools");
  }
  std::string source = *std::move(grammar);
  plan.field = "tools";
  if (format && !must_call) {
    ZLLM_TRY(source, either(std::move(source), *format, input.request.format.field, input.fences));
  }
  plan.spec.constraint = Constraint{.kind = ConstraintKind::lark, .source = std::move(source)};
  return Done();
}

// The conversation of a request that lets the model call tools, else null.
const Conversation *calling(const Request& request) {
  const auto *conversation = std::get_if<Conversation>(&request.input);
  return conversation != nullptr && allows_calls(*conversation) ? conversation : nullptr;
}

}  // namespace

std::vector<family::Tool> family_tools(std::span<const Tool> tools,
                                       std::span<const std::string> only) {
  std::vector<family::Tool> chosen;
  for (const Tool& tool : tools) {
    if (only.empty() || std::ranges::find(only, tool.name) != only.end()) {
      chosen.push_back({.name = tool.name,
                        .description = tool.description,
                        .parameters = tool.parameters,
                        .is_strict = tool.is_strict});
    }
  }
  return chosen;
}

bool allows_calls(const Conversation& conversation) {
  return !conversation.tools.empty() && conversation.tool_choice.rule != ToolRule::none;
}

bool may_need_fence(const Request& request) {
  return request.format.kind != FormatKind::text || request.reasoning.budget ||
         calling(request) != nullptr;
}

Outcome<FencePlan> plan_fence(const FenceInput& input) {
  FencePlan plan{.spec = {.constraint = format_constraint(input.request.format)},
                 .field = input.request.format.field};
  if (const Conversation *conversation = calling(input.request)) {
    ZLLM_TRY(plan_calls(input, *conversation, plan));
  }
  const bool is_chat = std::holds_alternative<Conversation>(input.request.input);
  if (is_chat && (plan.spec.constraint || input.request.reasoning.budget)) {
    plan.spec.thinking = thinking(input);
  }
  return plan;
}

}  // namespace zllm

#include <zllm/embedded/fence_plan.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <zllm/base/text.h>

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

// A Lark pattern ends at its first bare slash.
std::string lark_pattern(std::string_view pattern) {
  std::string escaped = "/";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      escaped += pattern[i];
      escaped += pattern[++i];
    } else {
      escaped += pattern[i] == '/' ? concat("\\/") : std::string(1, pattern[i]);
    }
  }
  return escaped + "/";
}

// Lark rules that derive the format from the name format_start.
Outcome<std::string> format_rules(const Constraint& format) {
  switch (format.kind) {
    case ConstraintKind::json_object:
      return std::string("format_start: %json {\"type\": \"object\"}\n");
    case ConstraintKind::json_schema:
      return concat("format_start: %json ", format.source, "\n");
    case ConstraintKind::regex:
      return concat("format_start: FORMAT_START\nFORMAT_START: ", lark_pattern(format.source),
                    "\n");
    case ConstraintKind::lark:
    case ConstraintKind::gbnf:
      break;
  }
  return Failure(FailureKind::unsupported,
                 "a grammar as the response format cannot be combined with tools; give "
                 "tool_choice none, or a JSON schema or pattern",
                 "response_format");
}

// The answer is calls by the family's grammar, or the format.
Outcome<std::string> either(std::string calls, const Constraint& format) {
  constexpr std::string_view kStart = "start:";
  std::size_t start = calls.starts_with(kStart) ? 0 : calls.find(concat("\n", kStart));
  if (start == std::string::npos) {
    return Failure(FailureKind::internal, "the grammar of tool calls has no start", "tools");
  }
  start += calls[start] == '\n' ? std::size_t{1} : 0;
  calls.replace(start, kStart.size(), "start: calls_start | format_start\ncalls_start:");
  ZLLM_TRY(const std::string rules, format_rules(format));
  return concat(calls, "\n", rules);
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
  const auto tools = family_tools(conversation.tools, choice.names);
  const bool must_call = choice.rule == ToolRule::required;
  const bool is_strict = std::ranges::any_of(tools, &family::Tool::is_strict);
  const std::optional<Constraint> format = std::exchange(plan.spec.constraint, std::nullopt);
  if (!must_call && !is_strict && !format) {
    return Done();
  }
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
    ZLLM_TRY(source, either(std::move(source), *format));
    plan.parts.push_back(*format);
  }
  plan.spec.constraint = Constraint{.kind = ConstraintKind::lark, .source = std::move(source)};
  return Done();
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

Outcome<FencePlan> plan_fence(const FenceInput& input) {
  FencePlan plan{.spec = {.constraint = format_constraint(input.request.format)},
                 .field = "response_format"};
  const auto *conversation = std::get_if<Conversation>(&input.request.input);
  if (conversation != nullptr && !conversation->tools.empty() &&
      conversation->tool_choice.rule != ToolRule::none) {
    ZLLM_TRY(plan_calls(input, *conversation, plan));
  }
  if (conversation != nullptr && (plan.spec.constraint || input.request.reasoning.budget)) {
    plan.spec.thinking = thinking(input);
  }
  return plan;
}

}  // namespace zllm

#include <zllm/embedded/request_check.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/stop_strings.h>

namespace zllm {
namespace {

Failure invalid(std::string message, std::string_view field) {
  return {FailureKind::invalid, std::move(message), std::string(field)};
}

Outcome<Done> check_counts(const Request& request) {
  if (request.choices == 0 || request.choices > kMaxChoices) {
    return invalid(concat("n must be from 1 to ", kMaxChoices, ", is ", request.choices), "n");
  }
  if (request.candidates != 0 &&
      (request.candidates < request.choices || request.candidates > kMaxChoices)) {
    return invalid(concat("best_of must be from n (", request.choices, ") to ", kMaxChoices,
                          ", is ", request.candidates),
                   "best_of");
  }
  const bool is_raw = std::holds_alternative<RawPrompt>(request.input);
  if (request.echoes_prompt && !is_raw) {
    return invalid("echo is for raw prompts, not for messages", "echo");
  }
  if (request.max_tokens && *request.max_tokens == 0 && !request.echoes_prompt) {
    return invalid("max_tokens must be at least 1, is 0", "max_tokens");
  }
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    return invalid(concat("min_tokens is ", request.min_tokens, ", more than max_tokens (",
                          *request.max_tokens, ")"),
                   "min_tokens");
  }
  const std::uint32_t top = request.top_log_probabilities.value_or(0);
  if (top > kMaxTopLogProbabilities) {
    return invalid(concat("top_logprobs must be from 0 to ", kMaxTopLogProbabilities, ", is ", top),
                   "top_logprobs");
  }
  if (request.time_limit_seconds &&
      !(std::isfinite(*request.time_limit_seconds) && *request.time_limit_seconds > 0)) {
    return invalid("the time limit must be above 0", "timeout");
  }
  return Done();
}

Outcome<Done> check_stops(const Request& request, const text::Tokenizer& tokenizer) {
  if (const auto stops = text::StopStrings::create(request.stop); !stops.ok()) {
    return Failure::from(stops.error(), "stop");
  }
  if (request.stop_tokens.size() > kMaxStopTokens) {
    return invalid(concat("stop_token_ids has ", request.stop_tokens.size(), " entries; at most ",
                          kMaxStopTokens),
                   "stop_token_ids");
  }
  for (const TokenId token : request.stop_tokens) {
    if (!tokenizer.is_known(token)) {
      return invalid(concat("stop_token_ids: the model has no token ", token), "stop_token_ids");
    }
  }
  return Done();
}

bool names_object(const Json& type) {
  if (const std::string *name = type.as_string()) {
    return *name == "object";
  }
  return type.as_array() != nullptr && std::ranges::any_of(*type.as_array(), names_object);
}

Outcome<Done> check_tool(const Tool& tool, const std::string& field) {
  if (tool.name.empty() || tool.name.size() > kMaxToolNameBytes) {
    return invalid(concat("the name of a tool must have 1 to ", kMaxToolNameBytes, " bytes"),
                   concat(field, ".name"));
  }
  if (tool.parameters.empty()) {
    return Done();
  }
  const std::string parameters = concat(field, ".parameters");
  const auto schema = Json::parse(tool.parameters, concat("the schema of ", quote(tool.name)));
  if (!schema.ok()) {
    return invalid(schema.error().message, parameters);
  }
  if (schema->as_object() == nullptr) {
    return invalid(concat("the schema of ", quote(tool.name), " must be an object, is a ",
                          schema->type_name()),
                   parameters);
  }
  if (const Json *type = schema->find("type"); type != nullptr && !names_object(*type)) {
    return invalid(concat("the schema of ", quote(tool.name), " must be of type \"object\", is of ",
                          type->dump()),
                   parameters);
  }
  return Done();
}

Outcome<Done> check_tools(const Conversation& conversation) {
  const std::vector<Tool>& tools = conversation.tools;
  if (tools.size() > kMaxTools) {
    return invalid(concat("there are ", tools.size(), " tools; at most ", kMaxTools), "tools");
  }
  for (std::size_t i = 0; i < tools.size(); ++i) {
    ZLLM_TRY(check_tool(tools[i], concat("tools[", i, "]")));
    const auto same = [&](const Tool& other) { return other.name == tools[i].name; };
    if (std::any_of(tools.begin(), tools.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      return invalid(concat("two tools have the name ", quote(tools[i].name)), "tools");
    }
  }
  const ToolChoice& choice = conversation.tool_choice;
  if (choice.rule == ToolRule::required && tools.empty()) {
    return invalid("tool_choice asks for a call, but there are no tools", "tool_choice");
  }
  for (const std::string& name : choice.names) {
    if (std::ranges::find(tools, name, &Tool::name) == tools.end()) {
      return invalid(concat("tool_choice names ", quote(name), ", which is not among the tools"),
                     "tool_choice");
    }
  }
  return Done();
}

// A result without its call would reach the model as something that nobody asked for.
Outcome<Done> check_results(const std::vector<Message>& messages) {
  std::set<std::string_view> calls;
  bool has_nameless = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const ToolCall& call : messages[i].tool_calls) {
      has_nameless = has_nameless || call.id.empty();
      calls.insert(call.id);
    }
    const std::string& id = messages[i].tool_call_id;
    if (messages[i].role == Role::tool && !id.empty() && !has_nameless && !calls.contains(id)) {
      return invalid(concat("no call before it has the id ", quote(id)),
                     concat("messages[", i, "].tool_call_id"));
    }
  }
  return Done();
}

Outcome<Done> check_conversation(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  if (messages.empty()) {
    return invalid("messages is empty: a conversation has at least one message", "messages");
  }
  if (messages.size() > kMaxMessages) {
    return invalid(concat("there are ", messages.size(), " messages; at most ", kMaxMessages),
                   "messages");
  }
  if (conversation.continues_last_message &&
      (messages.back().role != Role::assistant || !messages.back().content)) {
    return invalid("only an assistant's last message with content can be continued",
                   "continue_final_message");
  }
  ZLLM_TRY(check_results(messages));
  return check_tools(conversation);
}

Outcome<Done> check_raw(const RawPrompt& raw, const text::Tokenizer& tokenizer) {
  const auto *ids = std::get_if<std::vector<TokenId>>(&raw.prompt);
  if (ids == nullptr) {
    return Done();
  }
  for (const TokenId token : *ids) {
    if (!tokenizer.is_known(token)) {
      return invalid(concat("prompt: the model has no token ", token), "prompt");
    }
  }
  return Done();
}

}  // namespace

Outcome<Done> check_request(const Request& request, const text::Tokenizer& tokenizer) {
  ZLLM_TRY(check_counts(request));
  ZLLM_TRY(check_stops(request, tokenizer));
  if (const auto *conversation = std::get_if<Conversation>(&request.input)) {
    return check_conversation(*conversation);
  }
  return check_raw(std::get<RawPrompt>(request.input), tokenizer);
}

}  // namespace zllm

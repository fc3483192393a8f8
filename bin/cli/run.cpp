#include "run.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/utf8.h>

#include "answer.h"
#include "generation_options.h"
#include "load_engine.h"
#include "output.h"
#include "signals.h"

namespace zllm::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  GenerationOptions generation;
  std::string prompt;
  std::string system;
  bool raw = false;
  bool json = false;
};

void describe(Options& options, OptionTable& table) {
  table.text("prompt", "TEXT", "What to answer; - reads it from stdin", options.prompt);
  table.text("system", "TEXT", "A system message before it", options.system);
  table.toggle("raw", "Take the prompt as it is, without the model's chat template", options.raw);
  table.toggle("json", "One JSON object in place of the text", options.json);
  describe_generation(options.generation, table);
}

Status check(const Options& options) { return check_generation(options.generation); }

Result<std::string> prompt_text(const Options& options) {
  std::string prompt = options.prompt;
  if (prompt == "-") {
    ZLLM_TRY(prompt, read_stdin());
  }
  if (prompt.empty()) {
    return Error{Code::invalid_argument, "--prompt is missing or empty"};
  }
  if (!is_valid_utf8(prompt)) {
    return Error{Code::invalid_argument, "--prompt is not valid UTF-8"};
  }
  return prompt;
}

using Input = decltype(Request::input);

Result<Input> input_of(const Options& options, std::string prompt, const Engine& engine) {
  if (options.raw || !engine.info().has_chat_template) {
    if (!options.system.empty()) {
      return Error{Code::invalid_argument,
                   options.raw ? "--system needs a chat template, which --raw leaves out"
                               : "--system needs a chat template, and the model has none"};
    }
    ZLLM_TRY(std::vector<TokenId> tokens, result_of(engine.tokenize(prompt, true, options.raw)));
    return Input(RawPrompt{std::move(tokens)});
  }
  Conversation conversation;
  if (!options.system.empty()) {
    conversation.messages.push_back({.role = Role::system, .content = options.system});
  }
  conversation.messages.push_back({.role = Role::user, .content = std::move(prompt)});
  return Input(std::move(conversation));
}

std::string_view finish_reason(StopReason reason) {
  switch (reason) {
    case StopReason::length:
      return "length";
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::end:
    case StopReason::stop:
    case StopReason::calls:
      break;
  }
  return "stop";
}

std::string to_json(const GivenAnswer& answer, double load_seconds) {
  Json::Array tokens;
  for (const TokenId token : answer.tokens) {
    tokens.push_back(Json(std::int64_t{token}));
  }
  const AnswerTimings& timings = answer.timings;
  const double first_token = load_seconds + timings.queue_seconds + timings.prefill_seconds;
  const Json json(Json::Object{
      {"text", Json(answer.text)},
      {"tokens", Json(std::move(tokens))},
      {"finish_reason", Json(std::string(finish_reason(answer.reason)))},
      {"prompt_tokens", Json(answer.prompt_tokens)},
      {"cached", Json(answer.cached_tokens)},
      {"timings", Json(Json::Object{{"load_seconds", Json(load_seconds)},
                                    {"prefill_seconds", Json(timings.prefill_seconds)},
                                    {"time_to_first_token_seconds", Json(first_token)},
                                    {"decode_seconds", Json(timings.decode_seconds)}})}});
  return json.dump() + "\n";
}

Status run(const Options& options) {
  ZLLM_TRY(std::string prompt, prompt_text(options));
  const Clock::time_point start = Clock::now();
  ZLLM_TRY(const std::unique_ptr<Engine> engine, load_engine(options.generation, Turns::one));
  const double load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ZLLM_TRY(Request request, to_request(options.generation));
  ZLLM_TRY(request.input, input_of(options, std::move(prompt), *engine));
  if (options.json) {
    request.top_log_probabilities = 0;  // with them tokens are told
  }
  const NotedSignals signals;
  const auto show = [&](std::string_view piece) {
    return options.json ? Status() : write_out(piece);
  };
  ZLLM_TRY(const GivenAnswer given, answer(*engine, request, signals, show));
  ZLLM_TRY(write_out(options.json ? to_json(given, load_seconds) : "\n"));
  if (signals.number() != 0) {
    return Error{Code::cancelled, "stopped by a signal"};
  }
  return {};
}

}  // namespace

Command run_command() {
  Command command = make_command<Options>("run", "Answer a prompt", describe, run, check);
  command.takes_config = true;
  return command;
}

}  // namespace zllm::cli

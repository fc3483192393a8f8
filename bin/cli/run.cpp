#include "run.h"

#include <chrono>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

#include "answer.h"
#include "conversation.h"
#include "generation_options.h"
#include "loaded_model.h"
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

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

Result<std::vector<TokenId>> encode(const Options& options, const std::string& prompt,
                                    const ModelText& text) {
  if (options.raw || text.templates.empty()) {
    if (!options.system.empty()) {
      return Error{Code::invalid_argument,
                   options.raw ? "--system needs a chat template, which --raw leaves out"
                               : "--system needs a chat template, and the model has none"};
    }
    return text.tokenizer.encode(prompt, {.parse_special = options.raw, .add_begin = true});
  }
  std::vector<Message> messages;
  if (!options.system.empty()) {
    messages.push_back({.role = "system", .content = options.system});
  }
  messages.push_back({.role = "user", .content = prompt});
  return encode_conversation(text, messages);
}

std::string to_json(const Answer& answer, double load_seconds, double first_token_seconds) {
  Json::Array tokens;
  for (const TokenId token : answer.generation.tokens) {
    tokens.push_back(Json(std::int64_t{token}));
  }
  Json::Object timings = {{"load_seconds", Json(load_seconds)},
                          {"prefill_seconds", Json(answer.generation.prefill_seconds)},
                          {"time_to_first_token_seconds", Json(first_token_seconds)},
                          {"decode_seconds", Json(answer.generation.decode_seconds)}};
  const Json json(
      Json::Object{{"text", Json(answer.text)},
                   {"tokens", Json(std::move(tokens))},
                   {"finish_reason", Json(answer.finish_reason)},
                   {"prompt_tokens", Json(std::uint64_t{answer.generation.prompt_tokens})},
                   {"cached", Json(std::uint64_t{answer.generation.reused_tokens})},
                   {"timings", Json(std::move(timings))}});
  return json.dump() + "\n";
}

Status run(const Options& options) {
  ZLLM_TRY(const std::string prompt, prompt_text(options));
  const Clock::time_point start = Clock::now();
  ZLLM_TRY(LoadedModel model, load_for_answers(options.generation));
  const double load_seconds = seconds_since(start);
  AnswerRequest request{.max_tokens = options.generation.max_tokens,
                        .stop = options.generation.stop};
  ZLLM_TRY(request.prompt, encode(options, prompt, model.text));
  ZLLM_TRY(engine::Session session,
           engine::Session::create(model.model.model(),
                                   request.prompt.size() + options.generation.max_tokens));
  const NotedSignals signals;
  const auto show = [&](std::string_view piece) {
    return options.json ? Status() : write_out(piece);
  };
  ZLLM_TRY(const Answer given, answer(model, session, request, signals, show));
  ZLLM_TRY(write_out(
      options.json ? to_json(given, load_seconds, load_seconds + given.generation.prefill_seconds)
                   : "\n"));
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

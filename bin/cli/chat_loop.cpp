#include "chat_loop.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

#include "answer.h"
#include "chat_history.h"
#include "output.h"
#include "yaml_config.h"

namespace zllm::cli {
namespace {

// One Ctrl-C stops an answer; impatient ones in a row while a long prompt is read do no harm.
constexpr int kForgivenInterrupts = 4;

constexpr std::string_view kHelp =
    "/help            this list\n"
    "/reset           forget the conversation\n"
    "/system TEXT     start over with this system message; without TEXT with none\n"
    "/undo            take back the last question and its answer\n"
    "/retry           another answer to the last question\n"
    "/save FILE       write the conversation as JSON\n"
    "/load FILE       go on with such a file\n"
    "/params          show all parameters\n"
    "/params NAME X   set one of them\n"
    "/quit            leave (so do Ctrl-D, and Ctrl-C twice)\n"
    "A line that ends in \\ goes on in the next. Ctrl-C stops an answer.\n";

constexpr std::string_view kCommands[] = {"/help", "/reset", "/system", "/undo", "/retry",
                                          "/save", "/load",  "/params", "/quit"};

// What is fixed once the model is loaded.
constexpr std::string_view kFixed[] = {"model",   "backend", "threads",
                                       "context", "kv-type", "pre-tokenizer"};

std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return {line, {}};
  }
  std::string_view rest = line.substr(space);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return {line.substr(0, space), rest};
}

}  // namespace

ChatLoop::ChatLoop(Engine& engine, GenerationOptions& options, const std::string& system)
    : engine_(engine), options_(options), signals_(kForgivenInterrupts), reader_(signals_) {
  reset(system);
}

void ChatLoop::reset(std::string_view system) {
  system_ = system;
  messages_.clear();
  if (!system_.empty()) {
    messages_.push_back({.role = Role::system, .content = system_});
  }
}

Status ChatLoop::run() {
  Status failure;
  for (;;) {
    ZLLM_TRY(const Input input, reader_.read("> "));
    if (input.kind == InputKind::end) {
      ZLLM_TRY(write_out(LineReader::is_interactive() ? "\n" : ""));
      return failure;
    }
    if (input.kind == InputKind::signal) {
      ZLLM_TRY(const Next next, interrupted());
      if (next == Next::leave) {
        return Error{Code::cancelled, "stopped by a signal"};
      }
      continue;
    }
    is_warned_ = false;
    Status status;
    if (input.line.starts_with('/')) {
      Result<Next> next = command(input.line);
      if (next.ok() && *next == Next::leave) {
        return failure;
      }
      status = next.ok() ? Status() : Status(next.error());
    } else if (!input.line.empty()) {
      status = turn(input.line);
    }
    if (!status.ok() && status.error().code == Code::cancelled) {
      return status;
    }
    if (!status.ok()) {
      warn(status.error().message);
      if (!LineReader::is_interactive() && failure.ok()) {
        failure = std::move(status);
      }
    }
  }
}

Result<ChatLoop::Next> ChatLoop::interrupted() {
  if (signals_.number() != SIGINT || is_warned_) {
    return Next::leave;
  }
  signals_.clear();
  is_warned_ = true;
  ZLLM_TRY(write_out("\n(Ctrl-C again or /quit leaves)\n"));
  return Next::go_on;
}

Status ChatLoop::turn(std::string_view text) {
  if (!is_valid_utf8(text)) {
    return Error{Code::invalid_argument, "the line is not valid UTF-8"};
  }
  messages_.push_back({.role = Role::user, .content = std::string(text)});
  retries_ = 0;
  Status status = reply();
  if (!status.ok()) {
    messages_.pop_back();
  }
  return status;
}

// Answers the last message, which is the user's, and appends the answer.
Status ChatLoop::reply() {
  ZLLM_TRY(Request request, to_request(options_));
  request.input = Conversation{.messages = messages_};
  *request.sampling.seed += retries_;
  auto given = answer(engine_, request, signals_, write_out);
  if (!given.ok()) {
    const bool is_full = given.error().code == Code::resource_exhausted;
    return is_full ? Error{Code::resource_exhausted,
                           concat("the context is full: ", given.error().message,
                                  "; /undo or /reset makes room")}
                   : std::move(given).error();
  }
  ZLLM_TRY(write_out("\n"));
  messages_.push_back({.role = Role::assistant, .content = std::move(given->text)});
  if (given->reason == StopReason::length) {
    warn(given->is_context_full
             ? "the context is full: the answer was cut; /undo or /reset makes room"
             : concat("the answer was cut after ", options_.max_tokens,
                      " tokens (/params max-tokens)"));
  }
  if (signals_.number() == SIGTERM) {
    return Error{Code::cancelled, "stopped by a signal"};
  }
  signals_.clear();
  return {};
}

Status ChatLoop::undo() {
  if (messages_.empty() || messages_.back().role == Role::system) {
    return Error{Code::invalid_argument, "there is nothing to undo"};
  }
  if (messages_.back().role == Role::assistant) {
    messages_.pop_back();
  }
  if (!messages_.empty() && messages_.back().role == Role::user) {
    messages_.pop_back();
  }
  return {};
}

Status ChatLoop::retry() {
  if (messages_.empty() || messages_.back().role != Role::assistant) {
    return Error{Code::invalid_argument, "there is no answer to retry"};
  }
  Message old = std::move(messages_.back());
  messages_.pop_back();
  ++retries_;
  Status status = reply();
  if (!status.ok() && status.error().code != Code::cancelled) {
    messages_.push_back(std::move(old));
  }
  return status;
}

Status ChatLoop::set_param(std::string_view name, std::string_view value) {
  GenerationOptions changed = options_;
  OptionTable table;
  describe_generation(changed, table);
  const Option *option = table.find(name);
  if (option == nullptr) {
    const std::string_view near = nearest(name, table.names());
    return Error{Code::invalid_argument,
                 concat("unknown parameter ", quote(name),
                        near.empty() ? "" : concat("; did you mean ", near, "?"))};
  }
  for (const std::string_view fixed : kFixed) {
    if (name == fixed) {
      return Error{Code::invalid_argument, concat(name, " is fixed once the model is loaded")};
    }
  }
  if (option->is_list) {
    option->clear();
  }
  if (!option->is_list || !value.empty()) {
    Status status = option->set(value);
    if (!status.ok()) {
      return std::move(status).error().within(name);
    }
  }
  ZLLM_TRY(check_generation(changed, engine_.info().vocabulary));
  options_ = std::move(changed);
  return {};
}

Status ChatLoop::params(std::string_view arguments) {
  if (!arguments.empty()) {
    const auto [name, value] = split(arguments);
    return set_param(name, value);
  }
  OptionTable table;
  describe_generation(options_, table);
  const sampling::SamplingParameters& usual = engine_.info().sampling;
  return write_out(concat(effective_yaml(table), "# in use: temperature ",
                          options_.temperature.value_or(usual.temperature), ", top-k ",
                          options_.top_k.value_or(usual.top_k), ", top-p ",
                          options_.top_p.value_or(usual.top_p), ", min-p ",
                          options_.min_p.value_or(usual.min_p), ", repetition-penalty ",
                          options_.repetition_penalty.value_or(usual.repetition_penalty), "\n"));
}

Result<ChatLoop::Next> ChatLoop::command(std::string_view line) {
  const auto [name, argument] = split(line);
  const std::string file(argument);
  if (name == "/quit" || name == "/exit") {
    return Next::leave;
  }
  if (name == "/help") {
    ZLLM_TRY(write_out(kHelp));
  } else if (name == "/reset") {
    reset(system_);
  } else if (name == "/system") {
    reset(argument);
  } else if (name == "/undo") {
    ZLLM_TRY(undo());
  } else if (name == "/retry") {
    ZLLM_TRY(retry());
  } else if (name == "/params") {
    ZLLM_TRY(params(argument));
  } else if ((name == "/save" || name == "/load") && file.empty()) {
    return Error{Code::invalid_argument, concat(name, " needs a file")};
  } else if (name == "/save") {
    ZLLM_TRY(save_history(file, messages_));
  } else if (name == "/load") {
    ZLLM_TRY(messages_, load_history(file));
    const bool has_system = !messages_.empty() && messages_.front().role == Role::system;
    system_ = has_system ? *messages_.front().content : "";
  } else {
    const std::string_view near = nearest(name, kCommands);
    return Error{
        Code::invalid_argument,
        concat("unknown command ", quote(name),
               near.empty() ? "; /help lists them" : concat("; did you mean ", near, "?"))};
  }
  return Next::go_on;
}

}  // namespace zllm::cli

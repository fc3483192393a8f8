#include "answer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <zllm/base/text.h>
#include <zllm/engine/signal.h>

#include "output.h"

namespace zllm::cli {
namespace {

// Prompts below this are read before a bar could be seen.
constexpr std::uint64_t kProgressFrom = 2048;

// How often signals and the bar are looked at while no token comes.
constexpr auto kLookInterval = std::chrono::milliseconds(50);

// Takes the events of an answer to its end.
class Listener {
 public:
  Listener(const Engine& engine, std::uint64_t prompt_tokens, const NotedSignals& signals,
           const TextSink& sink)
      : engine_(engine),
        prompt_tokens_(prompt_tokens),
        computed_before_(engine.statistics().prompt_tokens),
        signals_(signals),
        sink_(sink) {}

  Result<GivenAnswer> hear(zllm::Answer& answer) {
    engine::Signal signal;
    answer.set_notifier([&signal] { signal.raise(); });
    while (!is_over_) {
      if (is_unwanted()) {
        answer.cancel();
      }
      if (auto event = answer.try_next()) {
        take(*std::move(event));
      } else {
        show_progress();
        signal.wait(engine::Clock::now() + kLookInterval);
      }
    }
    answer.set_notifier(nullptr);
    if (!status_.ok()) {
      return std::move(status_).error();
    }
    return std::move(given_);
  }

 private:
  bool is_unwanted() const { return signals_.number() != 0 || !status_.ok(); }

  void take(Event event) {
    for (const ScoredToken& scored : event.scored) {
      given_.tokens.push_back(scored.token);
    }
    std::visit([this](auto& what) { take(what); }, event.what);
  }
  void take(const Started& started) {
    line_.clear();
    given_.prompt_tokens = started.prompt_tokens;
    given_.cached_tokens = started.cached_tokens;
  }
  void take(const ContentDelta& delta) {
    if (!is_unwanted()) {
      given_.text += delta.text;
      status_ = sink_(delta.text);
    }
  }
  void take(const ChoiceEnded& ended) {
    given_.reason = is_unwanted() ? StopReason::cancelled : ended.reason;
    given_.is_context_full = ended.is_context_full;
  }
  void take(const Ended& ended) {
    is_over_ = true;
    line_.clear();
    given_.timings = ended.timings;
    if (ended.failure && status_.ok()) {
      status_ = Error{Code::internal, ended.failure->message};
    }
  }
  // Requests of the programs separate no reasoning and have no tools.
  template <class Other>
  void take(const Other&) {}

  void show_progress() {
    if (line_.is_active() && given_.prompt_tokens == 0 && prompt_tokens_ >= kProgressFrom) {
      line_.show_progress("reading the prompt",
                          engine_.statistics().prompt_tokens - computed_before_, prompt_tokens_);
    }
  }

  const Engine& engine_;
  const std::uint64_t prompt_tokens_;
  const std::uint64_t computed_before_;  // of other prompts
  const NotedSignals& signals_;
  const TextSink& sink_;
  StatusLine line_;
  GivenAnswer given_;
  Status status_;
  bool is_over_ = false;
};

}  // namespace

Result<GivenAnswer> answer(Engine& engine, const Request& request, const NotedSignals& signals,
                           const TextSink& sink) {
  ZLLM_TRY(const std::uint64_t prompt_tokens, result_of(engine.count_prompt_tokens(request)));
  const std::uint64_t context = engine.info().context;
  if (prompt_tokens >= context) {
    return Error{Code::resource_exhausted,
                 concat("the prompt has ", prompt_tokens, " tokens, the context holds ", context,
                        " of prompt and answer together")};
  }
  Listener listener(engine, prompt_tokens, signals, sink);
  ZLLM_TRY(const std::unique_ptr<zllm::Answer> asked, result_of(engine.submit(request)));
  return listener.hear(*asked);
}

}  // namespace zllm::cli

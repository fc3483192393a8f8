#include <zllm/engine/loop.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/engine/event_buffer.h>
#include <zllm/engine/job.h>
#include <zllm/engine/scheduler.h>
#include <zllm/engine/signal.h>
#include <zllm/sampling/parameters.h>

namespace zllm::engine {
namespace {

// Bounds what a request that has not run yet can take.
constexpr std::uint32_t kMostChoices = 1024;

Error refusal(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Status validate_prompt(const Request& request, const runtime::RoundLimits& limits,
                       std::size_t vocabulary) {
  if (request.prompt.empty()) {
    return refusal("the prompt has no tokens");
  }
  if (request.prompt.size() > limits.context) {
    return refusal(concat("the prompt has ", request.prompt.size(), " tokens, the context holds ",
                          limits.context));
  }
  for (const TokenId token : request.prompt) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary) {
      return refusal(
          concat("the prompt has token ", token, " outside the vocabulary of ", vocabulary));
    }
  }
  return {};
}

Status validate(const Request& request, const runtime::RoundLimits& limits) {
  const std::size_t vocabulary = request.vocabulary == 0
                                     ? limits.vocabulary
                                     : std::min<std::size_t>(request.vocabulary, limits.vocabulary);
  ZLLM_TRY(validate_prompt(request, limits, vocabulary));
  if (request.max_tokens == 0) {
    return refusal("max_tokens must be at least 1");
  }
  if (request.choices == 0 || request.choices > kMostChoices) {
    return refusal(concat("choices must be 1 to ", kMostChoices, ", not ", request.choices));
  }
  return sampling::validate(request.sampling, vocabulary);
}

Status validate(const LoopOptions& options) {
  if (options.sequences == 0) {
    return refusal("sequences must be at least 1");
  }
  for (const auto& [caller, weight] : options.weights) {
    if (!(weight > 0)) {
      return refusal(concat("the weight of caller ", quote(caller), " must be above 0"));
    }
  }
  return {};
}

class ThreadedLoop final : public Loop {
 public:
  ThreadedLoop(runtime::AnyModel& model, std::unique_ptr<PrefixCache> cache, LoopOptions options)
      : limits_(model.info().limits),
        sequences_(options.sequences),
        queue_length_(options.queue_length),
        buffered_events_(options.buffered_events),
        scheduler_(model, std::move(cache), std::move(options),
                   [this](const Statistics& now) { publish(now); }),
        thread_([this] { run(); }) {}

  ThreadedLoop(const ThreadedLoop&) = delete;
  ThreadedLoop& operator=(const ThreadedLoop&) = delete;
  ~ThreadedLoop() override {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    signal_->raise();
    thread_.join();
  }

  Result<std::unique_ptr<Stream>> submit(Request request) override {
    ZLLM_TRY(validate(request, limits_));
    const std::size_t capacity = buffered_events_ * request.choices;
    auto events = std::make_shared<EventBuffer>(capacity, signal_);
    {
      const std::scoped_lock lock(mutex_);
      const std::size_t idle = sequences_ - std::min(sequences_, statistics_.running_requests);
      if (waiting_ >= queue_length_ + idle) {
        ++refused_;
        return Error{Code::resource_exhausted,
                     concat("the queue is full: ", waiting_, " requests wait")};
      }
      if (!is_busy()) {
        last_progress_ = Clock::now();
      }
      ++waiting_;
      inbox_.push_back(std::make_unique<Job>(next_id_++, std::move(request), events));
    }
    signal_->raise();
    return make_stream(std::move(events));
  }

  Statistics statistics() const override {
    const std::scoped_lock lock(mutex_);
    Statistics now = statistics_;
    now.refused_requests = refused_;
    now.queued_requests = waiting_;
    if (is_busy()) {
      now.stalled_seconds = std::chrono::duration<double>(Clock::now() - last_progress_).count();
    }
    return now;
  }

 private:
  void run() {
    while (take_inbox()) {
      if (!scheduler_.step(Clock::now())) {
        signal_->wait(scheduler_.next_deadline());
      }
    }
    scheduler_.shut_down();
  }

  // Hands new requests to the scheduler; false when it is time to stop.
  bool take_inbox() {
    std::vector<std::unique_ptr<Job>> taken;
    bool goes_on = true;
    {
      const std::scoped_lock lock(mutex_);
      taken = std::exchange(inbox_, {});
      goes_on = !is_stopping_;
    }
    for (std::unique_ptr<Job>& job : taken) {
      scheduler_.accept(std::move(job));
    }
    return goes_on;
  }

  void publish(const Statistics& now) {
    const std::scoped_lock lock(mutex_);
    const bool has_run = now.rounds != statistics_.rounds;
    statistics_ = now;
    waiting_ = now.queued_requests + inbox_.size();
    if (has_run || !is_busy()) {
      last_progress_ = Clock::now();
    }
  }

  // Under the mutex. Answers whose readers are slow wait for them, not for the loop.
  bool is_busy() const {
    return waiting_ > 0 || statistics_.running_sequences > statistics_.paused_sequences;
  }

  const runtime::RoundLimits limits_;
  const std::size_t sequences_;
  const std::size_t queue_length_;
  const std::size_t buffered_events_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Job>> inbox_;
  std::uint64_t next_id_ = 1;
  std::size_t waiting_ = 0;  // in the inbox and in the scheduler's queue
  std::uint64_t refused_ = 0;
  bool is_stopping_ = false;
  Statistics statistics_;
  Clock::time_point last_progress_;

  Scheduler scheduler_;  // of the thread alone
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Loop>> Loop::start(runtime::AnyModel& model, LoopOptions options) {
  ZLLM_TRY(validate(options));
  ZLLM_TRY(auto cache, PrefixCache::create(model, options.prefix_cache));
  std::unique_ptr<Loop> loop =
      std::make_unique<ThreadedLoop>(model, std::move(cache), std::move(options));
  return loop;
}

}  // namespace zllm::engine

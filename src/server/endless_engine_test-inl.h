#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/embedded/engine.h>

// An engine for tests of the server; included by them alone.
namespace zllm::server {

// What the test and the engine share.
struct EndlessState {
  std::atomic<bool> is_cancelled = false;
  engine::Statistics statistics = {};
};

// Begins, and ends when it is cancelled.
class EndlessAnswer final : public Answer {
 public:
  explicit EndlessAnswer(std::shared_ptr<EndlessState> state) : state_(std::move(state)) {}

  std::optional<Event> next() override { return try_next(); }
  std::optional<Event> try_next() override {
    if (!std::exchange(is_begun_, true)) {
      return Event{.what = Started{}};
    }
    if (!state_->is_cancelled || std::exchange(is_ended_, true)) {
      return std::nullopt;
    }
    return Event{.what = Ended{}};
  }
  void set_notifier(std::function<void()> notifier) override {
    const std::lock_guard lock(mutex_);
    notifier_ = std::move(notifier);
  }
  void cancel() override {
    state_->is_cancelled = true;
    const std::lock_guard lock(mutex_);
    if (notifier_) {
      notifier_();
    }
  }
  std::uint64_t prompt_tokens() const override { return 1; }

 private:
  std::shared_ptr<EndlessState> state_;
  std::mutex mutex_;
  std::function<void()> notifier_;
  bool is_begun_ = false;
  bool is_ended_ = false;
};

class EndlessEngine final : public Engine {
 public:
  explicit EndlessEngine(std::shared_ptr<EndlessState> state) : state_(std::move(state)) {}

  Outcome<std::unique_ptr<Answer>> submit(Request) override {
    return std::unique_ptr<Answer>(std::make_unique<EndlessAnswer>(state_));
  }
  Outcome<std::string> render(const Request&) const override { return std::string(); }
  Outcome<std::uint64_t> count_prompt_tokens(const Request&) const override {
    return std::uint64_t{1};
  }
  Outcome<std::vector<TokenId>> tokenize(std::string_view, bool, bool) const override {
    return std::vector<TokenId>();
  }
  Outcome<std::string> detokenize(const std::vector<TokenId>&) const override {
    return std::string();
  }
  std::string token_bytes(TokenId) const override { return {}; }
  const EngineInfo& info() const override { return info_; }
  engine::Statistics statistics() const override { return state_->statistics; }

 private:
  std::shared_ptr<EndlessState> state_;
  EngineInfo info_;
};

}  // namespace zllm::server

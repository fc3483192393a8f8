#include <zllm/embedded/json/json_answer.h>

#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include <zllm/embedded/json/exchange.h>
#include <zllm/engine/signal.h>

namespace zllm {
namespace {

constexpr int kOk = 200;

// One body that is known at once.
class FailedAnswer final : public JsonAnswer {
 public:
  FailedAnswer(std::string_view dialect, const Failure& failure)
      : item_(dialect::Item{.data = json_error(dialect, failure)}),
        status_(dialect::http_status(failure.kind)) {}

  bool is_stream() const override { return false; }
  int status() const override { return status_; }
  std::optional<dialect::Item> try_next() override { return std::exchange(item_, std::nullopt); }
  std::optional<dialect::Item> next(std::optional<std::chrono::milliseconds>) override {
    return try_next();
  }
  bool is_done() const override { return !item_; }
  void set_notifier(std::function<void()> notifier) override {
    if (notifier && item_) {
      notifier();
    }
  }
  void cancel() override {}

 private:
  std::optional<dialect::Item> item_;
  int status_;
};

class EncodedAnswer final : public JsonAnswer {
 public:
  EncodedAnswer(std::string dialect, dialect::Batch exchange,
                std::vector<std::unique_ptr<Answer>> answers)
      : dialect_(std::move(dialect)),
        exchange_(std::move(exchange)),
        answers_(std::move(answers)),
        open_(answers_.size(), true),
        left_(answers_.size()) {
    for (const auto& answer : answers_) {
      answer->set_notifier([this] { signal_.raise(); });
    }
  }
  ~EncodedAnswer() override {
    for (const auto& answer : answers_) {
      answer->set_notifier(nullptr);
    }
  }

  bool is_stream() const override { return exchange_.is_streaming; }
  int status() const override { return status_; }
  std::optional<dialect::Item> try_next() override;
  std::optional<dialect::Item> next(std::optional<std::chrono::milliseconds> limit) override;
  bool is_done() const override { return left_ == 0 && ready_.empty(); }
  void set_notifier(std::function<void()> notifier) override {
    signal_.set_notifier(std::move(notifier));
  }
  void cancel() override {
    for (const auto& answer : answers_) {
      answer->cancel();
    }
  }

 private:
  // One event of some answer; false where none has one now.
  bool step();
  void take(std::size_t index, const Event& event);
  void fail(const Failure& failure);

  std::string dialect_;
  dialect::Batch exchange_;
  engine::Signal signal_;
  std::vector<std::unique_ptr<Answer>> answers_;
  std::vector<bool> open_;
  std::size_t left_;  // answers that have not ended
  std::size_t turn_ = 0;
  std::deque<dialect::Item> ready_;
  int status_ = kOk;
};

std::optional<dialect::Item> EncodedAnswer::try_next() {
  while (ready_.empty() && left_ > 0 && step()) {
  }
  if (ready_.empty()) {
    return std::nullopt;
  }
  dialect::Item item = std::move(ready_.front());
  ready_.pop_front();
  return item;
}

std::optional<dialect::Item> EncodedAnswer::next(std::optional<std::chrono::milliseconds> limit) {
  std::optional<std::chrono::steady_clock::time_point> until;
  if (limit) {
    until = std::chrono::steady_clock::now() + *limit;
  }
  for (bool is_late = false;;) {
    auto item = try_next();
    if (item || is_done() || is_late) {
      return item;
    }
    is_late = !signal_.wait(until);
  }
}

bool EncodedAnswer::step() {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const std::size_t index = (turn_ + i) % answers_.size();
    if (!open_[index]) {
      continue;
    }
    if (const auto event = answers_[index]->try_next()) {
      turn_ = index + 1;
      take(index, *event);
      return true;
    }
  }
  return false;
}

void EncodedAnswer::take(std::size_t index, const Event& event) {
  const auto *ended = std::get_if<Ended>(&event.what);
  if (ended != nullptr) {
    open_[index] = false;
    --left_;
  }
  if (exchange_.is_streaming) {
    std::vector<dialect::Item> items;
    exchange_.encoder->stream(index, event, items);
    ready_.insert(ready_.end(), std::make_move_iterator(items.begin()),
                  std::make_move_iterator(items.end()));
    return;
  }
  exchange_.encoder->collect(index, event);
  if (ended != nullptr && ended->failure) {
    return fail(*ended->failure);
  }
  if (left_ == 0) {
    ready_.push_back({.data = exchange_.encoder->body()});
  }
}

// The first failure is the whole answer.
void EncodedAnswer::fail(const Failure& failure) {
  cancel();
  left_ = 0;
  status_ = dialect::http_status(failure.kind);
  ready_.push_back({.data = json_error(dialect_, failure)});
}

}  // namespace

std::unique_ptr<JsonAnswer> submit_json(Engine& engine, const JsonRequest& request) {
  auto exchange = read_exchange(request, engine.info());
  if (!exchange.ok()) {
    return std::make_unique<FailedAnswer>(request.dialect, exchange.error());
  }
  std::vector<std::unique_ptr<Answer>> answers;
  for (Request& each : exchange->requests) {
    each.caller = request.caller;
    auto answer = engine.submit(std::move(each));
    if (!answer.ok()) {
      return std::make_unique<FailedAnswer>(request.dialect, answer.error());
    }
    answers.push_back(*std::move(answer));
  }
  return std::make_unique<EncodedAnswer>(std::string(request.dialect), *std::move(exchange),
                                         std::move(answers));
}

Outcome<std::uint64_t> count_json_tokens(const Engine& engine, const JsonRequest& request) {
  ZLLM_TRY(const dialect::Batch exchange, read_exchange(request, engine.info()));
  std::uint64_t tokens = 0;
  for (const Request& each : exchange.requests) {
    ZLLM_TRY(const std::uint64_t some, engine.count_prompt_tokens(each));
    tokens += some;
  }
  return tokens;
}

}  // namespace zllm

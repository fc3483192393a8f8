#include <zllm/server/background_answers.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/text.h>
#include <zllm/server/http/in_process_transport.h>
#include <zllm/server/server.h>

namespace zllm::server {
namespace {

using Flag = std::shared_ptr<std::atomic<bool>>;

// Begins, and ends when it is cancelled.
class EndlessAnswer final : public Answer {
 public:
  explicit EndlessAnswer(Flag is_cancelled) : is_cancelled_(std::move(is_cancelled)) {}

  std::optional<Event> next() override { return try_next(); }
  std::optional<Event> try_next() override {
    if (!std::exchange(is_begun_, true)) {
      return Event{.what = Started{}};
    }
    if (!is_cancelled_->load() || std::exchange(is_ended_, true)) {
      return std::nullopt;
    }
    return Event{.what = Ended{}};
  }
  void set_notifier(std::function<void()> notifier) override {
    const std::lock_guard lock(mutex_);
    notifier_ = std::move(notifier);
  }
  void cancel() override {
    is_cancelled_->store(true);
    const std::lock_guard lock(mutex_);
    if (notifier_) {
      notifier_();
    }
  }
  std::uint64_t prompt_tokens() const override { return 1; }

 private:
  Flag is_cancelled_;
  std::mutex mutex_;
  std::function<void()> notifier_;
  bool is_begun_ = false;
  bool is_ended_ = false;
};

class EndlessEngine final : public Engine {
 public:
  explicit EndlessEngine(Flag is_cancelled) : is_cancelled_(std::move(is_cancelled)) {}

  Outcome<std::unique_ptr<Answer>> submit(Request) override {
    return std::unique_ptr<Answer>(std::make_unique<EndlessAnswer>(is_cancelled_));
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
  engine::Statistics statistics() const override { return {}; }

 private:
  Flag is_cancelled_;
  EngineInfo info_;
};

// The first event of a stream tells the name, whatever the thread that began the answer does then.
TEST(BackgroundAnswers, AreCancelledByWhoKnowsTheirName) {
  const auto is_cancelled = std::make_shared<std::atomic<bool>>(false);
  ServerOptions options;
  options.limits.workers = 3;
  auto server = Server::create(
      std::move(options),
      std::make_unique<ModelSet>(
          std::vector<std::string>{"m"},
          std::vector<std::shared_ptr<Engine>>{std::make_shared<EndlessEngine>(is_cancelled)}));
  ASSERT_TRUE(server.ok());
  http::InProcessTransport transport((*server)->handler());
  const auto post = [&](std::string path, std::string body) {
    return transport.send(
        {.method = "POST", .path = std::move(path), .body = std::move(body), .peer = "a:1"});
  };
  const auto stream =
      post("/v1/responses", R"({"model":"m","input":"x","background":true,"stream":true})");
  const std::string first = stream->read().value_or("");
  const std::size_t begin = first.find("resp_");
  ASSERT_NE(begin, std::string::npos) << first;
  const std::string name = first.substr(begin, first.find('"', begin) - begin);
  const auto cancelled = post(concat("/v1/responses/", name, "/cancel"), "");
  EXPECT_EQ(cancelled->status(), 200) << cancelled->read_all();
  EXPECT_TRUE(*is_cancelled);
  stream->read_all();
  EXPECT_EQ(stream->end(), http::InProcessExchange::End::finished);
}

}  // namespace
}  // namespace zllm::server

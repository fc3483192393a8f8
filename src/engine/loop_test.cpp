#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <zllm/engine/loop.h>
#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

// Lets rounds through only while it is open.
class Gate {
 public:
  void set(bool is_open) {
    const std::scoped_lock lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void wait_for_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ != 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int arrived_ = 0;
};

// The model's rounds wait until the gate, which must outlive them, is opened.
void close(Gate& gate, hashed::PagedModel& model) {
  model.before_round = [&gate](const runtime::Round&) {
    gate.pass();
    return Status();
  };
  gate.set(false);
}

std::vector<TokenId> read_all(Stream& stream, std::optional<Ended>& ended) {
  std::vector<TokenId> tokens;
  while (auto event = stream.next()) {
    if (const auto *const chosen = std::get_if<TokenChosen>(&*event)) {
      tokens.push_back(chosen->token);
    }
    if (auto *const end = std::get_if<Ended>(&*event)) {
      ended = std::move(*end);
    }
  }
  return tokens;
}

TEST(Loop, AnswersManyReadersAtOnceAsAlone) {
  hashed::PagedModel model;
  auto loop = Loop::start(model, {.sequences = 4, .buffered_events = 2});
  ASSERT_TRUE(loop.ok());
  constexpr std::size_t kReaders = 16;
  std::vector<std::vector<TokenId>> answers(kReaders);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      auto stream = (*loop)->submit(plain_request(some_tokens(20 + i, i), 15, i));
      ASSERT_TRUE(stream.ok());
      std::optional<Ended> ended;
      answers[i] = read_all(**stream, ended);
      EXPECT_TRUE(ended && !ended->failure);
    });
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (std::size_t i = 0; i < kReaders; ++i) {
    EXPECT_EQ(answers[i],
              alone<hashed::PagedModel>(plain_request(some_tokens(20 + i, i), 15, i)).tokens);
  }
  const Statistics now = (*loop)->statistics();
  EXPECT_EQ(now.finished_requests, kReaders);
  EXPECT_EQ(now.queued_requests, 0u);
  EXPECT_EQ(now.running_requests, 0u);
  EXPECT_GT(now.rounds, 0u);
}

TEST(Loop, RefusesWhatCanNeverRunByName) {
  hashed::PagedModel model({.context = 20});
  auto loop = Loop::start(model, {});
  const auto refusal = [&](Request request) {
    const auto refused = (*loop)->submit(std::move(request));
    return refused.ok() ? std::string() : refused.error().message;
  };
  EXPECT_NE(refusal(plain_request({}, 1)).find("no tokens"), std::string::npos);
  const std::string both = refusal(plain_request(some_tokens(21, 1), 1));
  EXPECT_NE(both.find("21"), std::string::npos);
  EXPECT_NE(both.find("20"), std::string::npos);
  EXPECT_NE(refusal(plain_request({1}, 0)).find("max_tokens"), std::string::npos);
  EXPECT_NE(refusal(plain_request({99}, 1)).find("99"), std::string::npos);
  Request request = plain_request({1}, 1);
  request.sampling.top_p = 3;
  EXPECT_NE(refusal(std::move(request)).find("top_p"), std::string::npos);
  request = plain_request({1}, 1);
  request.choices = 0;
  EXPECT_NE(refusal(std::move(request)).find("choices"), std::string::npos);
  LoopOptions options;
  options.weights["a"] = 0.0;
  EXPECT_FALSE(Loop::start(model, options).ok());
  options.weights.clear();
  options.sequences = 0;
  EXPECT_FALSE(Loop::start(model, options).ok());
}

TEST(Loop, BoundsTheQueueAndTakesMoreOnceThereIsRoom) {
  hashed::PagedModel model;
  Gate gate;
  close(gate, model);
  auto loop = Loop::start(model, {.sequences = 1, .queue_length = 2});
  auto running = (*loop)->submit(plain_request({1}, 3));
  gate.wait_for_arrival();
  auto second = (*loop)->submit(plain_request({1}, 3));
  auto third = (*loop)->submit(plain_request({1}, 3));
  ASSERT_TRUE(second.ok() && third.ok());
  // The running one was not published yet: its place counts as waiting or as taken.
  Result<std::unique_ptr<Stream>> last = (*loop)->submit(plain_request({1}, 3));
  for (int i = 0; i < 2 && last.ok(); ++i) {
    last = (*loop)->submit(plain_request({1}, 3));
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, Code::resource_exhausted);
  EXPECT_GE((*loop)->statistics().refused_requests, 1u);
  gate.set(true);
  std::optional<Ended> ended;
  read_all(**running, ended);
  read_all(**third, ended);
  EXPECT_TRUE((*loop)->submit(plain_request({1}, 3)).ok());
}

TEST(Loop, TellsHowLongARoundTakesButNotHowLongNobodyAsked) {
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  hashed::PagedModel model;
  Gate gate;
  close(gate, model);
  auto loop = Loop::start(model, {});
  EXPECT_EQ((*loop)->statistics().stalled_seconds, 0);
  const Clock::time_point before = Clock::now();
  auto stream = (*loop)->submit(plain_request({1}, 3));
  gate.wait_for_arrival();
  const Clock::time_point in_round = Clock::now();
  const double least = seconds(in_round);
  const double stalled = (*loop)->statistics().stalled_seconds;
  EXPECT_GE(stalled, least);
  EXPECT_LE(stalled, seconds(before));
  gate.set(true);
  std::optional<Ended> ended;
  read_all(**stream, ended);
  EXPECT_EQ((*loop)->statistics().stalled_seconds, 0);
}

TEST(Loop, EndsAllStreamsWhenItGoes) {
  hashed::PagedModel model;
  auto loop = Loop::start(model, {.sequences = 1, .buffered_events = 3});
  auto running = (*loop)->submit(plain_request({1}, 200));
  auto queued = (*loop)->submit(plain_request({1}, 200));
  (*running)->next();
  loop->reset();
  for (Stream *const stream : {running->get(), queued->get()}) {
    std::optional<Ended> ended;
    read_all(*stream, ended);
    ASSERT_TRUE(ended && ended->failure);
    EXPECT_EQ(ended->failure->kind, FailureKind::shut_down);
  }
  // A stream outlives its loop.
  (*queued)->cancel();
  EXPECT_FALSE((*queued)->next());
}

TEST(Loop, EndsALateRequest) {
  hashed::PagedModel model;
  auto loop = Loop::start(model, {});
  Request request = plain_request({1}, 200);
  request.deadline = Clock::now();
  auto stream = (*loop)->submit(std::move(request));
  std::optional<Ended> ended;
  EXPECT_TRUE(read_all(**stream, ended).empty());
  ASSERT_TRUE(ended && ended->failure);
  EXPECT_EQ(ended->failure->kind, FailureKind::deadline);
}

TEST(Loop, NotifiesAndCancelsFromOtherThreads) {
  hashed::PagedModel model;
  auto loop = Loop::start(model, {.buffered_events = 4});
  auto stream = (*loop)->submit(plain_request({1}, 200));
  std::mutex mutex;
  std::condition_variable woken;
  int notes = 0;
  (*stream)->set_notifier([&] {
    const std::scoped_lock lock(mutex);
    ++notes;
    woken.notify_one();
  });
  std::size_t tokens = 0;
  std::optional<Ended> ended;
  while (!ended) {
    while (auto event = (*stream)->try_next()) {
      tokens += std::holds_alternative<TokenChosen>(*event) ? 1U : 0U;
      if (auto *const end = std::get_if<Ended>(&*event)) {
        ended = std::move(*end);
      }
      // Here, not after the reading: a reader as fast as the loop may read to the end in one go.
      if (tokens == 20) {
        std::thread([&] { (*stream)->cancel(); }).join();
      }
    }
    if (!ended) {
      std::unique_lock lock(mutex);
      woken.wait(lock, [&] { return notes != 0; });
      notes = 0;
    }
  }
  (*stream)->set_notifier(nullptr);
  EXPECT_FALSE(ended->failure);
  EXPECT_LT(tokens, 30u);
  EXPECT_EQ((*loop)->statistics().cancelled_requests, 1u);
}

}  // namespace
}  // namespace zllm::engine

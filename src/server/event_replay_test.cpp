#include <zllm/server/event_replay.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using dialect::responses::EventLog;
using testing::HasSubstr;

// Keeps what it is given, and what metrics tell at its end.
class KeepingWriter final : public http::ResponseWriter {
 public:
  explicit KeepingWriter(const Metrics& metrics) : metrics_(metrics) {}

  void respond(int, http::Headers, std::string) override {}
  void start(int, http::Headers) override {}
  bool write(std::string piece) override {
    text += piece;
    return true;
  }
  void finish() override { told_at_end = metrics_.text({}, 0); }
  void reset() override { told_at_end = metrics_.text({}, 0); }
  std::size_t pending() const override { return 0; }
  bool is_gone() const override { return false; }
  void set_notifier(std::function<void()> notifier) override { notifier_ = std::move(notifier); }

  std::string text;
  std::string told_at_end;

 private:
  const Metrics& metrics_;
  std::function<void()> notifier_;
};

// Who has read to the end may ask for metrics at once.
TEST(EventReplay, IsCountedBeforeItsClientSeesTheEnd) {
  for (const bool is_dropped : {false, true}) {
    Metrics metrics;
    const RequestLog log({}, false);
    const auto events = std::make_shared<EventLog>(is_dropped ? 1 : EventLog::kMostBytes);
    const auto writer = std::make_shared<KeepingWriter>(metrics);
    {
      WorkerPool workers(1);
      auto call = std::make_shared<Call>(http::HttpRequest{}, writer, metrics, log);
      EventReplay::start({.call = std::move(call), .events = events}, workers);
      events->append({.event = "e", .data = "one"});
      events->close();
    }
    EXPECT_THAT(writer->told_at_end, HasSubstr("status=\"200\"} 1\n"));
    EXPECT_EQ(writer->text, is_dropped ? "" : "event: e\ndata: one\n\n");
  }
}

}  // namespace
}  // namespace zllm::server

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/embedded/answer.h>
#include <zllm/server/call.h>
#include <zllm/server/worker_pool.h>

namespace zllm::server {

// Carries the events of running answers to a client as it takes them. A client that takes nothing
// stalls only this; one that leaves cancels the answers. Without a client (a background response)
// the events are told all the same.
class AnswerPump final : public Actor, public std::enable_shared_from_this<AnswerPump> {
 public:
  struct Job {
    std::shared_ptr<Call> call;  // its writer is not used in the background
    std::vector<std::unique_ptr<Answer>> answers;
    std::unique_ptr<dialect::BatchEncoder> encoder;
    bool is_streaming = false;
    bool is_background = false;
    bool outlives_client = false;  // goes on in the background when the client leaves
    std::size_t buffer_bytes = 0;  // that a client may leave untaken
    std::function<void()> at_end = {};
  };

  static std::shared_ptr<AnswerPump> start(Job job, WorkerPool& workers, Metrics& metrics);
  AnswerPump(Job job, WorkerPool& workers, Metrics& metrics);
  ~AnswerPump() override;

  void step() override;
  // Ends the answers as cancelled; their last events are still told. Any thread.
  void cancel();

 private:
  void listen();
  bool has_room() const;
  bool take(std::size_t answer);
  void tell(std::size_t answer, const Event& event);
  void send(std::size_t answer, const Event& event);
  void note(const Event& event);
  void finish();
  void abandon();

  Job job_;
  WorkerPool& workers_;
  Metrics& metrics_;
  std::size_t running_;
  bool is_listening_ = false;
  bool is_started_ = false;  // the head of a stream is sent
  bool is_over_ = false;
  std::optional<Failure> failure_;
  std::optional<Call::Clock::time_point> last_piece_;
  std::vector<dialect::Item> items_;
};

}  // namespace zllm::server

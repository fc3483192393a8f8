#pragma once

#include <cstddef>
#include <memory>

#include <zllm/dialect/responses/event_log.h>
#include <zllm/server/call.h>
#include <zllm/server/worker_pool.h>

namespace zllm::server {

// Tells a client the events of a response again, and then those that are still to come.
class EventReplay final : public Actor, public std::enable_shared_from_this<EventReplay> {
 public:
  struct Job {
    std::shared_ptr<Call> call;
    std::shared_ptr<dialect::responses::EventLog> events;
    std::size_t first = 0;         // the place of the event to begin with
    std::size_t buffer_bytes = 0;  // that a client may leave untaken
  };

  static void start(Job job, WorkerPool& workers);
  EventReplay(Job job, WorkerPool& workers);

  void step() override;

 private:
  void begin();
  void finish();

  Job job_;
  WorkerPool& workers_;
  std::size_t listener_ = 0;
  bool is_begun_ = false;
  bool is_over_ = false;
};

}  // namespace zllm::server

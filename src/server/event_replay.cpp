#include <zllm/server/event_replay.h>

#include <string>
#include <utility>

#include <zllm/server/http/sse.h>

namespace zllm::server {
namespace {

constexpr std::size_t kEventsOfAPiece = 64;  // between looks at how much the client has taken

}  // namespace

void EventReplay::start(Job job, WorkerPool& workers) {
  workers.schedule(std::make_shared<EventReplay>(std::move(job), workers));
}

EventReplay::EventReplay(Job job, WorkerPool& workers) : job_(std::move(job)), workers_(workers) {}

// In a step, so that no other step ends the replay before it listens. The writer keeps it alive
// until it is over; the log, which may outlive the server's workers, does not.
void EventReplay::begin() {
  is_begun_ = true;
  job_.call->start_events();
  listener_ = job_.events->listen([weak = weak_from_this(), this] {
    if (const auto alive = weak.lock()) {
      workers_.schedule(alive);
    }
  });
  job_.call->writer()->set_notifier(
      [replay = shared_from_this()] { replay->workers_.schedule(replay); });
}

void EventReplay::step() {
  if (is_over_) {
    return;
  }
  if (!is_begun_) {
    begin();
  }
  const std::shared_ptr<http::ResponseWriter> writer = job_.call->writer();
  while (!writer->is_gone()) {
    if (writer->pending() > job_.buffer_bytes) {
      return;
    }
    const auto part = job_.events->read(job_.first, kEventsOfAPiece);
    if (part.is_dropped) {
      finish();
      return writer->reset();  // the client sees that this is no whole stream
    }
    job_.first += part.events.size();
    std::string text;
    for (const dialect::Item& event : part.events) {
      text += http::frame_event(event.event, event.data);
    }
    if (!text.empty()) {
      writer->write(std::move(text));
    }
    if (part.is_last) {
      finish();  // before the client can ask for metrics
      return writer->finish();
    }
    if (part.events.empty()) {
      return;
    }
  }
  finish();
}

void EventReplay::finish() {
  is_over_ = true;
  job_.events->unlisten(listener_);
  job_.call->writer()->set_notifier(nullptr);
  job_.call->report();
}

}  // namespace zllm::server

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <zllm/engine/event.h>

namespace zllm::engine {

// The reader's end of a running request. Events wait in a bounded buffer: while it is full, the
// request is not computed further and nothing else waits for it. One reader at a time; cancel may
// be called by any thread. Destroying the stream cancels the request.
class Stream {
 public:
  virtual ~Stream() = default;

  // The next event, waiting for it; nothing after Ended was given.
  virtual std::optional<Event> next() = 0;
  // The next event if there is one now.
  virtual std::optional<Event> try_next() = 0;
  // Called, on the loop's thread, whenever the buffer stops being empty; at once if it is not. It
  // must be short and must not call the stream. Replaces the one before; null for none. Once this
  // returns, the one before is not running and is not called any more.
  virtual void set_notifier(std::function<void()> notifier) = 0;
  // Ends the request within a round; its events still end with Ended.
  virtual void cancel() = 0;
  // Ends one choice within a round: ChoiceFinished as cancelled.
  virtual void cancel_choice(std::uint32_t choice) = 0;
};

}  // namespace zllm::engine

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <zllm/embedded/event.h>

namespace zllm {

// A request that runs. Events come in order and end with Ended; all content deltas of a choice
// together are its text, byte for byte what a caller who waits for the end gets. Events wait in a
// bounded buffer: who does not take them stalls this answer alone. One reader at a time; cancel may
// be called by any thread. Destroying the answer cancels it.
class Answer {
 public:
  virtual ~Answer() = default;

  // The next event, waiting for it; nothing after Ended was given.
  virtual std::optional<Event> next() = 0;
  // The next event if there is one now. Does this answer's share of text work on this thread.
  virtual std::optional<Event> try_next() = 0;
  // Called on another thread when try_next may have something; short, and must not call the answer.
  // Null for none. Once this returns the one before is not called any more.
  virtual void set_notifier(std::function<void()> notifier) = 0;
  virtual void cancel() = 0;
  // Of the prompt, which may not be computed yet.
  virtual std::uint64_t prompt_tokens() const = 0;
};

}  // namespace zllm

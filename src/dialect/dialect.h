#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zllm/embedded/event.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>

// What every dialect is: a way to read a body into a Request and to write Events. No HTTP here.
namespace zllm::dialect {

// One message of a stream: a server-sent event without its framing.
struct Item {
  std::string event = {};  // its type where the dialect names it; else empty
  std::string data;        // JSON text, or the dialect's end mark
};

// Writes the answer to one request. Either stream() sees every event in order, or collect() does
// and body() gives the whole; both tell the same. One thread at a time.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // What a client is sent for the event. An Ended with a failure becomes the dialect's error
  // message, and the stream ends as the dialect ends one.
  virtual void stream(const Event& event, std::vector<Item>& out) = 0;
  virtual void collect(const Event& event) = 0;
  // After an Ended without a failure.
  virtual std::string body() = 0;
  // In place of all further events: the client has left.
  virtual void abandon() {}
};

// Facts about the answer that the reader of a body cannot make up.
struct AnswerFacts {
  std::string unique;         // letters and digits, different for every answer; ids end with it
  std::int64_t created = 0;   // seconds since 1970
  std::string model;          // as the answer is to name it
  std::string identity = {};  // of what answers: another one may answer otherwise
};

struct Exchange {
  Request request;
  bool is_streaming = false;
  std::unique_ptr<Encoder> encoder;
};

// The same for a body that may ask several things: `request` is the index of the one that an event
// belongs to, and Event::choice counts within it.
class BatchEncoder {
 public:
  virtual ~BatchEncoder() = default;
  virtual void stream(std::size_t request, const Event& event, std::vector<Item>& out) = 0;
  virtual void collect(std::size_t request, const Event& event) = 0;
  virtual std::string body() = 0;
  virtual void abandon() {}
};

struct Batch {
  std::vector<Request> requests;  // at least one
  bool is_streaming = false;
  std::unique_ptr<BatchEncoder> encoder;
};

// A batch of one.
Batch batch_of(Exchange exchange);

// The HTTP status of a failure, the same in every dialect.
int http_status(FailureKind kind);

}  // namespace zllm::dialect

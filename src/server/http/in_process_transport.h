#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <zllm/server/http/transport.h>

namespace zllm::server::http {

// The client's end of one request that never touched a network. What the client does not read stays
// pending at the server, so a client that reads slowly is slow. Thread-safe.
class InProcessExchange {
 public:
  enum class End {
    open,
    finished,
    reset,  // broken by the server, or cut by a stop
    left,   // by this client
  };

  explicit InProcessExchange(std::size_t buffer_bytes);
  InProcessExchange(const InProcessExchange&) = delete;
  InProcessExchange& operator=(const InProcessExchange&) = delete;
  ~InProcessExchange();

  // Waits for the head. 0 when the exchange ended without one.
  int status();
  Headers headers();
  // The next piece as the server wrote it; waits. Nothing at the end, whichever it was.
  std::optional<std::string> read();
  // The same without waiting: nothing also when no piece is there.
  std::optional<std::string> try_read();
  // All that is still to come; waits for the end.
  std::string read_all();
  // Waits for the end without reading; what is unread stays.
  End wait();
  End end() const;
  // The client goes: nothing more is taken.
  void leave();

 private:
  friend class InProcessTransport;
  class Writer;
  struct State;
  std::shared_ptr<State> state_;
};

// A transport without a network: tests hand requests in and read answers out. The handler runs on
// the thread that sends, notifiers on the thread that reads or leaves, or that sets one for a
// client that has gone already.
class InProcessTransport final : public Transport {
 public:
  explicit InProcessTransport(Handler handler, TransportLimits limits = {});
  InProcessTransport(const InProcessTransport&) = delete;
  InProcessTransport& operator=(const InProcessTransport&) = delete;
  ~InProcessTransport() override;

  // Limits of size refuse the request as the network's would. After a stop the exchange is reset.
  std::unique_ptr<InProcessExchange> send(HttpRequest request);

  std::uint16_t port() const override { return 0; }
  void stop(double drain_seconds) override;

 private:
  Handler handler_;
  TransportLimits limits_;
  std::mutex mutex_;
  bool is_stopped_ = false;
  std::vector<std::weak_ptr<InProcessExchange::State>> running_;
};

}  // namespace zllm::server::http

#include "signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace zllm::cli {
namespace {

// Handlers get no context: what they share with the program can only be static.
struct Shared {
  std::atomic<bool> is_noting{false};
  std::atomic<int> noted{0};
  std::atomic<int> interrupts{0};
  std::atomic<int> forgiven{1};
  std::array<int, 2> pipe{-1, -1};
};
static_assert(std::atomic<int>::is_always_lock_free);
Shared shared;

void handle(int number) {
  const int saved_errno = errno;
  const bool is_again = number == SIGTERM ? shared.noted.load() == SIGTERM
                                          : shared.interrupts.fetch_add(1) >= shared.forgiven;
  if (!shared.is_noting.load() || is_again) {
    _exit(128 + number);
  }
  if (shared.noted.load() != SIGTERM) {
    shared.noted = number;
  }
  const char byte = 0;
  // A full pipe wakes its reader just as well.
  [[maybe_unused]] const ssize_t ignored = ::write(shared.pipe[1], &byte, 1);
  errno = saved_errno;
}

void drain() {
  std::array<char, 64> bytes{};
  while (::read(shared.pipe[0], bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace

void exit_on_signals() {
  struct sigaction action{};
  action.sa_handler = handle;  // without SA_RESTART: calls that block return
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

NotedSignals::NotedSignals(int forgiven) {
  if (shared.pipe[0] < 0 && pipe2(shared.pipe.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
    return;  // out of files: signals keep ending the process at once
  }
  shared.forgiven = forgiven;
  clear();
  shared.is_noting = true;
}

NotedSignals::~NotedSignals() { shared.is_noting = false; }

int NotedSignals::number() const { return shared.noted; }

void NotedSignals::clear() {
  drain();
  shared.noted = 0;
  shared.interrupts = 0;
}

int NotedSignals::wakeup() const { return shared.pipe[0]; }

int last_noted_signal() { return shared.noted; }

}  // namespace zllm::cli

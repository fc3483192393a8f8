#pragma once

namespace zllm::cli {

// From now on SIGINT and SIGTERM end the process at once with the exit code 128 + number. What the
// program writes is flushed piece by piece, so nothing is lost.
void exit_on_signals();

// While it lives, signals are noted instead and the program ends what it does in its own time. The
// second SIGTERM, or a SIGINT beyond `forgiven` in a row, ends the process all the same. At most
// one at a time.
class NotedSignals {
 public:
  explicit NotedSignals(int forgiven = 1);
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  int number() const;  // of the last one noted, 0 = none; SIGTERM is never hidden by a SIGINT
  void clear();
  int wakeup() const;  // a file that can be read once a signal came; for poll
};

// The last signal that any NotedSignals noted and did not clear, 0 = none.
int last_noted_signal();

}  // namespace zllm::cli

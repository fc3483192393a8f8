#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>

#include "signals.h"

namespace zllm::cli {

enum class InputKind { line, end, signal };

struct Input {
  InputKind kind = InputKind::end;
  std::string line;
};

// Lines from stdin, with the terminal's own editing. A line that ends in a backslash goes on in the
// next one. A signal that is noted while it waits ends the wait.
class LineReader {
 public:
  explicit LineReader(const NotedSignals& signals) : signals_(signals) {}

  // prompt: shown when stdin is a terminal.
  Result<Input> read(std::string_view prompt);
  static bool is_interactive();

 private:
  Result<InputKind> fill();

  const NotedSignals& signals_;
  std::string pending_;
  bool is_at_end_ = false;
};

}  // namespace zllm::cli

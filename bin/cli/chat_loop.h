#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/embedded/engine.h>

#include "generation_options.h"
#include "line_reader.h"
#include "signals.h"

namespace zllm::cli {

// A conversation on the terminal or through pipes: turns and /commands.
class ChatLoop {
 public:
  // Engine and options must outlive it.
  ChatLoop(Engine& engine, GenerationOptions& options, const std::string& system);

  // Until the user leaves. Through pipes, the first turn that failed is the result.
  Status run();

 private:
  enum class Next { go_on, leave };

  Status turn(std::string_view text);
  Status reply();
  Result<Next> command(std::string_view line);
  Status undo();
  Status retry();
  Status params(std::string_view arguments);
  void reset(std::string_view system);
  Status set_param(std::string_view name, std::string_view value);
  Result<Next> interrupted();

  Engine& engine_;
  GenerationOptions& options_;
  std::string system_;
  std::vector<Message> messages_;
  std::uint64_t retries_ = 0;  // of the last question
  NotedSignals signals_;
  LineReader reader_;
  bool is_warned_ = false;  // of leaving by another Ctrl-C
};

}  // namespace zllm::cli

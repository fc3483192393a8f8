#include "subprocess.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <zllm/base/text.h>

#include "signals.h"

namespace zllm::cli {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

Result<pid_t> start(const std::vector<std::string>& arguments) {
  std::vector<char *> raw;
  raw.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    raw.push_back(const_cast<char *>(argument.c_str()));  // posix_spawn writes to none of them
  }
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Error{Code::io, concat("cannot start ", arguments[0], ": ", std::strerror(error))};
  }
  return child;
}

}  // namespace

Status run_program(const std::vector<std::string>& arguments,
                   const std::function<void()>& while_running) {
  const NotedSignals signals;
  ZLLM_TRY(const pid_t child, start(arguments));
  int status = 0;
  bool is_told = false;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) {
      break;
    }
    if (signals.number() != 0 && !is_told) {
      kill(child, SIGTERM);
      is_told = true;
    }
    if (while_running) {
      while_running();
    }
    std::this_thread::sleep_for(kPoll);
  }
  if (const int number = signals.number(); number != 0) {
    return Error{Code::cancelled, concat("stopped by signal ", number)};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{Code::io,
                 concat(arguments[0], " failed",
                        WIFEXITED(status) ? concat(" with exit code ", WEXITSTATUS(status))
                                          : concat(", ended by signal ", WTERMSIG(status)))};
  }
  return {};
}

}  // namespace zllm::cli

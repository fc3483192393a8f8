#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <zllm/engine/prefix_file.h>

namespace zllm::engine {

// Writes files of prefixes on a thread of its own, so that nobody waits for a disk. Its functions
// are for one other thread.
class PrefixWriter {
 public:
  struct Job {
    std::string name;  // of the file
    PrefixFileHead head;
    std::vector<std::byte> state;
  };
  struct Written {
    std::string name;
    PrefixFileHead head;
    std::uint64_t bytes = 0;
    bool is_there = false;  // false: the system refused
  };

  explicit PrefixWriter(std::string folder);
  ~PrefixWriter();  // once all is written
  PrefixWriter(const PrefixWriter&) = delete;
  PrefixWriter& operator=(const PrefixWriter&) = delete;

  // False, and the job is not done, while too much waits.
  bool offer(Job job);
  // What was written since the last call.
  std::vector<Written> take_written();
  void wait();  // until all is written

  static std::uint64_t file_bytes(const Job& job);

 private:
  void run();

  std::string folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // the first is being written
  std::uint64_t waiting_bytes_ = 0;
  std::vector<Written> written_;
  bool is_ending_ = false;
  std::thread thread_;
};

// What ends the name of a file that is not whole yet.
constexpr std::string_view kUnfinishedFile = ".unfinished";

}  // namespace zllm::engine

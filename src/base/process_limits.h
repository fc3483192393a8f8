#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace zllm {

// Processors that this process may use: its affinity mask, cut by the container's CPU quota
// (cgroup v2 or v1, rounded up). At least 1.
unsigned usable_processors();

struct MemoryLimits {
  std::uint64_t total = 0;      // of the machine, or the container's limit when that is lower
  std::uint64_t available = 0;  // that a new allocation could get without swapping
};

// Nothing when the system does not tell.
std::optional<MemoryLimits> memory_limits();

namespace internal {
// Processors of a cgroup v2 cpu.max text ("200000 100000", "max 100000"); nothing when unlimited.
std::optional<double> parse_cpu_max(std::string_view text);
}  // namespace internal

}  // namespace zllm

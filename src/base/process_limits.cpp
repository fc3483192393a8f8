#include <zllm/base/process_limits.h>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <zllm/base/text.h>

namespace zllm {
namespace {

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_text(path);
  std::uint64_t value = 0;
  if (!text || !parse_number(trimmed(*text), value)) {
    return std::nullopt;
  }
  return value;
}

// Folders of this process's cgroup and of its ancestors: a limit may be set on any of them. Inside
// a container the own cgroup is usually mounted as the root.
std::vector<std::string> cgroup_folders(std::string_view controller) {
  std::vector<std::string> folders;
  const auto text = read_text("/proc/self/cgroup");
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string names = line.substr(first + 1, second - first - 1);
    const bool is_v2 = names.empty();
    if (!is_v2 && names.find(controller) == std::string::npos) {
      continue;
    }
    const std::string root = is_v2 ? "/sys/fs/cgroup" : concat("/sys/fs/cgroup/", controller);
    std::string path = line.substr(second + 1);
    while (!path.empty() && path != "/") {
      folders.push_back(root + path);
      path.resize(path.rfind('/'));
    }
    folders.push_back(root);
  }
  return folders;
}

std::optional<double> quota_of(const std::string& folder) {
  if (const auto text = read_text(folder + "/cpu.max")) {
    return internal::parse_cpu_max(trimmed(*text));
  }
  const auto quota = read_number(folder + "/cpu.cfs_quota_us");
  const auto period = read_number(folder + "/cpu.cfs_period_us");
  if (quota && period && *period > 0) {
    return static_cast<double>(*quota) / static_cast<double>(*period);
  }
  return std::nullopt;
}

std::uint64_t meminfo(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return 0;
  }
  std::istringstream rest{std::string(text.substr(at + key.size(), 40))};
  std::uint64_t kibibytes = 0;
  rest >> kibibytes;
  return kibibytes * 1024;
}

// A limit and the use under it, of one cgroup folder.
void apply_cgroup(const std::string& folder, MemoryLimits& limits) {
  auto limit = read_number(folder + "/memory.max");
  auto used = read_number(folder + "/memory.current");
  if (!limit) {
    limit = read_number(folder + "/memory.limit_in_bytes");
    used = read_number(folder + "/memory.usage_in_bytes");
  }
  if (!limit || *limit >= limits.total) {
    return;
  }
  limits.total = *limit;
  // Page cache counts as use but is given up when asked for.
  const auto statistics = read_text(folder + "/memory.stat");
  std::uint64_t reclaimable = 0;
  if (statistics) {
    std::istringstream lines(*statistics);
    std::string name;
    std::uint64_t value = 0;
    while (lines >> name >> value) {
      if (name == "inactive_file" || name == "active_file") {
        reclaimable += value;
      }
    }
  }
  const std::uint64_t held = used.value_or(0) - std::min(used.value_or(0), reclaimable);
  limits.available = std::min(limits.available, *limit - std::min(*limit, held));
}

}  // namespace

std::optional<double> internal::parse_cpu_max(std::string_view text) {
  const std::size_t space = text.find(' ');
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (space == std::string_view::npos || !parse_number(text.substr(0, space), quota) ||
      !parse_number(text.substr(space + 1), period) || period == 0) {
    return std::nullopt;
  }
  return static_cast<double>(quota) / static_cast<double>(period);
}

unsigned usable_processors() {
  unsigned count = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    count = static_cast<unsigned>(std::max(1, CPU_COUNT(&mask)));
  }
  for (const std::string& folder : cgroup_folders("cpu")) {
    if (const auto quota = quota_of(folder)) {
      count = std::min(count, static_cast<unsigned>(std::max(1.0, std::ceil(*quota))));
    }
  }
  return count;
}

std::optional<MemoryLimits> memory_limits() {
  const auto text = read_text("/proc/meminfo");
  if (!text) {
    return std::nullopt;
  }
  MemoryLimits limits{.total = meminfo(*text, "MemTotal:"),
                      .available = meminfo(*text, "MemAvailable:")};
  if (limits.total == 0) {
    return std::nullopt;
  }
  for (const std::string& folder : cgroup_folders("memory")) {
    apply_cgroup(folder, limits);
  }
  return limits;
}

}  // namespace zllm

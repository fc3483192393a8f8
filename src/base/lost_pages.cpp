#include <zllm/base/lost_pages.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <zllm/base/check.h>

namespace zllm::lost_pages {
namespace {

// A signal handler may not take locks, so each slot is a sequence lock: odd while it changes.
struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<std::uint32_t> version = 0;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> lost = false;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

// Signal dispositions belong to the process, and so must what they need.
std::array<Slot, kMappingLimit> g_slots;
struct sigaction g_previous;
std::uintptr_t g_page_size = 0;

void set_range(Slot& slot, std::uintptr_t begin, std::uintptr_t end) {
  slot.version.fetch_add(1);
  slot.begin.store(begin);
  slot.end.store(end);
  slot.version.fetch_add(1);
}

// Replaces the pages from the address to the end of the mapping: behind a lost page of a file that
// shrank there are only lost ones, and one range keeps the number of kernel mappings small.
bool replace_pages(Slot& slot, std::uintptr_t address) {
  const std::uint32_t version = slot.version.load();
  const std::uintptr_t begin = slot.begin.load();
  const std::uintptr_t end = slot.end.load();
  if (version % 2 != 0 || slot.version.load() != version || address < begin || address >= end) {
    return false;
  }
  const std::uintptr_t page = address - address % g_page_size;
  // The system call itself, as the library's functions may be replaced by a sanitizer's that are
  // not safe in a handler.
  const long mapped = syscall(SYS_mmap, page, end - page, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (mapped == -1) {
    return false;
  }
  slot.lost.store(true);
  return true;
}

void call_previous(int signal, siginfo_t *info, void *context) {
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
    return;
  }
  const bool sent_by_a_process = info->si_code <= 0;
  if (g_previous.sa_handler == SIG_IGN && sent_by_a_process) {
    return;
  }
  if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN) {
    g_previous.sa_handler(signal);
    return;
  }
  // The faulting instruction runs again after the return and then ends the process.
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  if (sent_by_a_process) {
    raise(signal);
  }
}

void on_bus_error(int signal, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  bool handled = false;
  if (info->si_code > 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (Slot& slot : g_slots) {
      handled = handled || replace_pages(slot, address);
    }
  }
  if (!handled) {
    call_previous(signal, info, context);
  }
  errno = saved_errno;
}

void install_handler() {
  g_page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Known before the own handler can run.
  ZLLM_CHECK(sigaction(SIGBUS, nullptr, &g_previous) == 0, "SIGBUS has no disposition");
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  ZLLM_CHECK(sigaction(SIGBUS, &action, nullptr) == 0, "SIGBUS takes no handler");
}

}  // namespace

std::optional<std::size_t> guard(std::span<const std::byte> mapping) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  for (std::size_t i = 0; i < g_slots.size(); ++i) {
    if (!g_slots[i].taken.exchange(true)) {
      const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
      g_slots[i].lost.store(false);
      set_range(g_slots[i], begin, begin + mapping.size());
      return i;
    }
  }
  return std::nullopt;
}

void release(std::size_t slot) {
  set_range(g_slots[slot], 0, 0);
  g_slots[slot].taken.store(false);
}

bool lost(std::size_t slot) { return g_slots[slot].lost.load(); }

}  // namespace zllm::lost_pages

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <zllm/backend/cpu/thread_pool.h>

// Time from the start of a loop to its end when every thread must have entered it:
// thread_pool_bench [threads].
int main(int argc, char **argv) {
  using std::chrono::steady_clock;
  const std::size_t threads = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 2;
  zllm::backend::cpu::ThreadPool pool(threads);
  constexpr int kLoops = 2000;
  double best = 1e9;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = steady_clock::now();
    for (int i = 0; i < kLoops; ++i) {
      std::atomic<std::size_t> entered = 0;
      pool.parallel_for(threads, 1, [&](std::uint64_t, std::uint64_t) {
        entered.fetch_add(1);
        while (entered.load() < threads) {
        }
      });
    }
    const std::chrono::duration<double, std::micro> time = steady_clock::now() - start;
    best = time.count() / kLoops < best ? time.count() / kLoops : best;
  }
  std::printf("fork and join of %zu threads: %.2f us\n", threads, best);
}

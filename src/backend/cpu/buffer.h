#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include <zllm/base/checked.h>
#include <zllm/base/result.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {

// Memory of plain values on a cache line border. Not initialised.
template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;

  static Result<Buffer> make(std::size_t count) {
    const auto bytes = checked_multiply(count, sizeof(T));
    // Whole vectors, so that a kernel may read the last one in full.
    const auto padded = bytes ? checked_add(*bytes, kAlignment - 1) : std::nullopt;
    const std::size_t size = padded ? *padded / kAlignment * kAlignment + kAlignment : 0;
    void *memory =
        padded ? ::operator new(size, std::align_val_t(kAlignment), std::nothrow) : nullptr;
    if (memory == nullptr) {
      return Error{Code::resource_exhausted,
                   concat("no memory for ", count, " values of ", sizeof(T), " bytes")};
    }
    ask_for_large_pages(memory, size);
    Buffer buffer;
    buffer.memory_.reset(static_cast<T *>(memory));
    buffer.count_ = count;
    return buffer;
  }

  // Replaces the memory when it is smaller than asked; the values are lost then.
  Status grow(std::size_t count) {
    if (count > count_) {
      ZLLM_TRY(*this, make(count));
    }
    return {};
  }

  T *data() { return memory_.get(); }
  const T *data() const { return memory_.get(); }
  std::size_t size() const { return count_; }
  std::span<T> span() { return {memory_.get(), count_}; }
  std::span<const T> span() const { return {memory_.get(), count_}; }

 private:
  static constexpr std::size_t kAlignment = 64;

  // A weight is read from end to end for every token; with small pages the processor spends much of
  // that on finding them.
  static void ask_for_large_pages(void *memory, std::size_t size) {
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (address + kLargePage - 1) / kLargePage * kLargePage;
    const std::uintptr_t last = (address + size) / kLargePage * kLargePage;
    if (first < last) {
      madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
    }
  }

  struct Release {
    void operator()(T *memory) const { ::operator delete(memory, std::align_val_t(kAlignment)); }
  };

  std::unique_ptr<T, Release> memory_;
  std::size_t count_ = 0;
};

}  // namespace zllm::backend::cpu

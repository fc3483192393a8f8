#include <zllm/backend/cpu/slot_cache.h>

#include <sys/mman.h>

#include <utility>

#include <zllm/backend/cpu/open_pool.h>
#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

namespace delta = attention::delta_rule;

constexpr std::size_t kCacheLine = 64 / sizeof(float);
// Of memory: a slot without journal must not touch the journal's.
constexpr std::size_t kPage = 4096 / sizeof(float);

std::size_t round_up(std::size_t floats, std::size_t unit) {
  return (floats + unit - 1) / unit * unit;
}

std::vector<std::size_t> state_begins(const SlotCacheSpec& spec) {
  std::vector<std::size_t> begins = {0};
  for (const SlotPlaneSpec& plane : spec.planes) {
    begins.push_back(begins.back() + round_up(state_width(plane), kCacheLine));
  }
  return begins;
}

std::vector<std::size_t> journal_begins(const SlotCacheSpec& spec) {
  std::vector<std::size_t> begins = {round_up(state_begins(spec).back(), kPage)};
  for (const SlotPlaneSpec& plane : spec.planes) {
    const std::size_t width = journal_width(plane);
    begins.push_back(begins.back() + round_up(kJournalRows * width, kPage));
  }
  return begins;
}

std::optional<std::size_t> total_bytes(const SlotCacheSpec& spec) {
  const auto slot = checked_multiply(journal_begins(spec).back(), sizeof(float));
  return slot ? checked_multiply(*slot, std::size_t{spec.slots}) : std::nullopt;
}

}  // namespace

std::size_t state_width(const SlotPlaneSpec& plane) {
  if (const auto *spec = std::get_if<delta::Spec>(&plane)) {
    return delta::tail_elements(*spec) + delta::state_elements(*spec);
  }
  return open_pool_state_width(std::get<OpenPoolSpec>(plane));
}

std::size_t journal_width(const SlotPlaneSpec& plane) {
  if (const auto *spec = std::get_if<delta::Spec>(&plane)) {
    return delta::channels(*spec) + std::size_t{spec->key_heads} * spec->key_width +
           std::size_t{spec->value_heads} * spec->value_width + delta::decays(*spec);
  }
  return 2 * std::size_t{std::get<OpenPoolSpec>(plane).width};
}

std::size_t SlotCache::slot_bytes(const SlotCacheSpec& spec) {
  return state_begins(spec).back() * sizeof(float);
}

Result<SlotCache> SlotCache::make(const SlotCacheSpec& spec) {
  const auto bytes = total_bytes(spec);
  // A stage may have none of the layers that keep something here.
  void *memory = bytes == std::size_t{0} ? nullptr : MAP_FAILED;
  if (bytes && *bytes > 0) {
    memory = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return Error{Code::resource_exhausted, concat("no address space for ", spec.slots, " slots of ",
                                                  slot_bytes(spec), " bytes and their journals")};
  }
  return SlotCache(spec, static_cast<std::byte *>(memory));
}

SlotCache::SlotCache(SlotCacheSpec spec, std::byte *memory)
    : spec_(std::move(spec)),
      state_begins_(state_begins(spec_)),
      journal_begins_(journal_begins(spec_)),
      memory_(memory) {}

SlotCache::SlotCache(SlotCache&& other) noexcept
    : spec_(std::move(other.spec_)),
      state_begins_(std::move(other.state_begins_)),
      journal_begins_(std::move(other.journal_begins_)),
      memory_(std::exchange(other.memory_, nullptr)) {}

SlotCache& SlotCache::operator=(SlotCache&& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(state_begins_, other.state_begins_);
  std::swap(journal_begins_, other.journal_begins_);
  std::swap(memory_, other.memory_);
  return *this;
}

SlotCache::~SlotCache() {
  if (memory_ != nullptr) {
    munmap(memory_, *total_bytes(spec_));
  }
}

float *SlotCache::begin(SlotId slot) const {
  ZLLM_CHECK(slot.value() < spec_.slots, "a slot outside the cache");
  return reinterpret_cast<float *>(memory_) + journal_begins_.back() * slot.value();
}

std::span<float> SlotCache::states(SlotId id) { return {begin(id), state_begins_.back()}; }

std::span<const float> SlotCache::states(SlotId id) const {
  return {begin(id), state_begins_.back()};
}

std::span<float> SlotCache::state(SlotId id, SlotPlaneId plane) {
  ZLLM_CHECK(plane.value() < spec_.planes.size(), "a plane outside the cache");
  return {begin(id) + state_begins_[plane.value()], state_width(spec_.planes[plane.value()])};
}

std::span<const float> SlotCache::state(std::optional<SlotId> id, SlotPlaneId plane) const {
  ZLLM_CHECK(plane.value() < spec_.planes.size(), "a plane outside the cache");
  if (!id) {
    return {};
  }
  return {begin(*id) + state_begins_[plane.value()], state_width(spec_.planes[plane.value()])};
}

std::span<float> SlotCache::journal(SlotId id, SlotPlaneId plane) {
  ZLLM_CHECK(plane.value() < spec_.planes.size(), "a plane outside the cache");
  return {begin(id) + journal_begins_[plane.value()],
          kJournalRows * journal_width(spec_.planes[plane.value()])};
}

}  // namespace zllm::backend::cpu

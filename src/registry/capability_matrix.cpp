#include <zllm/registry/capability_matrix.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/conformance/record.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/registry/model_registry.h>

namespace zllm::registry {
namespace {

using backend::OpKey;
using encoding::Encoding;

// The record of the suite on this form of a backend, or nothing.
Result<std::optional<conformance::RecordedRun>> recorded_run(std::string_view backend,
                                                             std::string_view instruction_set) {
  ZLLM_TRY(const auto files, conformance::built_in_cases());
  ZLLM_TRY(std::vector<conformance::RecordedRun> runs, conformance::built_in_record());
  for (conformance::RecordedRun& run : runs) {
    // A record of other cases than the present ones tells nothing.
    if (run.backend == backend && run.instruction_set == instruction_set &&
        conformance::check(run, files).ok()) {
      return std::optional(std::move(run));
    }
  }
  return std::optional<conformance::RecordedRun>();
}

// Notes what the backend says of a key.
void note(const backend::cpu::CpuBackend& cpu, const OpKey& key,
          std::vector<OperationSupport>& operations) {
  auto found = std::ranges::find(operations, name(key.op), &OperationSupport::operation);
  if (found == operations.end()) {
    found = operations.insert(operations.end(), {.operation = name(key.op)});
  }
  // Operations without an encoding have the one entry.
  const Encoding encoding = has_encoding(key.op) ? key.encoding : Encoding::f32;
  auto entry = std::ranges::find(found->entries, encoding, &EncodingSupport::encoding);
  if (entry == found->entries.end()) {
    entry = found->entries.insert(found->entries.end(), {.encoding = encoding});
  }
  entry->is_supported = entry->is_supported && cpu.supports(key).is_supported;
}

void mark_tested(const conformance::RecordedRun& run, std::vector<OperationSupport>& operations) {
  for (OperationSupport& operation : operations) {
    for (EncodingSupport& entry : operation.entries) {
      for (const conformance::RecordLine& line : run.lines) {
        if (name(line.op) == operation.operation && line.encoding == entry.encoding) {
          entry.tested_cases = line.passed;
        }
      }
    }
  }
}

// What all weights in one encoding, or all of the cache, ask for.
void note_family(const FamilyInfo& family, const backend::cpu::CpuBackend& cpu,
                 std::vector<OperationSupport>& operations) {
  for (std::size_t index = 0; index < encoding::kEncodingCount; ++index) {
    const auto encoding = static_cast<Encoding>(index);
    if (!encoding::info(encoding).is_weight) {
      continue;
    }
    for (const auto kv_type : {backend::KvType::f32, backend::KvType::f16}) {
      for (const OpKey& key : family.sample_requirements(encoding, {.kv_type = kv_type})) {
        note(cpu, key, operations);
      }
    }
  }
}

}  // namespace

Result<std::vector<FamilyOnBackend>> capability_matrix() {
  ZLLM_TRY(const auto cpu, backend::cpu::CpuBackend::create({.threads = 1}));
  const std::string instruction_set(kernel::cpu::name(cpu->isa()));
  ZLLM_TRY(const auto run, recorded_run(cpu->name(), instruction_set));
  std::vector<FamilyOnBackend> matrix;
  for (const FamilyInfo& family : families()) {
    FamilyOnBackend& cell = matrix.emplace_back(
        FamilyOnBackend{.family = family.name,
                        .architectures = {family.architectures.begin(), family.architectures.end()},
                        .backend = cpu->name(),
                        .instruction_set = instruction_set,
                        .tested_on = run ? run->date : "",
                        .operations = {}});
    note_family(family, *cpu, cell.operations);
    if (run) {
      mark_tested(*run, cell.operations);
    }
  }
  return matrix;
}

Result<CpuNeeds> needs_on_cpu(const weight::ModelFiles& files,
                              const runtime::LoadOptions& options) {
  ZLLM_TRY(auto needs, model_needs(files, options));
  needs.states.page_bytes = backend::cpu::PagedCache::page_bytes(needs.pages);
  needs.states.page_tokens = backend::cpu::CpuBackend::kPageTokens;
  needs.states.slot_bytes = backend::cpu::SlotCache::slot_bytes(needs.slots);
  return CpuNeeds{.memory = runtime::block::memory_need(needs.states, options),
                  .warnings = std::move(needs.warnings)};
}

}  // namespace zllm::registry

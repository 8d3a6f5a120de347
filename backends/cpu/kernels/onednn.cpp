#include "backends/cpu/kernels/onednn.h"

#include <string>

#include "core/base/error.h"
#include "core/timeline/span_recorder.h"

namespace trainyard::onednn {

const dnnl::engine& engine() {
  // Never destroyed, because threads may release what they keep of it after the program's statics
  // are destroyed.
  static const dnnl::engine* const made = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *made;
}

dnnl::stream& stream() {
  thread_local dnnl::stream made(engine());
  return made;
}

Counts& counts() {
  thread_local Counts counts;
  return counts;
}

dnnl::memory::data_type data_type(DType type) {
  if (type == DType::F32 || type == DType::TF32) return dnnl::memory::data_type::f32;
  if (type == DType::BF16) return dnnl::memory::data_type::bf16;
  throw Error(Error::Kind::Internal,
              "oneDNN is given " + std::string(to_string(type)) + "; it takes fp32 and bf16");
}

bool has_bf16() {
  static const bool has = [] {
    const dnnl::memory::desc square({16, 16}, dnnl::memory::data_type::bf16,
                                    dnnl::memory::format_tag::ab);
    try {
      const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(square, square, square),
                                              dnnl::primitive_attr(), engine());
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return has;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr made;
  made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return made;
}

Prepared::Prepared(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                   std::initializer_list<std::pair<int, dnnl::memory::desc>> operands)
    : primitive_(std::move(primitive)), scratchpad_(scratchpad.get_size()) {
  const auto add = [&](int argument, const dnnl::memory::desc& desc) {
    memory_.emplace_back(desc, engine(), nullptr);
    arguments_.push_back({argument, memory_.back().get()});
  };
  for (const auto& [argument, desc] : operands) add(argument, desc);
  if (scratchpad_ > 0) add(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void Prepared::run(std::initializer_list<const void*> data, Scratch& scratch) const {
  const auto check = [](dnnl_status_t status) {
    if (status != dnnl_success)
      throw Error(Error::Kind::Internal,
                  "oneDNN answered " + std::to_string(status) + " to a primitive (dnnl_status_t)");
  };
  std::size_t i = 0;
  for (const void* p : data)
    check(dnnl_memory_set_data_handle(memory_[i++].get(), const_cast<void*>(p)));
  const Scratch::Frame frame(scratch);
  if (scratchpad_ > 0)
    check(dnnl_memory_set_data_handle(memory_[i].get(), scratch.take(scratchpad_)));
  const RecordedSpan span(SpanLevel::Kernel, "oneDNN");
  check(dnnl_primitive_execute(primitive_.get(), stream().get(),
                               static_cast<int>(arguments_.size()), arguments_.data()));
}

std::size_t KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::int64_t part : key) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace trainyard::onednn

// oneDNN as kernels use it: one engine, one stream a thread, and primitives that are made once a
// thread for each shape and kept, so that a step that has run before makes nothing anew.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/scratch.h"
#include "core/model/dtype.h"

namespace trainyard::onednn {

const dnnl::engine& engine();
dnnl::stream& stream();  // of the calling thread

/// Of F32 and BF16; whether products in BF16 are there is for the processor to say.
dnnl::memory::data_type data_type(DType);
bool has_bf16();

/// Scratchpads come from a kernel's own Scratch.
dnnl::primitive_attr attributes();

/// A primitive and where its operands lie. For one thread.
class Prepared {
 public:
  /// `operands`: DNNL_ARG_... and what lies there.
  Prepared(dnnl::primitive, const dnnl::memory::desc& scratchpad,
           std::initializer_list<std::pair<int, dnnl::memory::desc>> operands);
  /// Addresses in the order of `operands`.
  void run(std::initializer_list<const void*> data, Scratch&) const;

 private:
  dnnl::primitive primitive_;
  std::size_t scratchpad_ = 0;  // bytes
  std::vector<dnnl::memory> memory_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// What tells one primitive from another; the first number says of which kind it is.
using Key = std::array<std::int64_t, 20>;
struct KeyHash {
  std::size_t operator()(const Key&) const;
};

/// The calling thread's T for the key, made by make() when it is first asked for.
template <class T, class Make>
const T& kept(const Key& key, Make&& make) {
  thread_local std::unordered_map<Key, T, KeyHash> list;
  const auto found = list.find(key);
  if (found != list.end()) return found->second;
  return list.emplace(key, make()).first->second;
}

}  // namespace trainyard::onednn

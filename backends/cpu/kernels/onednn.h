// Wraps oneDNN for kernels: one engine, one stream per thread, and primitives that each thread
// creates once per shape and keeps, so that a repeated step creates nothing.
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

/// The oneDNN type of F32 or BF16. has_bf16() says whether the processor supports products in BF16.
dnnl::memory::data_type data_type(DType);
bool has_bf16();

/// Attributes that make scratchpads come from the kernel's own Scratch.
dnnl::primitive_attr attributes();

/// A primitive with its operands, for use on one thread.
class Prepared {
 public:
  /// `operands`: pairs of a DNNL_ARG_... constant and the layout of that operand.
  Prepared(dnnl::primitive, const dnnl::memory::desc& scratchpad,
           std::initializer_list<std::pair<int, dnnl::memory::desc>> operands);
  /// Runs it on addresses in the order of `operands`.
  void run(std::initializer_list<const void*> data, Scratch&) const;

 private:
  dnnl::primitive primitive_;
  std::size_t scratchpad_ = 0;  // bytes
  std::vector<dnnl::memory> memory_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Identifies a primitive; the first number is its kind.
using Key = std::array<std::int64_t, 20>;
struct KeyHash {
  std::size_t operator()(const Key&) const;
};

/// Counts tell how often a thread has asked for what it keeps, and had to create it.
struct Counts {
  std::int64_t asked = 0, created = 0;
  Counts& operator+=(const Counts& more) {
    asked += more.asked, created += more.created;
    return *this;
  }
};
Counts& counts();  // of the calling thread

/// The calling thread's T for the key; make() creates it on first use.
template <class T, class Make>
const T& kept(const Key& key, Make&& make) {
  thread_local std::unordered_map<Key, T, KeyHash> list;
  ++counts().asked;
  const auto found = list.find(key);
  if (found != list.end()) return found->second;
  ++counts().created;
  return list.emplace(key, make()).first->second;
}

}  // namespace trainyard::onednn

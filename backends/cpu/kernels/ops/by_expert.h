// The rows of a call of routed experts in the order of their experts.
#pragma once

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Throws Error{Internal} where the call has no routing.
Routing& routing(const KernelCall&);

/// The rows of a call in the order of their experts, so that an expert has one product. It lives in
/// the call's scratch.
class ByExpert {
 public:
  ByExpert(const KernelCall&, std::int64_t rows, std::int64_t experts);

  /// Calls f(expert, its first row, number of its rows) for every expert that has any.
  template <class F>
  void each(std::int64_t experts, F&& f) const {
    for (std::int64_t e = 0, first = 0; e < experts; first = ends_[e++])
      if (ends_[e] > first) f(e, first, ends_[e] - first);
  }
  /// The rows in that order: in place where they lie so.
  float* gathered(const TensorView&) const;
  /// Room for results in that order; give_back() writes them to v, or adds them. A dropped row is
  /// 0.
  float* room(const TensorView& v) const;
  void give_back(const float* made, const TensorView& v, bool adds) const;
  bool in_place() const { return place_ == nullptr; }

 private:
  Scratch& scratch_;
  std::int64_t rows_;
  std::int64_t* ends_ = nullptr;   // by expert: the place after its last row
  std::int64_t* place_ = nullptr;  // by row: its place, -1 where it is dropped; null if the rows
                                   // lie in order
};

}  // namespace trainyard

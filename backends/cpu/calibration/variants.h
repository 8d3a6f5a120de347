// Times the variants of kernels (core/cost/kernels/kernel_variants.h) on this machine.
#pragma once

#include <map>
#include <stop_token>
#include <vector>

#include "core/cost/kernels/kernel_variants.h"

namespace trainyard {

/// Goes the usual way, and notes of which shapes it was asked. It is for one thread.
class ShapeRecorder final : public VariantChooser {
 public:
  int choose(const KernelShape& shape, int usual) const override {
    asked_.emplace(shape, usual);
    return usual;
  }
  /// Returns the usual variant of each shape.
  const std::map<KernelShape, int>& asked() const { return asked_; }

 private:
  mutable std::map<KernelShape, int> asked_;
};

/// Times the variants of each shape in turns on the calling thread, by its processor time, and
/// keeps the least of each: other programs can only make it longer. Before each call the core's own
/// caches are filled with something else, and then with the first operand. Takes about as long as
/// the box, or less; where it ends before all shapes had their turn, the rest are left out, of all
/// sizes alike. Shapes whose operands exceed 256 MiB are left out. Blocks.
std::vector<VariantTiming> measure_variants(const std::map<KernelShape, int>&, Duration box,
                                            const std::stop_token& = {});

}  // namespace trainyard

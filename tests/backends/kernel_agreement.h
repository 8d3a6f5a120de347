// Compares every fast kernel with the reference maths of its op: expect_agreement(op, make) runs
// many random calls of it, forward and both backwards, and compares all outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/base/random.h"
#include "core/model/graph.h"
#include "core/model/graph_builder.h"

namespace trainyard::testing {

/// A sequence of random choices for one case.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed, 17) {}
  /// Closed [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return random_.between(next_++, low, high);
  }
  bool coin() { return between(0, 1) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<std::int64_t>(list.size()) - 1)];
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

/// The operands and attributes of one call. Dimensions are undivided; use heads_dim() for those
/// with heads.
struct KernelCase {
  std::vector<Tensor> inputs = {};
  std::map<std::string, std::int64_t> attributes = {};
  std::int64_t index_below = 4;  // ids and labels
  bool flash_attention = true;
  bool transposed_weights = false;       // parameters of two dimensions and their gradients lie so
  std::int64_t copies = 0, experts = 0;  // of tokens, each of which goes to an expert
  // Where samples are documents: their bounds. Labels of padding are kPaddingLabel.
  DocumentBounds documents = {};
};

inline Shape sizes(std::initializer_list<std::int64_t> list) {
  Shape shape;
  for (std::int64_t n : list) shape.push_back(whole(n));
  return shape;
}
inline Dim heads_dim(std::int64_t count, std::int64_t size) {
  return {count * size, Axis::Heads, count};
}
inline Tensor activation(Shape shape) { return {"", std::move(shape), TensorKind::Activation, ""}; }
inline Tensor parameter(Shape shape) { return {"", std::move(shape), TensorKind::Parameter, ""}; }
inline Tensor indices(Shape shape) { return {"", std::move(shape), TensorKind::Index, ""}; }

struct Agreement {
  int cases = 200;  // in F32; a quarter as many in each of the 16-bit formats
  /// The greatest difference relative to the largest magnitude in the tensor: sums of positive and
  /// negative terms cancel, so single elements have no relative precision, while the terms were
  /// rounded to 2^-24 of a magnitude comparable to the largest element.
  double tolerance = 1e-4;
  /// Results of 16-bit operands were rounded once: half a unit in BF16's last place is 2^-9. The
  /// rest of the tolerance is for facts and outputs that the backward reads again.
  double sixteen_bit_tolerance = 0x1p-7;
  bool sixteen_bit = true;
  const VariantChooser* variants = nullptr;  // which way kernels go that can go several
};

/// The fast kernel must exist; the backward receives exactly those operands that saved() keeps.
void expect_agreement(const Op&, const std::function<KernelCase(Draw&)>& make,
                      const Agreement& = {});

}  // namespace trainyard::testing

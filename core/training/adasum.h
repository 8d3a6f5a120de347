// Adasum combines two updates of the same weights into one: orthogonal ones are added, equal ones
// averaged, and what lies between is between. It is the average over both orders of making one step
// after the other, where the second gradient is corrected by the curvature that the first one's
// outer product estimates. More than two are combined in a binary tree over neighbours in rank
// order, because the operator is not associative.
//
//   Adasum(a, b) = (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2) b
//
// Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021; guards as in
// Horovod's adasum.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// AdasumDots are a.b, |a|^2 and |b|^2 of a pair of tensors or of parts of them, accumulated in
/// double.
struct AdasumDots {
  double dot = 0, a = 0, b = 0;
  AdasumDots& operator+=(const AdasumDots& more) {
    dot += more.dot, a += more.a, b += more.b;
    return *this;
  }
};
/// AdasumWeights multiply the two of a pair before they are added.
struct AdasumWeights {
  double a = 1, b = 1;
};

/// The spans have one length. The order of the sum depends on it alone.
AdasumDots adasum_dots(std::span<const float> a, std::span<const float> b);
/// The weight of a tensor whose squared norm is below sqrt(DBL_MIN) is 1: a zero update changes
/// nothing of the other.
AdasumWeights adasum_weights(const AdasumDots&);
/// Computes into[i] = weights.a * a[i] + weights.b * b[i] in double, rounded once. `into` may be
/// either of the two.
void add_weighted(const AdasumWeights&, std::span<const float> a, std::span<const float> b,
                  std::span<float> into);

/// The tree over whole tensors: `ranks` has the vector of each rank, a power of two of them and all
/// of one length, of which `tensors` says how many elements each tensor has, in order. Neighbours
/// of the first levels, until `mean_ranks` ranks are one, are averaged instead. All vectors are
/// overwritten; the first receives the result. Returns the sum over the tensors of |v|^2 of all
/// vectors that Adasum combined.
double adasum_tree(std::span<const std::span<float>> ranks, std::span<const std::int64_t> tensors,
                   std::int64_t mean_ranks = 1);

/// BatchHeadroom is a conclusion from the orthogonality of updates to a larger batch. Orthogonality
/// is |Adasum|^2 over the sum of |v|^2 of the P updates that were combined. One level of the tree
/// with a pair of equal length and cosine c makes |Adasum|^2 = f (|a|^2 + |b|^2) with f = (1 + c)(1
/// - c/2)^2: 1 for orthogonal ones, 1/2 for equal ones. Over log2 P levels the ratio is the product
/// of their f, so that P updates count as P x ratio independent ones, and a level made 2 x ratio^(1
/// / log2 P) times as many in the geometric mean. Later levels combine updates that have more in
/// common, because noise has been averaged out of them: a further doubling of the ranks gains at
/// most about that.
struct BatchHeadroom {
  double independent = 1;   // updates that those of all ranks count as, in [0, P]
  double per_doubling = 1;  // times as many with each doubling, in [0, 2]; 1 = nothing is gained
};
/// `ranks` is a power of two. Of one rank, both figures are 1.
BatchHeadroom batch_headroom(double orthogonality, std::int64_t ranks);
/// Says it in words, with what follows for the batch: a further doubling pays while one has made at
/// least 1.5 times as many independent updates, and only averages noise where it made less than 1.1
/// times as many.
std::string headroom_sentence(double orthogonality, std::int64_t ranks);

}  // namespace trainyard

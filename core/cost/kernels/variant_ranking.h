// A variant ranking learns from measured variants of kernels in which order those of another shape
// are. Its trees minimise the ListMLE loss (Xia et al., "Listwise approach to learning to rank",
// 2008), as Phothilimthana et al. ("TpuGraphs", 2023) rank the tiles of a kernel: the likelihood of
// the measured order, where the best of a list is drawn first, then the best of the rest. A place
// in the order counts by how much slower the next variant is, so that variants which take the same
// time are not told apart.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/kernels/kernel_variants.h"

namespace trainyard {

/// Returns the variant that is chosen where it was measured: the fastest, if it is 5 % faster than
/// the usual one, else that. Another way of a convolution counts as 10 us slower than it was timed:
/// between neighbours that go the usual way its code is in no cache.
int chosen_variant(const VariantTiming&);

/// HeldOutVariants is how the choice does at shapes that training did not see. Losses are how much
/// longer a variant takes than the best one, as a share of the best.
struct HeldOutVariants {
  VariantKernel kernel{};
  int shapes = 0;
  double chosen = 0, chosen_worst = 0;  // of the variant that is chosen: geometric mean, worst
  double second = 0;                    // of the better of the two ranked first, geometric mean
  double usual = 0, usual_worst = 0;    // of the variant where nobody chooses
  double tau = 0;                       // Kendall's, within shapes, over pairs 1 % or more apart
  std::vector<int> often;               // by variant: shapes at which it is chosen
};

/// "product: of 812 shapes that were held out the chosen way takes 0.9 % longer than the fastest in
/// the mean, 21 % at worst; the usual way 6.3 %, 140 % at worst; chosen: primitive 500, gemm 312".
std::string held_out_words(const HeldOutVariants&);

/// It is immutable, and any thread may ask it.
class VariantRanking final : public VariantChooser {
 public:
  /// Trains when it is first asked about what was not measured, and five times on four fifths of
  /// the shapes when it is first asked about those held out, for each kernel with kLeastShapes
  /// shapes.
  explicit VariantRanking(std::vector<VariantTiming>);
  ~VariantRanking() override;
  static constexpr std::size_t kLeastShapes = 20;

  /// Where the shape was measured chosen_variant() of it; else the one that is ranked first, if
  /// clearly before `usual`, where the trees know its kernel and every size lies within what was
  /// measured, else `usual`.
  int choose(const KernelShape&, int usual) const override;

  /// Returns one for each kernel that was learned, in the order of kVariantKernels.
  const std::vector<HeldOutVariants>& held_out() const;
  /// The variant that trees chose for this timing without having seen its shape; nothing for a
  /// kernel that was not learned.
  std::optional<int> held_out_choice(std::size_t timing) const;

 private:
  struct Learned;
  std::unique_ptr<Learned> learned_;
};

/// Returns the ranking of these timings; equal ones are learned once in a process.
std::shared_ptr<const VariantRanking> rank_variants(const std::vector<VariantTiming>&);

}  // namespace trainyard

// Evaluation is a mean over samples in batches of 100.
#include "backends/cpu/execution/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

// Labels go round the classes.
class RoundLabels final : public DataSource {
 public:
  explicit RoundLabels(std::int64_t classes) : classes_(classes) {}
  std::string_view name() const override { return "round"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1000; }
  std::int64_t evaluation_samples() const override { return 250; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 1.0F);
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = (r.first_sample + static_cast<std::int64_t>(i)) % classes_;
  }

 private:
  std::int64_t classes_;
};

TEST(Evaluation, AModelOfZerosLosesTheLogarithmOfItsClassesAndKnowsTheFirst) {
  constexpr std::int64_t kClasses = 3;
  const Workload w = prepare(testing::scenario(testing::tiny_mlp(1), 1, {}));
  const RoundLabels data(kClasses);
  const ModelEvaluation all = evaluate(w, {}, data, 0), some = evaluate(w, {}, data, 20);
  EXPECT_EQ(all.samples, 200);  // a last batch of 50 is left out
  EXPECT_EQ(some.samples, 20);
  EXPECT_NEAR(all.loss, std::log(kClasses), 1e-6);
  EXPECT_NEAR(some.loss, std::log(kClasses), 1e-6);
  EXPECT_DOUBLE_EQ(all.accuracy, 67.0 / 200);
  EXPECT_DOUBLE_EQ(some.accuracy, 7.0 / 20);
}

}  // namespace
}  // namespace trainyard

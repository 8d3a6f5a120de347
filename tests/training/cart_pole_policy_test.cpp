// Tests what the policy gradient hands out: that its samples are moves of the model itself, and
// that their targets are as far from its outputs as the gradient says.
#include "core/training/data/cart_pole_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/model/zoo/zoo.h"
#include "core/training/perceptron.h"
#include "tests/support/cart_pole_samples.h"

namespace trainyard {
namespace {

using testing::drawn_parameters;
using testing::samples_of;

constexpr std::int64_t kAsked = 4000;

TEST(CartPolePolicy, TargetsMoveOneActionByItsAdvantageAndTheOtherBack) {
  const Model model = zoo_model("cartpole-q");
  // Without weights both actions have a share of a half, so that a target is half an advantage off.
  std::vector<TrainedTensor> zeros = drawn_parameters(model, 3);
  for (TrainedTensor& tensor : zeros) std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
  const auto source = cart_pole_policy(7)->acting();
  source->act(model, zeros);
  const std::vector<float> targets = samples_of(*source, model, false, 0, kAsked);
  double squares = 0;
  for (std::size_t s = 0; s < kAsked; ++s) {
    EXPECT_EQ(targets[2 * s], -targets[2 * s + 1]);
    squares += std::pow(2.0 * static_cast<double>(targets[2 * s]), 2);
  }
  // Advantages are in their standard deviations.
  EXPECT_NEAR(squares / kAsked, 1, 0.15);
}

TEST(CartPolePolicy, BatchesOfAnotherForwardPassPlayTheSameEpisodes) {
  const Model model = zoo_model("cartpole-q");
  const std::vector<TrainedTensor> parameters = drawn_parameters(model, 5);
  std::int64_t asked = 0;
  PolicyOptions options;
  options.outputs = [&](const Model& m, const std::vector<TrainedTensor>& p, std::int64_t samples) {
    asked = samples;
    return [player = Perceptron(m, p),
            all = std::vector<float>()](std::span<const float> rows) mutable {
      Perceptron::Scratch scratch;
      all.clear();
      for (std::size_t at = 0; at < rows.size(); at += 4)
        for (const float output : player.outputs(rows.subspan(at, 4), scratch))
          all.push_back(output);
      return std::span<const float>(all);
    };
  };
  std::vector<double> lengths;
  options.played = [&](double mean) { lengths.push_back(mean); };
  const auto own = cart_pole_policy(7)->acting(), given = cart_pole_policy(7, options)->acting();
  for (int update = 0; update < 2; ++update) {
    own->act(model, parameters);
    given->act(model, parameters);
    EXPECT_EQ(samples_of(*own, model, false, 0, kAsked),
              samples_of(*given, model, false, 0, kAsked));
  }
  EXPECT_GT(asked, 1);
  ASSERT_EQ(lengths.size(), 2);
  EXPECT_NE(lengths[0], lengths[1]) << "every update follows episodes of its own";
  const auto other = cart_pole_policy(8)->acting();
  other->act(model, parameters);
  EXPECT_NE(samples_of(*own, model, false, 0, kAsked), samples_of(*other, model, false, 0, kAsked));
}

TEST(CartPolePolicy, TakesWhatHasTwoLogitsOnly) {
  EXPECT_FALSE(has_errors(cart_pole_policy(1)->check(zoo_model("cartpole-q"))));
  const Diagnostics found = cart_pole_policy(1)->check(zoo_model("mlp-small"));
  ASSERT_TRUE(has_errors(found));
  EXPECT_EQ(found.front().fix, "--model cartpole-q");
}

}  // namespace
}  // namespace trainyard

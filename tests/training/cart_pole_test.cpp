// Tests the cart-pole against its equations of motion, and what a perceptron and the replay of
// episodes hand out.
#include "core/training/data/cart_pole.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/model/zoo/builders.h"
#include "core/model/zoo/zoo.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"
#include "core/training/perceptron.h"
#include "tests/support/cart_pole_samples.h"

namespace trainyard {
namespace {

TEST(CartPole, APushAtRestMovesOnlyVelocities) {
  CartPole world(CartPole::State{});
  world.push(1);
  const double pushed = 10 / 1.1, turned = -pushed / (0.5 * (4.0 / 3 - 0.1 / 1.1));
  EXPECT_DOUBLE_EQ(world.state()[0], 0);
  EXPECT_DOUBLE_EQ(world.state()[1], 0.02 * (pushed - 0.05 * turned / 1.1));
  EXPECT_DOUBLE_EQ(world.state()[2], 0);
  EXPECT_DOUBLE_EQ(world.state()[3], 0.02 * turned);
}

TEST(CartPole, LeftAndRightMirrorEachOther) {
  for (std::uint64_t episode = 0; episode < 50; ++episode) {
    CartPole world(Random(1), episode);
    CartPole::State mirrored = world.state();
    for (double& number : mirrored) number = -number;
    CartPole other(mirrored);
    for (std::uint64_t step = 0; !world.ended(); ++step) {
      const int action = Random(2, episode).uniform(step) < 0.5 ? 0 : 1;
      world.push(action);
      other.push(1 - action);
      for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(world.state()[i], -other.state()[i]);
    }
    EXPECT_TRUE(other.ended());
  }
}

TEST(CartPole, EndsOffTheTrackOffBalanceOrAfter500Steps) {
  const double angle = 12 * std::acos(-1.0) / 180;
  EXPECT_FALSE(CartPole({2.39, 0, angle - 0.001, 0}).failed());
  EXPECT_TRUE(CartPole({-2.41, 0, 0, 0}).failed());
  EXPECT_TRUE(CartPole({0, 0, -angle - 0.001, 0}).failed());
  CartPole world(Random(1), 0);
  while (!world.ended()) {
    const auto& [x, velocity, tilt, turning] = world.state();
    world.push(0.1 * x + 0.3 * velocity + 3 * tilt + turning > 0 ? 1 : 0);
  }
  EXPECT_FALSE(world.failed());
  EXPECT_EQ(world.steps(), 500);
}

using testing::drawn_parameters;
using testing::samples_of;

TEST(Perceptron, IsProductsBiasesAndReLUs) {
  const Model model = build_mlp({"two", 2, 2, 1, 1, true});
  const std::vector<TrainedTensor> parameters = {
      {0, "fc.weight", {2, 2}, {1, -1, 2, 3}}, {0, "fc.bias", {2}, {0, -5}},
      {1, "fc.weight", {2, 2}, {2, -1, 7, 7}}, {1, "fc.bias", {2}, {1, 2}},
      {2, "fc.weight", {2, 1}, {-3, 10}},      {2, "fc.bias", {1}, {4}}};
  ASSERT_EQ(Perceptron::why_not(model, 2, 1), "");
  Perceptron perceptron(model, parameters);
  Perceptron::Scratch scratch;
  const float inputs[] = {2, 1};
  // The first layer gives 4 and ReLU(-4), the second 9 and ReLU(-2).
  EXPECT_EQ(perceptron.outputs(inputs, scratch)[0], -3 * 9 + 4);
  std::vector<TrainedTensor> zeros = parameters;
  for (TrainedTensor& tensor : zeros) std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
  zeros.back().values[0] = 8;
  Perceptron follower(model, zeros);
  follower.follow(perceptron, 0.25F);
  // A quarter of every parameter: 1, ReLU(-1), then 0.75, ReLU(0.25), then the last layer.
  EXPECT_EQ(follower.outputs(inputs, scratch)[0], -0.75F * 0.75F + 2.5F * 0.25F + 7);
}

TEST(CartPoleData, IsForPerceptronsFromStatesToValues) {
  const auto data = cart_pole_data(1);
  EXPECT_TRUE(data->check(zoo_model("cartpole-q")).empty());
  EXPECT_EQ(default_data(zoo_model("cartpole-q")), "cart-pole");
  const auto why = [&](const Model& model) {
    const Diagnostics found = data->check(model);
    return found.empty() ? "fits" : found[0].message;
  };
  const std::string start =
      "cart-pole takes a perceptron from 4 numbers to the values of 2 actions, and ";
  EXPECT_EQ(why(build_mlp({"m", 5, 8, 1, 2, true})), start + "it does not read 4 numbers a sample");
  EXPECT_EQ(why(build_mlp({"m", 4, 8, 1, 3, true})),
            start + "it does not end in 2 numbers a sample");
  EXPECT_EQ(why(build_mlp({"m", 4, 8, 1, 2})), start + "it has loss (softmax_loss) in head");
}

TEST(CartPoleData, SamplesDependOnSeedAndPositionAlone) {
  const Model model = zoo_model("cartpole-q");
  const auto a = cart_pole_data(5)->acting(), b = cart_pole_data(5)->acting(),
             c = cart_pole_data(6)->acting();
  for (std::uint64_t update = 0; update < 3; ++update)
    for (ActingSource* source : {a.get(), b.get(), c.get()})
      source->act(model, drawn_parameters(model, update));
  for (const bool states : {true, false}) {
    const std::vector<float> whole = samples_of(*a, model, states, 100, 32);
    std::vector<float> halves = samples_of(*b, model, states, 100, 16);
    const std::vector<float> second = samples_of(*b, model, states, 116, 16);
    halves.insert(halves.end(), second.begin(), second.end());
    EXPECT_EQ(whole, halves);
    EXPECT_NE(whole, samples_of(*c, model, states, 100, 32));
  }
}

TEST(CartPoleData, TheActionNotTakenKeepsItsValue) {
  const Model model = zoo_model("cartpole-q");
  const std::vector<TrainedTensor> parameters = drawn_parameters(model, 3);
  const auto source = cart_pole_data(1)->acting();
  source->act(model, parameters);
  const Perceptron perceptron(model, parameters);
  Perceptron::Scratch scratch;
  constexpr std::size_t kSamples = 64;
  const std::vector<float> states = samples_of(*source, model, true, 0, kSamples),
                           targets = samples_of(*source, model, false, 0, kSamples);
  int changed = 0;
  for (std::size_t s = 0; s < kSamples; ++s) {
    const auto own = perceptron.outputs(std::span(states).subspan(4 * s, 4), scratch);
    const int kept = (targets[2 * s] == own[0] ? 1 : 0) + (targets[2 * s + 1] == own[1] ? 1 : 0);
    EXPECT_GE(kept, 1) << s;
    changed += 2 - kept;
  }
  EXPECT_GT(changed, 60);
}

TEST(CartPoleData, AModelOfZerosAlwaysPushesToTheLeft) {
  const Model model = zoo_model("cartpole-q");
  std::vector<TrainedTensor> zeros = drawn_parameters(model, 1);
  for (TrainedTensor& tensor : zeros) std::fill(tensor.values.begin(), tensor.values.end(), 0.0F);
  const auto source = cart_pole_data(1)->acting();
  EXPECT_EQ(source->evaluation_samples(), 20);
  // A pole that is pushed to one side falls in about ten steps.
  EXPECT_NEAR(source->mean_return(model, zeros), 9.5, 1);
}

}  // namespace
}  // namespace trainyard

#include "core/training/data/cart_pole_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/random.h"
#include "core/timeline/span_recorder.h"
#include "core/training/data/cart_pole.h"
#include "core/training/model_inputs.h"
#include "core/training/perceptron.h"

namespace trainyard {
namespace {

constexpr std::int64_t kStateNumbers = 4, kPlayedEpisodes = 16, kJudgedEpisodes = 20;
constexpr double kRewardDiscount = 0.99;

// These are streams of random numbers, so that different kinds of draws are independent.
constexpr std::uint64_t kPolicyStarts = 1, kPolicyActions = 2, kPolicySamples = 3,
                        kJudgedStarts = 4;

using PolicyState = std::array<float, kStateNumbers>;
using ActionShares = std::array<float, CartPole::kActions>;

PolicyState seen_state(const CartPole& world) {
  PolicyState seen;
  std::copy(world.state().begin(), world.state().end(), seen.begin());
  return seen;
}

// The softmax of two logits.
ActionShares shares_of(std::span<const float> logits) {
  const float right = 1 / (1 + std::exp(logits[0] - logits[1]));
  return {1 - right, right};
}

struct Move {
  PolicyState state;
  std::array<float, CartPole::kActions> logits;
  int action = 0;
  double advantage = 0;
};

// The squared error's gradient is output less target. With output + advantage * (taken - shares)
// as the target it is the policy gradient, since taken - shares is the gradient of the logarithm of
// the share of the action that was taken. It holds at the parameters that played, which are those
// that are then updated.
class CartPolePolicy final : public ActingSource {
 public:
  CartPolePolicy(std::uint64_t seed, PolicyOptions options)
      : seed_(seed), options_(std::move(options)) {}

  std::string_view name() const override { return "cart-pole-policy"; }
  std::string provenance() const override {
    return fmt::format("episodes of seed {} that the model plays before each update", seed_);
  }
  std::int64_t samples() const override { return kPlayedEpisodes * CartPole::kMostSteps; }
  std::int64_t evaluation_samples() const override { return kJudgedEpisodes; }

  Diagnostics check(const Model& model) const override {
    const std::string why = Perceptron::why_not(model, kStateNumbers, CartPole::kActions);
    if (why.empty()) return {};
    return {unfit(model,
                  fmt::format("cart-pole-policy takes a perceptron from {} numbers to the logits "
                              "of {} actions, and {}",
                              kStateNumbers, CartPole::kActions, why),
                  "--model cartpole-q")};
  }

  std::unique_ptr<ActingSource> acting() const override {
    return std::make_unique<CartPolePolicy>(seed_, options_);
  }

  // Plays episodes side by side until all of them have ended. Rows of ended ones stay in the batch.
  void act(const Model& model, const std::vector<TrainedTensor>& parameters) override {
    const BatchOutputs outputs = options_.outputs
                                     ? options_.outputs(model, parameters, kPlayedEpisodes)
                                     : one_by_one(model, parameters);
    std::vector<CartPole> worlds;
    for (std::int64_t e = 0; e < kPlayedEpisodes; ++e)
      worlds.emplace_back(Random(seed_, kPolicyStarts), static_cast<std::uint64_t>(episodes_ + e));
    episodes_ += kPlayedEpisodes;
    std::vector<std::vector<Move>> played(worlds.size());
    std::vector<float> states(worlds.size() * kStateNumbers);
    const auto goes_on = [](const CartPole& world) { return !world.ended(); };
    while (std::any_of(worlds.begin(), worlds.end(), goes_on)) {
      for (std::size_t e = 0; e < worlds.size(); ++e) {
        const PolicyState seen = seen_state(worlds[e]);
        std::copy(seen.begin(), seen.end(),
                  states.begin() + static_cast<std::ptrdiff_t>(e * kStateNumbers));
      }
      std::span<const float> logits;
      {
        const RecordedSpan infers(SpanLevel::Annotation, "inference");
        logits = outputs(states);
      }
      const RecordedSpan moves(SpanLevel::Annotation, "environment");
      for (std::size_t e = 0; e < worlds.size(); ++e)
        if (goes_on(worlds[e]))
          played[e].push_back(move(worlds[e], logits.subspan(e * CartPole::kActions)));
    }
    take(std::move(played));
    if (options_.played)
      options_.played(static_cast<double>(moves_.size()) / static_cast<double>(kPlayedEpisodes));
  }

  double mean_return(const Model& model,
                     const std::vector<TrainedTensor>& parameters) const override {
    const Perceptron player(model, parameters);
    Perceptron::Scratch scratch;
    double sum = 0;
    for (std::uint64_t episode = 0; episode < kJudgedEpisodes; ++episode) {
      CartPole world(Random(seed_, kJudgedStarts), episode);
      while (!world.ended()) {
        const std::span<const float> logits = player.outputs(seen_state(world), scratch);
        world.push(logits[1] > logits[0] ? 1 : 0);
      }
      sum += world.steps();
    }
    return sum / kJudgedEpisodes;
  }

  void fill(const DataRequest& request, std::span<float> into) const override {
    if (moves_.empty())
      throw Error(Error::Kind::Internal, "cart-pole-policy has no samples before it has acted");
    const bool states = request.tensor == request.graph.input;
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t feature) {
                   const auto at = Random(seed_, kPolicySamples)
                                       .between(static_cast<std::uint64_t>(sample), 0,
                                                static_cast<std::int64_t>(moves_.size()) - 1);
                   const Move& made = moves_[static_cast<std::size_t>(at)];
                   const auto f = static_cast<std::size_t>(feature);
                   into[e] = states ? made.state[f] : target_of(made, f);
                 });
  }
  void fill(const DataRequest&, std::span<std::int64_t>) const override {
    throw Error(Error::Kind::Internal, "cart-pole-policy has no indices");
  }

 private:
  static BatchOutputs one_by_one(const Model& model, const std::vector<TrainedTensor>& parameters) {
    return [player = Perceptron(model, parameters), scratch = Perceptron::Scratch(),
            all = std::vector<float>()](std::span<const float> states) mutable {
      all.clear();
      for (std::size_t at = 0; at < states.size(); at += kStateNumbers) {
        const std::span<const float> logits =
            player.outputs(states.subspan(at, kStateNumbers), scratch);
        all.insert(all.end(), logits.begin(), logits.end());
      }
      return std::span<const float>(all);
    };
  }

  Move move(CartPole& world, std::span<const float> logits) {
    Move made{seen_state(world), {logits[0], logits[1]}, 0, 0};
    const double drawn = Random(seed_, kPolicyActions).uniform(drawn_++);
    made.action = drawn < static_cast<double>(shares_of(logits)[1]) ? 1 : 0;
    world.push(made.action);
    return made;
  }

  // An advantage is the discounted number of steps that follow, less the mean of the episodes that
  // were as far (the baseline), in standard deviations of all of them.
  void take(std::vector<std::vector<Move>> played) {
    moves_.clear();
    std::vector<double> sums(CartPole::kMostSteps), counts(CartPole::kMostSteps);
    for (std::vector<Move>& episode : played) {
      double following = 0;
      for (std::size_t t = episode.size(); t-- > 0;) {
        following = 1 + kRewardDiscount * following;
        episode[t].advantage = following;
        sums[t] += following, ++counts[t];
      }
    }
    double squares = 0;
    for (std::vector<Move>& episode : played)
      for (std::size_t t = 0; t < episode.size(); ++t) {
        Move& made = moves_.emplace_back(episode[t]);
        made.advantage -= sums[t] / counts[t];
        squares += made.advantage * made.advantage;
      }
    const double deviation = std::sqrt(squares / static_cast<double>(moves_.size()));
    if (deviation > 0)
      for (Move& made : moves_) made.advantage /= deviation;
  }

  static float target_of(const Move& made, std::size_t action) {
    const float taken = static_cast<std::size_t>(made.action) == action ? 1.0F : 0.0F;
    return made.logits[action] +
           static_cast<float>(made.advantage) * (taken - shares_of(made.logits)[action]);
  }

  std::uint64_t seed_;
  PolicyOptions options_;
  std::int64_t episodes_ = 0;
  std::uint64_t drawn_ = 0;
  std::vector<Move> moves_;  // of the episodes before the next update
};

}  // namespace

std::unique_ptr<DataSource> cart_pole_policy(std::uint64_t seed, PolicyOptions options) {
  return std::make_unique<CartPolePolicy>(seed, std::move(options));
}

}  // namespace trainyard

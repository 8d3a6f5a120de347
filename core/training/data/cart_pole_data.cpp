// Deep Q-learning on the cart-pole (cart_pole.h). The model gives a value for each action, and the
// source acts by the greater one, but for some actions that are random. It remembers what happened
// and replays it in random order. A target is the reward of some steps and, where the pole is still
// up after them, the discounted value of the state there.
//   Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015.
//   van Hasselt, Guez and Silver, "Deep Reinforcement Learning with Double Q-learning", AAAI 2016:
//     the newest parameters choose the action there, slower ones say what it is worth.
//   Lillicrap et al., "Continuous control with deep reinforcement learning", ICLR 2016: the slower
//     parameters follow the newest by a small share at each update.
//   Hessel et al., "Rainbow: Combining Improvements in Deep Reinforcement Learning", AAAI 2018:
//     rewards of several steps. With those of one step, one seed in ten or more lost again what it
//     had learnt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/random.h"
#include "core/training/data/cart_pole.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"
#include "core/training/perceptron.h"

namespace trainyard {
namespace {

constexpr std::int64_t kInputs = 4, kEpisodes = 20;
constexpr std::size_t kMemory = 200'000;  // transitions
constexpr int kFirstSteps = 1000;         // before the first update
constexpr int kStepsPerUpdate = 8;
constexpr double kLastExploration = 0.2;    // share of actions that are random in the end
constexpr double kExploringSteps = 10'000;  // until that share
constexpr float kFollow = 0.02F;
constexpr int kReturnSteps = 10;  // whose rewards a target sums
// As in 1983, a failure costs 1 and nothing else counts. A reward of 1 for each step, as returns
// are reported, would rank actions the same, but by small differences between large values.
constexpr double kFailure = -1, kDiscount = 0.99;

// These are streams of random numbers, so that different kinds of draws are independent.
constexpr std::uint64_t kStarts = 1, kExploration = 2, kReplay = 3, kEvaluationStarts = 4;

using Observation = std::array<float, kInputs>;

Observation observation(const CartPole& world) {
  Observation seen;
  std::copy(world.state().begin(), world.state().end(), seen.begin());
  return seen;
}

int greedy(std::span<const float> values) { return values[1] > values[0] ? 1 : 0; }

struct Transition {
  Observation before, after;
  int action;
  bool failed, last;  // last: of its episode, which may also be over by its length
};

class CartPoleData final : public ActingSource {
 public:
  explicit CartPoleData(std::uint64_t seed) : seed_(seed), world_(Random(seed, kStarts), 0) {}

  std::string_view name() const override { return "cart-pole"; }
  std::string provenance() const override {
    return fmt::format("episodes of seed {} that the model plays while it is trained", seed_);
  }
  std::int64_t samples() const override { return kMemory; }
  std::int64_t evaluation_samples() const override { return kEpisodes; }

  Diagnostics check(const Model& model) const override {
    const std::string why = Perceptron::why_not(model, kInputs, CartPole::kActions);
    if (why.empty()) return {};
    return {unfit(model,
                  fmt::format("cart-pole takes a perceptron from {} numbers to the values of {} "
                              "actions, and {}",
                              kInputs, CartPole::kActions, why),
                  "--model cartpole-q")};
  }

  std::unique_ptr<ActingSource> acting() const override {
    return std::make_unique<CartPoleData>(seed_);
  }

  void act(const Model& model, const std::vector<TrainedTensor>& parameters) override {
    newest_.emplace(model, parameters);
    if (slower_)
      slower_->follow(*newest_, kFollow);
    else
      slower_ = newest_;
    const std::int64_t until = steps_ == 0 ? kFirstSteps : steps_ + kStepsPerUpdate;
    while (steps_ < until) step();
  }

  double mean_return(const Model& model,
                     const std::vector<TrainedTensor>& parameters) const override {
    const Perceptron player(model, parameters);
    Perceptron::Scratch scratch;
    double sum = 0;
    for (std::uint64_t episode = 0; episode < kEpisodes; ++episode) {
      CartPole world(Random(seed_, kEvaluationStarts), episode);
      while (!world.ended()) world.push(greedy(player.outputs(observation(world), scratch)));
      sum += world.steps();
    }
    return sum / kEpisodes;
  }

  void fill(const DataRequest& request, std::span<float> into) const override {
    if (memory_.empty())
      throw Error(Error::Kind::Internal, "cart-pole has no samples before it has acted");
    const bool states = request.tensor == request.graph.input;
    Perceptron::Scratch scratch;
    std::array<float, CartPole::kActions> target{};
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t feature) {
                   const std::size_t at = replayed(sample);
                   const auto f = static_cast<std::size_t>(feature);
                   if (!states && f == 0) target = target_of(at, scratch);
                   into[e] = states ? memory_[at].before[f] : target[f];
                 });
  }
  void fill(const DataRequest&, std::span<std::int64_t>) const override {
    throw Error(Error::Kind::Internal, "cart-pole has no indices");
  }

 private:
  void step() {
    const Random random(seed_, kExploration);
    const auto draw = 2 * static_cast<std::uint64_t>(steps_);
    const double share =
        std::max(kLastExploration,
                 1 - (1 - kLastExploration) * static_cast<double>(steps_) / kExploringSteps);
    Transition made{};
    made.before = observation(world_);
    made.action = random.uniform(draw) < share
                      ? static_cast<int>(random.between(draw + 1, 0, CartPole::kActions - 1))
                      : greedy(newest_->outputs(made.before, scratch_));
    world_.push(made.action);
    made.after = observation(world_);
    made.failed = world_.failed();
    made.last = world_.ended();
    if (memory_.size() < kMemory)
      memory_.push_back(made);
    else
      memory_[oldest()] = made;
    ++steps_;
    if (made.last) world_ = CartPole(Random(seed_, kStarts), ++episode_);
  }

  // Where the next transition goes, and where the oldest is once memory is full.
  std::size_t oldest() const { return static_cast<std::size_t>(steps_) % kMemory; }

  std::size_t replayed(std::int64_t sample) const {
    return static_cast<std::size_t>(Random(seed_, kReplay)
                                        .between(static_cast<std::uint64_t>(sample), 0,
                                                 static_cast<std::int64_t>(memory_.size()) - 1));
  }

  // The action that was not taken has the model's own value as its target, so that its error is 0.
  std::array<float, CartPole::kActions> target_of(std::size_t at,
                                                  Perceptron::Scratch& scratch) const {
    const Transition& first = memory_[at];
    double discount = kDiscount;
    for (int more = 1; more < kReturnSteps && !memory_[at].last; ++more) {
      const std::size_t next = (at + 1) % kMemory;
      if (next == oldest()) break;
      at = next;
      discount *= kDiscount;
    }
    const Transition& last = memory_[at];
    double value = kFailure * discount / kDiscount;
    if (!last.failed) {
      const auto choice = static_cast<std::size_t>(greedy(newest_->outputs(last.after, scratch)));
      value = discount * static_cast<double>(slower_->outputs(last.after, scratch)[choice]);
    }
    const std::span<const float> own = newest_->outputs(first.before, scratch);
    std::array<float, CartPole::kActions> target{own[0], own[1]};
    target[static_cast<std::size_t>(first.action)] = static_cast<float>(value);
    return target;
  }

  std::uint64_t seed_;
  std::optional<Perceptron> newest_, slower_;
  Perceptron::Scratch scratch_;
  CartPole world_;
  std::uint64_t episode_ = 0;
  std::int64_t steps_ = 0;
  std::vector<Transition> memory_;
};

}  // namespace

std::unique_ptr<DataSource> cart_pole_data(std::uint64_t seed) {
  return std::make_unique<CartPoleData>(seed);
}

}  // namespace trainyard

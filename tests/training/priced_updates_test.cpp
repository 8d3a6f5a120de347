// The bytes that an update is priced with are those that the optimizer's loop reads and writes: a
// number is read if the outcome depends on it, and written if it changes.
#include <gtest/gtest.h>

#include <vector>

#include "core/base/random.h"
#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/training/optimizers/delayed_update.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::Settings;

constexpr std::size_t kCounted = 64;

// The operands of one update: weights, where the new ones go, derived weights, then the state.
// Gradients have two bytes, as optimizers count them.
struct Touched {
  Touched(std::string_view optimizer, const UpdateRule& corrections, bool writes_beside)
      : rule(optimizer_rule(optimizer, {}, WeightUpdate::Direct)),
        late(corrections),
        beside(writes_beside),
        floats(3 + rule->slots().size(), std::vector<float>(kCounted)),
        gradients(kCounted) {
    for (std::size_t b = 0; b < floats.size(); ++b)
      for (std::size_t i = 0; i < kCounted; ++i)
        floats[b][i] = static_cast<float>(0.5 + Random(b).uniform(i));
    for (std::size_t i = 0; i < kCounted; ++i)
      gradients[i] = to_bf16(static_cast<float>(Random(99).uniform(i) - 0.5));
  }

  void update() {
    std::vector<void*> slots;
    for (std::size_t b = 3; b < floats.size(); ++b) slots.push_back(floats[b].data());
    ParameterPart part;
    part.elements = kCounted;
    part.weights = floats[0].data();
    part.gradients = gradients.data(), part.gradient_type = DType::BF16;
    part.state = slots;
    if (beside) part.updated = floats[1].data();
    if (derives_weights(late)) part.derived = floats[2].data();
    StepFacts facts{.t = 3, .rate = 0.01, .gradient_scale = 0.5};
    correct(facts, late);
    rule->apply(part, facts, {});
  }

  std::unique_ptr<OptimizerRule> rule;
  UpdateRule late;
  bool beside;
  std::vector<std::vector<float>> floats;
  std::vector<std::uint16_t> gradients;
};

int bytes_touched(std::string_view optimizer, const UpdateRule& late, bool beside) {
  const Touched before(optimizer, late, beside);
  const auto outcome = [&](auto change) {
    Touched operands(optimizer, late, beside);
    change(operands);
    operands.update();
    return operands.floats;
  };
  const auto plain = outcome([](Touched&) {});
  int bytes = 0;
  for (std::size_t b = 0; b < plain.size(); ++b) {
    if (plain[b] != before.floats[b]) bytes += 4;
    auto other = outcome([&](Touched& operands) {
      for (float& number : operands.floats[b]) number *= 1.5f;
    });
    // A number that is only kept differs as it did before.
    if (plain[b] == before.floats[b]) other[b] = plain[b];
    if (other != plain) bytes += 4;
  }
  const auto other = outcome([](Touched& operands) {
    for (std::uint16_t& number : operands.gradients) number ^= 0x8000;
  });
  return bytes + (other != plain ? 2 : 0);
}

TEST(PricedUpdates, AreTheBytesThatTheLoopTouches) {
  struct Case {
    Settings settings;
    bool beside = false;  // the weights before are still to be read
  };
  const Case cases[] = {
      {{"schedule=1f1b"}},
      {{"schedule=pipedream"}, true},
      {{"schedule=pipedream-2bw"}, true},
      {{"schedule=pipemare"}},
      {{"schedule=pipemare", "pipemare.correct=off", "pipemare.reschedule=9"}},
      {{"schedule=pipelined-backprop"}},
      {{"schedule=pipelined-backprop", "pipelined-backprop.predict=weight"}},
      {{"schedule=pipelined-backprop", "pipelined-backprop.predict=none"}},
      {{"schedule=pipelined-backprop", "pipelined-backprop.predict=none",
        "pipelined-backprop.stash=on"},
       true},
  };
  for (const Case& c : testing::non_empty(cases))
    for (const char* optimizer : {"sgd", "momentum", "adam", "adamw", "lion", "adagrad"}) {
      const std::string rule = "optimizer=" + std::string(optimizer);
      Settings settings = {"pp=4", "global-batch=4", "micro-batch=1", "precision=fp32", rule};
      settings.insert(settings.end(), c.settings.begin(), c.settings.end());
      std::string name;
      for (std::string_view one : settings) name += std::string(one) + " ";
      SCOPED_TRACE(name);
      const Workload w = prepare(testing::scenario(testing::tiny_mlp(8), 4, settings, "cpu"));
      const Plan& plan = w.scenario.plan;
      const Choice* schedule = chosen_on(plan, MethodAxis::Schedule);
      StageFacts facts;
      facts.forward_delay = 3, facts.mean_delay_thousandths = 3000;
      const UpdateRule late =
          update_rule_of(schedule->method, schedule->params, facts, 0.01,
                         plan.optimizer == "momentum" ? Training{}.momentum : 0);
      const int touched = bytes_touched(optimizer, late, c.beside);
      EXPECT_EQ(touched, w.layout.optimizer_touched_bytes);
      for (const Body& body : testing::non_empty(w.bodies))
        for (const BodyOp& op : body.update)
          EXPECT_EQ((op.work.read + op.work.written).value, touched * body.parameters.dense);
    }
}

}  // namespace
}  // namespace trainyard
